// SPDX-License-Identifier: Apache-2.0
//
// Canonical models and requests go through each version's wire form and come back.

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <optional>

#include "hal/hidl/types.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::hidl {

namespace {

using driver::HalVersion;
using testing::capture;
using testing::deliver;
using testing::DeliveredParcel;
using testing::Descriptors;

constexpr HalVersion kVersions[] = {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2,
                                    HalVersion::V1_3};

// Something in every field that 1.0 has.
driver::Model plainModel() {
    driver::Model model;
    model.main.operands = {
            {.type = driver::OperandType::TENSOR_QUANT8_ASYMM,
             .dimensions = {1, 2, 3},
             .numberOfConsumers = 2,
             .scale = 0.25F,
             .zeroPoint = 128,
             .lifetime = driver::OperandLifeTime::SUBGRAPH_INPUT,
             .location = {},
             .extraParams = {}},
            {.type = driver::OperandType::TENSOR_QUANT8_ASYMM,
             .dimensions = {6},
             .numberOfConsumers = 1,
             .scale = 0.5F,
             .zeroPoint = 3,
             .lifetime = driver::OperandLifeTime::CONSTANT_REFERENCE,
             .location = {.poolIndex = 1, .offset = 8, .length = 6},
             .extraParams = {}},
            {.type = driver::OperandType::INT32,
             .dimensions = {},
             .numberOfConsumers = 1,
             .lifetime = driver::OperandLifeTime::CONSTANT_COPY,
             .location = {.poolIndex = 0, .offset = 4, .length = 4},
             .extraParams = {}},
    };
    model.main.operations = {
            {.type = driver::OperationType::ADD, .inputs = {0, 1, 2}, .outputs = {3}},
            {.type = driver::OperationType::TANH, .inputs = {}, .outputs = {}}};
    model.main.inputIndexes = {0};
    model.main.outputIndexes = {3, 4};
    model.operandValues = std::make_shared<const std::vector<uint8_t>>(
            std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8});
    return model;
}

void expectEqual(const driver::Operand& actual, const driver::Operand& expected) {
    EXPECT_EQ(actual.type, expected.type);
    EXPECT_EQ(actual.dimensions, expected.dimensions);
    EXPECT_EQ(actual.numberOfConsumers, expected.numberOfConsumers);
    EXPECT_EQ(actual.scale, expected.scale);
    EXPECT_EQ(actual.zeroPoint, expected.zeroPoint);
    EXPECT_EQ(actual.lifetime, expected.lifetime);
    EXPECT_EQ(actual.location, expected.location);
    ASSERT_EQ(actual.extraParams.index(), expected.extraParams.index());
    if (const auto* quantisation =
                std::get_if<driver::SymmPerChannelQuantParams>(&expected.extraParams)) {
        const auto& other = std::get<driver::SymmPerChannelQuantParams>(actual.extraParams);
        EXPECT_EQ(other.scales, quantisation->scales);
        EXPECT_EQ(other.channelDim, quantisation->channelDim);
    }
    if (const auto* extension = std::get_if<std::vector<uint8_t>>(&expected.extraParams)) {
        EXPECT_EQ(std::get<std::vector<uint8_t>>(actual.extraParams), *extension);
    }
}

void expectEqual(const driver::Subgraph& actual, const driver::Subgraph& expected) {
    ASSERT_EQ(actual.operands.size(), expected.operands.size());
    for (size_t i = 0; i < expected.operands.size(); ++i) {
        expectEqual(actual.operands[i], expected.operands[i]);
    }
    ASSERT_EQ(actual.operations.size(), expected.operations.size());
    for (size_t i = 0; i < expected.operations.size(); ++i) {
        EXPECT_EQ(actual.operations[i].type, expected.operations[i].type);
        EXPECT_EQ(actual.operations[i].inputs, expected.operations[i].inputs);
        EXPECT_EQ(actual.operations[i].outputs, expected.operations[i].outputs);
    }
    EXPECT_EQ(actual.inputIndexes, expected.inputIndexes);
    EXPECT_EQ(actual.outputIndexes, expected.outputIndexes);
}

Result<driver::Model> throughTheWire(const driver::Model& model, HalVersion version,
                                     std::span<const HidlMemory> pools = {}) {
    ParcelWriter writer;
    versionDelta(version).writeModel(writer, model, pools);
    HALYARD_ASSIGN_OR_RETURN(DeliveredParcel parcel,
                             deliver(capture(writer), Descriptors::DUPLICATE));
    ParcelReader reader = parcel.reader(nullptr);
    return versionDelta(version).readModel(reader);
}

