// SPDX-License-Identifier: Apache-2.0
//
// com.halyard.activation: what it computes, and in which models it may stand. The values are those
// that numpy computes in double precision from the definitions in docs/extensions.md.

#include "driver/ops/extension_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/model/extensions.h"
#include "engine/base/half.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kName = "com.halyard.activation";
const std::vector<float> kX = {-6, -3, -1, -0.5, 0, 0.5, 1, 3, 6, -20, 20};
const std::vector<float> kSiluOfX = {-0.014835738939808647F,
                                     -0.14227761953270035F,
                                     -0.2689414213699951F,
                                     -0.1887703343990727F,
                                     0.0F,
                                     0.3112296656009273F,
                                     0.7310585786300049F,
                                     2.8577223804672998F,
                                     5.985164261060192F,
                                     -4.122307236380407e-08F,
                                     19.999999958776925F};
const std::vector<float> kTanhGeluOfX = {-8.43964897967453e-11F,
                                         -0.0036373920817729943F,
                                         -0.1588080093917233F,
                                         -0.15428599017485606F,
                                         0.0F,
                                         0.34571400982514394F,
                                         0.8411919906082768F,
                                         2.996362607918227F,
                                         5.9999999999156035F,
                                         0.0F,
                                         20.0F};
const std::vector<float> kSigmoidGeluOfX = {-0.00022035354978739246F,
                                            -0.01807130970778597F,
                                            -0.1542042340671787F,
                                            -0.1496115633936199F,
                                            0.0F,
                                            0.35038843660638014F,
                                            0.8457957659328212F,
                                            2.981928690292214F,
                                            5.9997796464502136F,
                                            -3.2934102413993747e-14F,
                                            19.999999999999968F};

// A code of the extension.
template <typename Code>
Code coded(uint16_t prefix, uint16_t number) {
    return static_cast<Code>((uint32_t{prefix} << 16U) | number);
}

constexpr uint16_t kPrefix = 7;
constexpr uint16_t kSiluNumber = 0;
constexpr uint16_t kGeluNumber = 1;

struct Named {
    std::string name = std::string(kName);
    uint16_t prefix = kPrefix;
};

Model named(ModelBuilder& builder, const Named& as = {}) {
    Model model = builder.build();
    model.extensionNameToPrefix = {{.name = as.name, .prefix = as.prefix}};
    return model;
}

Model siluModel(const OperandSpec& input, const OperandSpec& output, const Named& as = {},
                uint16_t number = kSiluNumber) {
    ModelBuilder builder;
    const uint32_t in = builder.input(input);
    const uint32_t out = builder.output(output);
    builder.operation(coded<OperationType>(as.prefix, number), {in}, {out});
    return named(builder, as);
}

// A GELU of FLOAT32 whose approximation is a constant of that type.
Model geluModel(const OperandSpec& approximation, int32_t value) {
    ModelBuilder builder;
    const OperandSpec floats = {.type = OperandType::TENSOR_FLOAT32, .dimensions = {11}};
    const uint32_t input = builder.input(floats);
    const uint32_t constant = builder.constant<int32_t>(approximation, {value});
    const uint32_t output = builder.output(floats);
    builder.operation(coded<OperationType>(kPrefix, kGeluNumber), {input, constant}, {output});
    return named(builder);
}

OperandSpec approximationType() {
    return {.type = coded<OperandType>(kPrefix, 0), .dimensions = {}};
}

class OwnExtension : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        Options options;
        options.backends = {GetParam()};
        options.threads = 1;
        Result<std::unique_ptr<Device>> device = Device::create(std::move(options));
        ASSERT_TRUE(device.ok()) << device.status().toString();
        mDevice = std::move(*device);
    }

    template <typename T>
    std::vector<T> run(const Model& model, const std::vector<T>& input,
                       HalVersion version = HalVersion::V1_3) {
        const auto prepared = mDevice->prepare(model, version, {});
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        if (!prepared.ok()) {
            return {};
        }
        RequestBuilder request;
        request.input<T>(input).output(input.size() * sizeof(T));
        const Status run = (*prepared)->execute(request.request(), version, {}).status;
        EXPECT_TRUE(run.ok()) << run.toString();
        return request.result<T>(0, input.size());
    }
    Status prepare(const Model& model, HalVersion version = HalVersion::V1_3) const {
        return mDevice->prepare(model, version, {}).status();
    }
    static void expectNear(const std::vector<float>& values, const std::vector<float>& expected,
                           float tolerance) {
        ASSERT_EQ(values.size(), expected.size());
        for (size_t i = 0; i < values.size(); ++i) {
            EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0F, std::abs(expected[i])))
                    << i;
        }
    }

    std::unique_ptr<Device> mDevice;
};

TEST_P(OwnExtension, ComputesInFloat32) {
    const OperandSpec type = floats({11});
    expectNear(run(siluModel(type, type), kX), kSiluOfX, 1e-6F);
    expectNear(run(geluModel(approximationType(), 0), kX), kTanhGeluOfX, 1e-6F);
    expectNear(run(geluModel(approximationType(), 1), kX), kSigmoidGeluOfX, 1e-6F);
}

TEST_P(OwnExtension, ComputesInFloat16) {
    const OperandSpec type = {.type = OperandType::TENSOR_FLOAT16, .dimensions = {11}};
    std::vector<Half> input;
    std::ranges::transform(kX, std::back_inserter(input), [](float x) { return toHalf(x); });
    std::vector<float> values;
    for (const Half value : run(siluModel(type, type), input)) {
        values.push_back(toFloat(value));
    }
    expectNear(values, kSiluOfX, 1e-3F);
}

TEST_P(OwnExtension, ComputesIn8BitsWithOneRounding) {
    for (const auto& [type, zero] : {std::pair{OperandType::TENSOR_QUANT8_ASYMM, 128},
                                     std::pair{OperandType::TENSOR_QUANT8_ASYMM_SIGNED, 0}}) {
        const OperandSpec input = {type, {256}, 1.0F / 16, zero};
        const OperandSpec output = {type, {256}, 1.0F / 32, zero - 100};
        std::vector<uint8_t> bytes(256);
        for (size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<uint8_t>(i);
        }
        const std::vector<uint8_t> values = run(siluModel(input, output), bytes);
        ASSERT_EQ(values.size(), bytes.size());
        const bool isSigned = type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
        const auto numberOf = [isSigned](uint8_t byte) {
            return isSigned ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte};
        };
        for (size_t i = 0; i < bytes.size(); ++i) {
            const double x = (numberOf(bytes[i]) - zero) / 16.0;
            const double exact = std::nearbyint(x / (1 + std::exp(-x)) * 32) + zero - 100;
            const double low = isSigned ? -128 : 0;
            EXPECT_EQ(numberOf(values[i]), std::clamp(exact, low, low + 255)) << i;
        }
    }
}