TEST(HidlConversion, CarriesPlainModelInEveryVersion) {
    const driver::Model model = plainModel();
    for (HalVersion version : kVersions) {
        SCOPED_TRACE(toString(version));
        Result<driver::Model> arrived = throughTheWire(model, version);
        ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
        expectEqual(arrived->main, model.main);
        EXPECT_EQ(*arrived->operandValues, *model.operandValues);
        EXPECT_FALSE(arrived->relaxComputationFloat32toFloat16);
    }
}

TEST(HidlConversion, CarriesRelaxedComputationFrom1_1) {
    driver::Model model = plainModel();
    model.relaxComputationFloat32toFloat16 = true;
    for (HalVersion version : kVersions) {
        Result<driver::Model> arrived = throughTheWire(model, version);
        ASSERT_TRUE(arrived.ok());
        EXPECT_EQ(arrived->relaxComputationFloat32toFloat16, version >= HalVersion::V1_1);
    }
}

TEST(HidlConversion, CarriesExtraParametersAndExtensionsFrom1_2) {
    driver::Model model = plainModel();
    model.main.operands[0].extraParams =
            driver::SymmPerChannelQuantParams{.scales = {0.5F, 0.25F}, .channelDim = 3};
    model.main.operands[1].extraParams = std::vector<uint8_t>{9, 8, 7};
    model.extensionNameToPrefix = {{.name = "com.example.one", .prefix = 1},
                                   {.name = "com.example.two", .prefix = 2}};
    for (HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
        SCOPED_TRACE(toString(version));
        Result<driver::Model> arrived = throughTheWire(model, version);
        ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
        expectEqual(arrived->main, model.main);
        ASSERT_EQ(arrived->extensionNameToPrefix.size(), 2U);
        EXPECT_EQ(arrived->extensionNameToPrefix[1].name, "com.example.two");
        EXPECT_EQ(arrived->extensionNameToPrefix[1].prefix, 2);
    }
}

TEST(HidlConversion, CarriesReferencedSubgraphsIn1_3) {
    driver::Model model = plainModel();
    model.referenced = {plainModel().main, driver::Subgraph()};
    model.referenced[0].inputIndexes = {2, 1};
    Result<driver::Model> arrived = throughTheWire(model, HalVersion::V1_3);
    ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
    ASSERT_EQ(arrived->referenced.size(), 2U);
    expectEqual(arrived->referenced[0], model.referenced[0]);
    expectEqual(arrived->referenced[1], model.referenced[1]);
}

TEST(HidlConversion, KeepsPoolsAfterTheParcelIsGone) {
    Result<ExportedMemory> exported = createSharedMemory(64);
    ASSERT_TRUE(exported.ok()) << exported.status().toString();
    exported->memory->map()->front() = 42;
    for (HalVersion version : kVersions) {
        SCOPED_TRACE(toString(version));
        ParcelWriter writer;
        const std::vector<HidlMemory> pools = {makeMemory(writer, "ashmem", exported->handle, 64)};
        Result<driver::Model> arrived = throughTheWire(plainModel(), version, pools);
        ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
        ASSERT_EQ(arrived->pools.size(), 1U);
        EXPECT_EQ(arrived->pools[0]->name(), "ashmem");
        EXPECT_TRUE(arrived->pools[0]->valid());
        Result<std::span<uint8_t>> bytes = arrived->pools[0]->map();
        ASSERT_TRUE(bytes.ok()) << bytes.status().toString();
        EXPECT_EQ(bytes->size(), 64U);
        EXPECT_EQ(bytes->front(), 42);
    }
}

TEST(HidlConversion, TellsPoolWithoutHandle) {
    ParcelWriter writer;
    HidlMemory null;
    null.name = makeString(writer, "ashmem");
    null.size = 64;
    const std::vector<HidlMemory> pools = {null};
    Result<driver::Model> arrived = throughTheWire(plainModel(), HalVersion::V1_3, pools);
    ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
    ASSERT_EQ(arrived->pools.size(), 1U);
    EXPECT_FALSE(arrived->pools[0]->valid());
}

TEST(HidlConversion, CarriesRequestInEveryVersion) {
    Result<ExportedMemory> exported = createSharedMemory(32);
    ASSERT_TRUE(exported.ok());
    driver::Request request;
    request.inputs = {{.hasNoValue = true, .location = {}, .dimensions = {}},
                      {.hasNoValue = false,
                       .location = {.poolIndex = 0, .offset = 4, .length = 8},
                       .dimensions = {1, 2}}};
    request.outputs = {{.hasNoValue = false,
                        .location = {.poolIndex = 0, .offset = 16, .length = 8},
                        .dimensions = {}}};
    request.pools = {exported->memory};
    for (HalVersion version : kVersions) {
        SCOPED_TRACE(toString(version));
        ParcelWriter writer;
        const std::vector<HidlMemory> pools = {makeMemory(writer, "ashmem", exported->handle, 32)};
        versionDelta(version).writeRequest(writer, request, pools);
        Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::DUPLICATE);
        ASSERT_TRUE(parcel.ok());
        ParcelReader reader = parcel->reader(nullptr);
        Result<driver::Request> arrived = versionDelta(version).readRequest(reader);
        ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
        ASSERT_EQ(arrived->inputs.size(), 2U);
        EXPECT_TRUE(arrived->inputs[0].hasNoValue);
        EXPECT_FALSE(arrived->inputs[1].hasNoValue);
        EXPECT_EQ(arrived->inputs[1].location, request.inputs[1].location);
        EXPECT_EQ(arrived->inputs[1].dimensions, request.inputs[1].dimensions);
        ASSERT_EQ(arrived->outputs.size(), 1U);
        EXPECT_EQ(arrived->outputs[0].location, request.outputs[0].location);
        ASSERT_EQ(arrived->pools.size(), 1U);
        EXPECT_EQ(std::get<driver::SharedMemory>(arrived->pools[0])->size(), 32U);
    }
}

TEST(HidlConversion, CarriesTokensIn1_3) {
    driver::Request request;
    request.pools = {uint32_t{77}};
    ParcelWriter writer;
    versionDelta(HalVersion::V1_3).writeRequest(writer, request, {});
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    Result<driver::Request> arrived = versionDelta(HalVersion::V1_3).readRequest(reader);
    ASSERT_TRUE(arrived.ok()) << arrived.status().toString();
    ASSERT_EQ(arrived->pools.size(), 1U);
    EXPECT_EQ(std::get<uint32_t>(arrived->pools[0]), 77U);
}

TEST(HidlConversion, LeavesTypesOf1_3OutOfCapabilities1_2) {
    driver::Capabilities capabilities;
    capabilities.operandPerformance = {
            {.type = driver::OperandType::TENSOR_FLOAT32, .info = {0.25F, 0.5F}},
            {.type = driver::OperandType::TENSOR_QUANT8_ASYMM_SIGNED, .info = {1.0F, 2.0F}}};
    capabilities.whilePerformance = {3.0F, 4.0F};
    ParcelWriter writer;
    versionDelta(HalVersion::V1_2).writeCapabilities(writer, capabilities);
    versionDelta(HalVersion::V1_3).writeCapabilities(writer, capabilities);
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    Result<const nn::v1_2::Capabilities*> older = readValue<nn::v1_2::Capabilities>(reader);
    ASSERT_TRUE(older.ok());
    ASSERT_EQ((*older)->operandPerformance.count, 1U);
    EXPECT_EQ((*older)->operandPerformance.view()[0].type, driver::OperandType::TENSOR_FLOAT32);
    EXPECT_EQ((*older)->operandPerformance.view()[0].info.powerUsage, 0.5F);
    Result<const nn::v1_3::Capabilities*> newer = readValue<nn::v1_3::Capabilities>(reader);
    ASSERT_TRUE(newer.ok());
    EXPECT_EQ((*newer)->operandPerformance.count, 2U);
    EXPECT_EQ((*newer)->whilePerformance.execTime, 3.0F);
}