TEST_P(OwnExtension, GoesByAnyPrefix) {
    for (const uint16_t prefix : {1, 0x7FFF, 0xE000, 0xFFFF}) {
        const Model model = siluModel(floats({11}), floats({11}), {.prefix = prefix});
        expectNear(run(model, kX, HalVersion::V1_2), kSiluOfX, 1e-6F);
        EXPECT_EQ(*mDevice->supportedOperations(model, HalVersion::V1_2), std::vector{true});
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, OwnExtension, testing::Values("CpuRef", "CpuAcc"),
                         [](const auto& backend) { return std::string(backend.param); });

using OwnExtensionModels = OwnExtension;
INSTANTIATE_TEST_SUITE_P(Backends, OwnExtensionModels, testing::Values("CpuRef"),
                         [](const auto& backend) { return std::string(backend.param); });

TEST_P(OwnExtensionModels, OfOtherExtensionsAreValidAndUnsupported) {
    const OperandSpec type = floats({11});
    const std::vector<std::pair<Model, std::string>> models = {
            {siluModel(type, type, {.name = "com.example.activation"}),
             "operation 0 of com.example.activation"},
            {siluModel(type, type, {}, 2), "operation 2 of com.halyard.activation"}};
    for (const auto& [model, name] : models) {
        const Result<std::vector<bool>> supported =
                mDevice->supportedOperations(model, HalVersion::V1_3);
        ASSERT_TRUE(supported.ok()) << supported.status().toString();
        EXPECT_EQ(*supported, std::vector{false});
        const Status prepared = prepare(model);
        EXPECT_EQ(prepared.code(), StatusCode::UNSUPPORTED);
        EXPECT_NE(prepared.message().find(name), std::string::npos) << prepared.toString();
    }
}

TEST_P(OwnExtensionModels, NeedTheirPrefixOnceAndNamed) {
    Model model = siluModel(floats({11}), floats({11}));
    model.extensionNameToPrefix[0].prefix = kPrefix + 1;
    EXPECT_EQ(prepare(model).code(), StatusCode::INVALID_ARGUMENT) << "the prefix is not declared";
    model = siluModel(floats({11}), floats({11}));
    model.extensionNameToPrefix.push_back({.name = "com.example.other", .prefix = kPrefix});
    EXPECT_EQ(prepare(model).code(), StatusCode::INVALID_ARGUMENT) << "two names, one prefix";
    model = siluModel(floats({11}), floats({11}));
    model.extensionNameToPrefix.push_back({.name = std::string(kName), .prefix = kPrefix + 1});
    EXPECT_EQ(prepare(model).code(), StatusCode::INVALID_ARGUMENT) << "two prefixes, one name";
    EXPECT_EQ(prepare(siluModel(floats({11}), floats({11})), HalVersion::V1_1).code(),
              StatusCode::INVALID_ARGUMENT)
            << "extensions came with 1.2";
}

TEST_P(OwnExtensionModels, CanNotUseTheCodesThatTheDriverHasForThem) {
    ModelBuilder builder;
    builder.operation(kSilu, {builder.input(floats({11}))}, {builder.output(floats({11}))});
    EXPECT_EQ(prepare(named(builder)).code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(prepare(geluModel({.type = kGeluApproximation, .dimensions = {}}, 0)).code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_P(OwnExtensionModels, AreHeldToTheirSignatures) {
    const OperandSpec wrong = {.type = OperandType::TENSOR_INT32, .dimensions = {11}};
    EXPECT_EQ(prepare(siluModel(floats({11}), wrong)).message(),
              "operation 0 (com.halyard.activation.SILU): the output (output 0, operand 1) is "
              "TENSOR_INT32; HAL 1.3 gives TENSOR_FLOAT32 there");
    const Status plain = prepare(geluModel({.type = OperandType::INT32, .dimensions = {}}, 0));
    EXPECT_EQ(plain.message(),
              "operation 0 (com.halyard.activation.GELU): the approximation (input 1, operand 1) "
              "is INT32; HAL 1.3 takes com.halyard.activation.GELU_APPROXIMATION there");
    EXPECT_EQ(plain.code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(OwnExtensionModels, AreHeldToTheirOperandTypes) {
    OperandSpec tensor = approximationType();
    tensor.dimensions = {1};
    EXPECT_EQ(prepare(geluModel(tensor, 0)).message(),
              "operand 1 (com.halyard.activation.GELU_APPROXIMATION): a scalar has no dimensions");
    OperandSpec scaled = approximationType();
    scaled.scale = 1.0F;
    EXPECT_EQ(prepare(geluModel(scaled, 0)).code(), StatusCode::INVALID_ARGUMENT);
    Model small = geluModel(approximationType(), 0);
    small.main.operands[1].location.length = 1;
    EXPECT_EQ(prepare(small).message(),
              "operand 1 (com.halyard.activation.GELU_APPROXIMATION): a constant of 4 bytes has 1");
    // Errors that lowering finds make no model invalid.
    const Status unknown = prepare(geluModel(approximationType(), 2));
    EXPECT_EQ(unknown.code(), StatusCode::UNSUPPORTED);
    EXPECT_NE(unknown.message().find("is 2, not 0 (tanh) or 1 (sigmoid)"), std::string::npos)
            << unknown.toString();
}

TEST(OwnExtensionTable, AgreesWithWhatIsListed) {
    ASSERT_EQ(knownExtensions().size(), 1U);
    const Extension& extension = knownExtensions().front();
    EXPECT_EQ(extension.name, kName);
    ASSERT_NE(operationsOf(extension.name), nullptr);
    EXPECT_EQ(operationsOf(extension.name)->size(), extensionOperations().size());
    EXPECT_EQ(operationsOf("com.example.other"), nullptr);
    for (const OperationDefinition& definition : extensionOperations()) {
        EXPECT_FALSE(introducedIn(definition.type).has_value()) << "NNAPI has taken the code";
    }
    EXPECT_EQ(findOperandType(kGeluApproximation), nullptr) << "NNAPI has taken the code";
}

}  // namespace
}  // namespace halyard::driver