TEST(HidlConversion, ReadsOldCapabilitiesFromTensorTypes) {
    driver::Capabilities capabilities;
    capabilities.operandPerformance = {
            {.type = driver::OperandType::TENSOR_FLOAT32, .info = {0.25F, 0.5F}},
            {.type = driver::OperandType::TENSOR_QUANT8_ASYMM, .info = {0.125F, 0.75F}}};
    capabilities.relaxedFloat32toFloat16PerformanceTensor = {2.0F, 4.0F};
    ParcelWriter writer;
    versionDelta(HalVersion::V1_0).writeCapabilities(writer, capabilities);
    versionDelta(HalVersion::V1_1).writeCapabilities(writer, capabilities);
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    Result<const nn::v1_0::Capabilities*> first = readValue<nn::v1_0::Capabilities>(reader);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ((*first)->float32Performance.execTime, 0.25F);
    EXPECT_EQ((*first)->quantized8Performance.powerUsage, 0.75F);
    Result<const nn::v1_1::Capabilities*> second = readValue<nn::v1_1::Capabilities>(reader);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ((*second)->quantized8Performance.execTime, 0.125F);
    EXPECT_EQ((*second)->relaxedFloat32toFloat16Performance.powerUsage, 4.0F);
}

TEST(HidlConversion, TellsTimesInWholeMicroseconds) {
    using std::chrono::nanoseconds;
    const auto arrived = [](const driver::Timing& timing) {
        ParcelWriter writer;
        nn::v1_2::writeShapesAndTiming(writer, {}, timing);
        Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
        EXPECT_TRUE(parcel.ok());
        ParcelReader reader = parcel->reader(nullptr);
        return nn::v1_2::readShapesAndTiming(reader).value().timing;
    };
    EXPECT_EQ(arrived({.timeOnDevice = nanoseconds(1'999), .timeInDriver = nanoseconds(2'000)}),
              (driver::Timing{.timeOnDevice = nanoseconds(1'000),
                              .timeInDriver = nanoseconds(2'000)}));
    EXPECT_EQ(arrived({}), driver::Timing()) << "unknown ones stay unknown";
    EXPECT_EQ(
            arrived({.timeOnDevice = std::nullopt, .timeInDriver = nanoseconds(999)}).timeInDriver,
            nanoseconds(0));
}

TEST(HidlConversion, HoldsTimesThatTheClockCannot) {
    nn::v1_2::Timing wire;
    wire.timeOnDevice = std::numeric_limits<uint64_t>::max() - 1;
    wire.timeInDriver = std::numeric_limits<uint64_t>::max();
    const driver::Timing timing = decode(wire);
    EXPECT_GT(timing.timeOnDevice, std::chrono::hours(24 * 365 * 200));
    EXPECT_EQ(timing.timeInDriver, std::nullopt);
}

TEST(HidlConversion, TurnsLocationsBeyondItsNumbersIntoSomeThatNoPoolReaches) {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    const driver::DataLocation far = {
            .poolIndex = 1, .offset = kMost + 1, .length = kMost + 5, .padding = 8};
    const driver::DataLocation arrived = decodeLocation(encodeLocation(far));
    EXPECT_EQ(arrived, (driver::DataLocation{
                               .poolIndex = 1, .offset = kMost, .length = kMost, .padding = 0}));
}

TEST(HidlConversion, HoldsDeadlinesThatTheClockCannot) {
    using std::chrono::nanoseconds;
    using std::chrono::steady_clock;
    nn::v1_3::OptionalTimePoint wire;
    EXPECT_FALSE(decode(wire).has_value());
    wire.member = nn::v1_3::OptionalTimePoint::Member::nanosecondsSinceEpoch;
    wire.nanosecondsSinceEpoch = 5;
    EXPECT_EQ(decode(wire), steady_clock::time_point(nanoseconds(5)));
    wire.nanosecondsSinceEpoch = std::numeric_limits<uint64_t>::max();
    EXPECT_EQ(decode(wire), steady_clock::time_point::max());
}

TEST(LoopTimeout, IsDecodedAsFarAsTheClockCounts) {
    using std::chrono::nanoseconds;
    hidl::nn::v1_3::OptionalTimeoutDuration wire;
    EXPECT_EQ(hidl::nn::v1_3::decode(wire), std::nullopt);
    wire.member = hidl::nn::v1_3::OptionalTimeoutDuration::Member::nanoseconds;
    for (const uint64_t duration : {uint64_t{0}, uint64_t{3'000'000'000}}) {
        wire.nanoseconds = duration;
        EXPECT_EQ(hidl::nn::v1_3::decode(wire), nanoseconds(duration));
    }
    wire.nanoseconds = std::numeric_limits<uint64_t>::max();
    EXPECT_EQ(hidl::nn::v1_3::decode(wire), nanoseconds::max());
}

}  // namespace

}  // namespace halyard::hal::hidl
