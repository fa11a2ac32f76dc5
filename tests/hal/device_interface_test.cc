// SPDX-License-Identifier: Apache-2.0
//
// driver::IDevice: the same claims of the driver in this process and of a client over each version
// of HIDL and AIDL, whose calls and callbacks travel as parcels.

#include "driver/device/device_interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "driver/device/local_device.h"
#include "driver/model/extensions.h"
#include "engine/base/log.h"
#include "hal/aidl/client/connection.h"
#include "hal/aidl/client/device.h"
#include "hal/aidl/device_object.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/add_model.h"
#include "tests/hal/client_version.h"
#include "tests/hal/loopback.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::testing {
namespace {

using driver::HalVersion;
using Values = std::array<float, 2>;

struct Way {
    bool remote;
    HalVersion version;
};

std::vector<Way> allWays() {
    std::vector<Way> ways = {{.remote = false, .version = HalVersion::V1_0},
                             {.remote = false, .version = driver::kNewestVersion}};
    for (const hidl::ClientVersion& client : hidl::clientVersions()) {
        ways.push_back({.remote = true, .version = client.version});
    }
    for (const HalVersion version : driver::allVersions()) {
        if (version >= HalVersion::AIDL_V1) {
            ways.push_back({.remote = true, .version = version});
        }
    }
    return ways;
}

class DeviceInterface : public ::testing::TestWithParam<Way> {
  protected:
    // Most tests are about refusals, each of which is logged.
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void SetUp() override {
        driver::Options options = referenceOptions();
        options.capabilitiesFile = ::testing::TempDir() + "capabilities";
        std::ofstream(options.capabilitiesFile) << "TENSOR_FLOAT32 0.125 0.25\n"
                                                   "TENSOR_QUANT8_ASYMM 0.375 0.625\n"
                                                   "TENSOR_QUANT8_ASYMM_SIGNED 0.75 0.875\n"
                                                   "RELAXED_SCALAR 1.125 1.25\n"
                                                   "RELAXED_TENSOR 1.375 1.5\n"
                                                   "IF 2.125 2.25\n"
                                                   "WHILE 3.125 3.25\n";
        Result<ServedDevice> served = serveDevice(mProcess, options);
        ASSERT_TRUE(served.ok()) << served.status().toString();
        mObject = served->object;
        mDriver = served->driver;
        if (!GetParam().remote) {
            mDevice = driver::makeLocalDevice(served->driver, GetParam().version);
        } else if (isAidl()) {
            mObject = std::make_shared<aidl::DeviceObject>(mProcess, served->driver, nullptr);
            Result<aidl::ServiceConnection> connection = aidl::connectTo(
                    mProcess, mProcess->remote(mObject), GetParam().version, aidl::Release());
            ASSERT_TRUE(connection.ok()) << connection.status().toString();
            mDevice = aidl::makeClientDevice(std::move(*connection));
        } else {
            Result<hidl::ServiceConnection> connection = hidl::connectTo(
                    mProcess, mProcess->remote(mObject), clientOf(GetParam().version));
            ASSERT_TRUE(connection.ok()) << connection.status().toString();
            mDevice = hidl::makeClientDevice(std::move(*connection));
        }
        const Result<ExportedMemory> memory = createSharedMemory(16);
        ASSERT_TRUE(memory.ok()) << memory.status().toString();
        mRequest = addRequest();
        mRequest.pools = {memory->memory};
        const Values input = {1.0F, 2.0F};
        std::memcpy(bytes(), input.data(), sizeof(input));
    }
    void TearDown() override { mProcess->stop(); }

    uint8_t* bytes() { return std::get<driver::SharedMemory>(mRequest.pools[0])->map()->data(); }
    Values output() {
        Values values = {};
        std::memcpy(values.data(), bytes() + 8, sizeof(values));
        return values;
    }
    std::shared_ptr<driver::IPreparedModel> prepared() {
        Result<std::shared_ptr<driver::IPreparedModel>> model = mDevice->prepare(addModel(), {});
        EXPECT_TRUE(model.ok()) << model.status().toString();
        return model.ok() ? *model : nullptr;
    }
    static bool hasBuffers() { return GetParam().version >= HalVersion::V1_3; }
    static bool isAidl() { return GetParam().remote && GetParam().version >= HalVersion::AIDL_V1; }
    bool knowsShapes() const {
        return !GetParam().remote || GetParam().version >= HalVersion::V1_2;
    }

    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<LocalObject> mObject;
    std::shared_ptr<driver::Device> mDriver;
    std::shared_ptr<driver::IDevice> mDevice;
    driver::Request mRequest;
};

TEST_P(DeviceInterface, PreparesAndExecutes) {
    EXPECT_EQ(mDevice->version(), GetParam().version);
    const Result<std::vector<bool>> supported = mDevice->supportedOperations(addModel());
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_EQ(*supported, std::vector<bool>{true});
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    const driver::ExecutionResult result =
            model->execute(mRequest, {.measureTiming = true, .deadline = {}});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(output(), (Values{11.0F, 22.0F}));
    EXPECT_EQ(result.outputShapes.size(), knowsShapes() ? 1U : 0U);
    EXPECT_NE(model->report().find("node"), std::string::npos);
    EXPECT_EQ(model->program() == nullptr, GetParam().remote);
}

TEST_P(DeviceInterface, TellsACallbackOnce) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    std::promise<driver::ExecutionResult> told;
    std::atomic<int> count = 0;
    const Status begun = model->executeAsync(mRequest, {}, [&](const auto& result) {
        if (++count == 1) {
            told.set_value(result);
        }
    });
    EXPECT_TRUE(begun.ok()) << begun.toString();
    const driver::ExecutionResult result = told.get_future().get();
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(output(), (Values{11.0F, 22.0F}));
    EXPECT_EQ(count, 1);
}

TEST_P(DeviceInterface, RefusesAnInvalidModelByReturnAndByCallback) {
    driver::Model model = addModel();
    model.main.operands[0].lifetime = static_cast<driver::OperandLifeTime>(99);
    EXPECT_EQ(mDevice->supportedOperations(model).status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mDevice->prepare(model, {}).status().code(), StatusCode::INVALID_ARGUMENT);
    std::vector<StatusCode> told;
    const Status begun = mDevice->prepareAsync(model, {}, [&](const Status& status, auto prepared) {
        told.push_back(status.code());
        EXPECT_EQ(prepared, nullptr);
    });
    EXPECT_EQ(begun.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(told, std::vector{StatusCode::INVALID_ARGUMENT});
}

TEST_P(DeviceInterface, RefusesAnInvalidRequestByReturnAndByCallback) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    mRequest.inputs.clear();
    EXPECT_EQ(model->execute(mRequest, {}).status.code(), StatusCode::INVALID_ARGUMENT);
    std::vector<StatusCode> told;
    const Status begun = model->executeAsync(
            mRequest, {}, [&](const auto& result) { told.push_back(result.status.code()); });
    EXPECT_EQ(begun.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(told, std::vector{StatusCode::INVALID_ARGUMENT});
}

TEST_P(DeviceInterface, TellsOfAPassedDeadlineByCallbackAlone) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    for (const Status& late : {mDevice->prepare(addModel(), {.deadline = past}).status(),
                               model->execute(mRequest, {.deadline = past}).status}) {
        EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
        EXPECT_TRUE(late.persistent()) << "the same call can't succeed";
    }
    std::promise<Status> told;
    const Status begun = model->executeAsync(mRequest, {.deadline = past}, [&](const auto& result) {
        told.set_value(result.status);
    });
    EXPECT_TRUE(begun.ok()) << begun.toString();
    EXPECT_EQ(told.get_future().get().code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_P(DeviceInterface, TakesConstantsThatNoTransactionHolds) {
    driver::Model model = addModel();
    std::vector<uint8_t> values = *model.operandValues;
    values.resize(size_t{2} << 20);
    model.operandValues = std::make_shared<const std::vector<uint8_t>>(std::move(values));
    const auto prepared = mDevice->prepare(model, {});
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    EXPECT_TRUE((*prepared)->execute(mRequest, {}).status.ok());
    EXPECT_EQ(output(), (Values{11.0F, 22.0F}));
}

TEST_P(DeviceInterface, NeedsMemoryThatCanBeSentWhereItIsSent) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    mRequest.pools = {driver::allocateHeapMemory(16)};
    const Status executed = model->execute(mRequest, {}).status;
    EXPECT_EQ(executed.ok(), !GetParam().remote) << executed.toString();
    if (GetParam().remote) {
        EXPECT_EQ(executed.message(), "pool 0 can't be sent to another process");
    }
}

TEST_P(DeviceInterface, KnowsWhatTheVersionHasWordsFor) {
    driver::Model model = addModel();
    model.relaxComputationFloat32toFloat16 = true;
    EXPECT_EQ(mDevice->prepare(model, {}).ok(),
              !GetParam().remote || GetParam().version >= HalVersion::V1_1);
    const Result<driver::Capabilities> capabilities = mDevice->capabilities();
    ASSERT_TRUE(capabilities.ok()) << capabilities.status().toString();
    const auto figures = performanceOf(*capabilities, driver::OperandType::TENSOR_FLOAT32);
    EXPECT_LT(figures.execTime, 1000.0F);
    EXPECT_EQ(mDevice->versionString().ok(), knowsShapes());
}

TEST_P(DeviceInterface, RunsTheOperationsOfTheExtensionThatItLists) {
    const Result<std::vector<driver::Extension>> listed = mDevice->extensions();
    EXPECT_EQ(listed.ok(), knowsShapes()) << "extensions came with 1.2";
    if (listed.ok()) {
        EXPECT_EQ(*listed, driver::knownExtensions());
    }
    for (const uint32_t prefix : {1U, 0xFFFFU}) {
        driver::Model model = addModel();
        model.extensionNameToPrefix = {
                {.name = "com.halyard.activation", .prefix = static_cast<uint16_t>(prefix)}};
        // GELU by tanh.
        model.main.operations[0].type = static_cast<driver::OperationType>(prefix << 16U | 1U);
        model.main.operations[0].inputs = {0, 2};
        model.main.operands[1].numberOfConsumers = 0;
        model.main.operands[2].type = static_cast<driver::OperandType>(prefix << 16U);
        const auto prepared = mDevice->prepare(model, {});
        if (GetParam().version < HalVersion::V1_2) {
            EXPECT_EQ(prepared.status().code(), StatusCode::INVALID_ARGUMENT);
            continue;
        }
        ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
        EXPECT_EQ(mDevice->supportedOperations(model).value(), std::vector{true});
        ASSERT_TRUE((*prepared)->execute(mRequest, {}).status.ok());
        EXPECT_NEAR(output()[0], 0.8411919906F, 1e-6F);
        EXPECT_NEAR(output()[1], 1.9545976941F, 1e-6F);
        EXPECT_NE((*prepared)->report().find("com.halyard.activation.GELU"), std::string::npos);
        // The same number of an unknown extension.
        model.extensionNameToPrefix[0].name = "com.example.activation";
        EXPECT_EQ(mDevice->supportedOperations(model).value(), std::vector{false});
        EXPECT_FALSE(mDevice->prepare(model, {}).ok());
    }
}

TEST_P(DeviceInterface, ClaimsWhatItsFileSaysOfItsSpeedAndPower) {
    const Result<driver::Capabilities> read = mDevice->capabilities();
    ASSERT_TRUE(read.ok()) << read.status().toString();
    const auto figures = [](const driver::PerformanceInfo& info) {
        return std::pair(info.execTime, info.powerUsage);
    };
    const auto of = [&](driver::OperandType type) { return figures(performanceOf(*read, type)); };
    using driver::OperandType;
    EXPECT_EQ(of(OperandType::TENSOR_FLOAT32), std::pair(0.125F, 0.25F));
    EXPECT_EQ(of(OperandType::TENSOR_QUANT8_ASYMM), std::pair(0.375F, 0.625F));
    const HalVersion version = GetParam().remote ? GetParam().version : driver::kNewestVersion;
    if (version >= HalVersion::V1_1) {
        EXPECT_EQ(figures(read->relaxedFloat32toFloat16PerformanceTensor), std::pair(1.375F, 1.5F));
    }
    if (version >= HalVersion::V1_2) {
        EXPECT_EQ(figures(read->relaxedFloat32toFloat16PerformanceScalar),
                  std::pair(1.125F, 1.25F));
        EXPECT_EQ(of(OperandType::TENSOR_INT32), std::pair(0.5F, 0.5F));
    }
    if (version >= HalVersion::V1_3) {
        EXPECT_EQ(of(OperandType::TENSOR_QUANT8_ASYMM_SIGNED), std::pair(0.75F, 0.875F));
        EXPECT_EQ(figures(read->ifPerformance), std::pair(2.125F, 2.25F));
        EXPECT_EQ(figures(read->whilePerformance), std::pair(3.125F, 3.25F));
    }
    EXPECT_TRUE(std::ranges::is_sorted(read->operandPerformance, std::less<>(),
                                       &driver::OperandPerformance::type));
}

TEST_P(DeviceInterface, TellsTimesWhereTheyAreAskedForAlone) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    for (const bool asked : {false, true}) {
        const driver::ExecuteOptions options = {.measureTiming = asked, .deadline = {}};
        std::vector<std::pair<const char*, driver::Timing>> times;
        times.emplace_back("execute", model->execute(mRequest, options).timing);
        std::promise<driver::Timing> told;
        ASSERT_TRUE(model->executeAsync(mRequest, options, [&](const auto& result) {
                             told.set_value(result.timing);
                         }).ok());
        times.emplace_back("executeAsync", told.get_future().get());
        if (hasBuffers()) {
            const Result<driver::FencedExecution> fenced = model->executeFenced(mRequest, options);
            ASSERT_TRUE(fenced.ok()) << fenced.status().toString();
            times.emplace_back("launched", fenced->info().launched);
            times.emplace_back("fenced", fenced->info().fenced);
        }
        if (GetParam().remote && knowsShapes()) {
            const auto burst = model->makeBurst();
            ASSERT_TRUE(burst.ok()) << burst.status().toString();
            times.emplace_back(
                    "burst", (*burst)->execute(mRequest, std::array{int64_t{-1}}, options).timing);
        }
        for (const auto& [way, timing] : times) {
            // 1.0 and 1.1 have no words for them.
            const bool known = asked && knowsShapes();
            EXPECT_EQ(timing.timeOnDevice.has_value(), known) << way;
            EXPECT_EQ(timing.timeInDriver.has_value(), known) << way;
            if (timing.timeOnDevice.has_value() && timing.timeInDriver.has_value()) {
                EXPECT_LE(*timing.timeOnDevice, *timing.timeInDriver) << way;
            }
        }
    }
}

TEST_P(DeviceInterface, TellsWhetherItIsBusy) {
    if (isAidl()) {
        EXPECT_EQ(mDevice->status().status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    const auto status = [&] { return mDevice->status().value(); };
    EXPECT_EQ(status(), driver::DeviceStatus::AVAILABLE);
    const auto client = mDriver->client({.pid = 1, .uid = 10'000});
    ASSERT_TRUE(client.ok());
    driver::Scheduler::Share& share = *(*client)->shares().executing;
    std::vector<driver::Scheduler::Slot> slots;
    while (std::optional<driver::Scheduler::Slot> slot = share.tryEnter()) {
        slots.push_back(std::move(*slot));
    }
    std::promise<void> turn;
    ASSERT_TRUE(share.post(driver::Priority::LOW, {}, [&](const Status& /*turn*/) {
                         turn.set_value();
                     }).ok());
    EXPECT_EQ(status(), driver::DeviceStatus::BUSY);
    slots.clear();
    turn.get_future().get();
    EXPECT_EQ(status(), driver::DeviceStatus::AVAILABLE);
}

TEST_P(DeviceInterface, LeavesItToTheDeviceWhatCodesItKnows) {
    driver::Model type = addModel();
    type.main.operands[0].type = static_cast<driver::OperandType>(-1);
    driver::Model operation = addModel();
    operation.main.operations[0].type = driver::OperationType::REVERSE;
    for (const driver::Model& model : {type, operation}) {
        const Status refused = mDevice->supportedOperations(model).status();
        EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT) << refused.toString();
        EXPECT_EQ(refused.message().find("can't be sent"), std::string_view::npos)
                << refused.toString();
    }
}

TEST_P(DeviceInterface, SaysWhatItCanNotDo) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->executeAsync(mRequest, {}, nullptr).code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mDevice->prepareAsync(addModel(), {}, nullptr).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(DeviceInterface, KnowsTheMemoryOfABurstByItsNumber) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    if (!isAidl()) {
        return;
    }
    const Result<std::shared_ptr<driver::IBurst>> burst = model->makeBurst();
    ASSERT_TRUE(burst.ok()) << burst.status().toString();
    const std::vector<int64_t> known = {7};
    ASSERT_TRUE((*burst)->execute(mRequest, known, {}).status.ok());
    EXPECT_EQ(output(), (Values{11.0F, 22.0F}));
    // The number stands for the memory that came first, whatever comes with it.
    const driver::SharedMemory first = std::get<driver::SharedMemory>(mRequest.pools[0]);
    const Result<ExportedMemory> other = createSharedMemory(16);
    ASSERT_TRUE(other.ok());
    const Values changed = {3.0F, 4.0F};
    std::memcpy(bytes(), changed.data(), sizeof(changed));
    mRequest.pools = {other->memory};
    ASSERT_TRUE((*burst)->execute(mRequest, known, {}).status.ok());
    EXPECT_EQ(output(), (Values{0.0F, 0.0F}));
    mRequest.pools = {first};
    EXPECT_EQ(output(), (Values{13.0F, 24.0F}));
    // Until it is released.
    EXPECT_TRUE((*burst)->releaseMemory(7).ok());
    EXPECT_TRUE((*burst)->releaseMemory(8).ok()) << "it is unknown";
    mRequest.pools = {other->memory};
    ASSERT_TRUE((*burst)->execute(mRequest, known, {}).status.ok());
    EXPECT_EQ(output(), (Values{10.0F, 20.0F}));
    for (const std::vector<int64_t>& wrong :
         {std::vector<int64_t>(), std::vector<int64_t>{1, 2}, std::vector<int64_t>{-2}}) {
        EXPECT_EQ((*burst)->execute(mRequest, wrong, {}).status.code(),
                  StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_EQ((*burst)->releaseMemory(-2).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(DeviceInterface, ExecutesFenced) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    driver::ExecuteOptions options;
    options.measureTiming = true;
    const Result<driver::FencedExecution> execution = model->executeFenced(mRequest, options);
    if (!hasBuffers()) {
        EXPECT_EQ(execution.status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    ASSERT_TRUE(execution.ok()) << execution.status().toString();
    EXPECT_EQ(execution->done, nullptr) << "it is over";
    EXPECT_EQ(output(), (Values{11.0F, 22.0F}));
    const driver::FencedExecution::Info info = execution->info();
    EXPECT_TRUE(info.status.ok());
    EXPECT_TRUE(info.launched.timeInDriver.has_value());
    EXPECT_TRUE(info.fenced.timeOnDevice.has_value());
    mRequest.inputs.clear();
    EXPECT_EQ(model->executeFenced(mRequest, {}).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(DeviceInterface, ComputesAnExecutionAgainAndAgain) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    driver::ExecuteOptions options;
    options.measureTiming = true;
    const auto execution = model->makeExecution(mRequest, options);
    if (GetParam().version < HalVersion::AIDL_V4) {
        EXPECT_EQ(execution.status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    ASSERT_TRUE(execution.ok()) << execution.status().toString();
    for (const float first : {3.0F, 4.0F}) {
        std::memcpy(bytes(), &first, sizeof(first));
        const driver::ExecutionResult result = (*execution)->execute({});
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(output(), (Values{first + 10.0F, 22.0F}));
        EXPECT_TRUE(result.timing.timeInDriver.has_value());
    }
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    EXPECT_EQ((*execution)->execute(past).status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ((*execution)->executeFenced({}, past, {}).status().code(),
              StatusCode::DEADLINE_EXCEEDED);
    const auto fenced = (*execution)->executeFenced({}, {}, {});
    ASSERT_TRUE(fenced.ok()) << fenced.status().toString();
    EXPECT_TRUE(fenced->info().status.ok());
}

TEST_P(DeviceInterface, TellsItsStatusAndExtensions) {
    const Result<driver::DeviceStatus> status = mDevice->status();
    if (GetParam().remote && GetParam().version >= HalVersion::AIDL_V1) {
        EXPECT_EQ(status.status().code(), StatusCode::UNSUPPORTED);
    } else {
        ASSERT_TRUE(status.ok()) << status.status().toString();
        EXPECT_EQ(*status, driver::DeviceStatus::AVAILABLE);
    }
    EXPECT_EQ(mDevice->extensions().ok(), !GetParam().remote || knowsShapes());
}

TEST_P(DeviceInterface, ExecutesInBursts) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    Result<std::shared_ptr<driver::IBurst>> burst = model->makeBurst();
    if (GetParam().version < HalVersion::V1_2) {
        EXPECT_EQ(burst.status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    ASSERT_TRUE(burst.ok()) << burst.status().toString();
    driver::ExecuteOptions options;
    options.measureTiming = true;
    const std::array<int64_t, 1> known = {7};
    for (const int64_t identifier : {int64_t{7}, int64_t{7}, int64_t{-1}}) {
        const Values before = {3.0F, static_cast<float>(identifier)};
        std::memcpy(bytes(), before.data(), sizeof(before));
        const driver::ExecutionResult result =
                (*burst)->execute(mRequest, std::array{identifier}, options);
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(output(), (Values{13.0F, 20.0F + static_cast<float>(identifier)}));
        EXPECT_EQ(result.outputShapes.size(), 1U);
        EXPECT_TRUE(result.timing.timeInDriver.has_value());
    }
    EXPECT_TRUE((*burst)->releaseMemory(7).ok());
    EXPECT_TRUE((*burst)->execute(mRequest, known, {}).status.ok()) << "it is asked for again";
    mRequest.inputs.clear();
    EXPECT_EQ((*burst)->execute(mRequest, known, {}).status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ((*burst)->execute(mRequest, {}, {}).status.code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(DeviceInterface, KeepsValuesInBuffers) {
    const auto model = prepared();
    ASSERT_NE(model, nullptr);
    driver::BufferDescription description;
    description.models = {model};
    description.inputs = {{.modelIndex = 0, .ioIndex = 0}};
    description.outputs = {{.modelIndex = 0, .ioIndex = 0}};
    const Result<std::shared_ptr<driver::IBuffer>> buffer = mDevice->allocate(description);
    if (!hasBuffers()) {
        EXPECT_EQ(buffer.status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    ASSERT_TRUE(buffer.ok()) << buffer.status().toString();
    ASSERT_NE((*buffer)->token(), 0U);
    const driver::SharedMemory memory = std::get<driver::SharedMemory>(mRequest.pools[0]);
    const Result<ExportedMemory> exact = createSharedMemory(sizeof(Values));
    ASSERT_TRUE(exact.ok());
    const Values values = {5.0F, 6.0F};
    std::memcpy(exact->memory->map()->data(), values.data(), sizeof(values));
    EXPECT_FALSE((*buffer)->copyTo(exact->memory).ok()) << "there is nothing in it";
    EXPECT_EQ((*buffer)->copyFrom(memory, {}).code(), StatusCode::INVALID_ARGUMENT);
    ASSERT_TRUE((*buffer)->copyFrom(exact->memory, {}).ok());
    mRequest.pools.emplace_back((*buffer)->token());
    mRequest.inputs[0].location = {.poolIndex = 1, .offset = 0, .length = 0};
    const Status executed = model->execute(mRequest, {}).status;
    ASSERT_TRUE(executed.ok()) << executed.toString();
    EXPECT_EQ(output(), (Values{15.0F, 26.0F}));
    ASSERT_TRUE((*buffer)->copyTo(exact->memory).ok());
    for (const driver::BufferRole& wrong : {driver::BufferRole{.modelIndex = 0, .ioIndex = 7},
                                            driver::BufferRole{.modelIndex = 1, .ioIndex = 0}}) {
        description.inputs = {wrong};
        EXPECT_EQ(mDevice->allocate(description).status().code(), StatusCode::INVALID_ARGUMENT);
    }
    description.inputs.clear();
    description.models = {nullptr};
    EXPECT_EQ(mDevice->allocate(description).status().code(), StatusCode::INVALID_ARGUMENT);
    if (GetParam().remote) {
        const auto elsewhere = driver::makeLocalDevice(mDriver, GetParam().version);
        description.models = {elsewhere->prepare(addModel(), {}).value()};
        EXPECT_EQ(mDevice->allocate(description).status().code(), StatusCode::INVALID_ARGUMENT);
    }
}

TEST_P(DeviceInterface, TellsOfTheDeathOfAService) {
    EXPECT_TRUE(mDevice->ping().ok());
    if (!GetParam().remote) {
        return;
    }
    mProcess->kill(mObject);
    EXPECT_EQ(mDevice->ping().code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(mDevice->supportedOperations(addModel()).status().code(), StatusCode::UNAVAILABLE);
    int told = 0;
    const Status begun = mDevice->prepareAsync(addModel(), {}, [&](const Status& status, auto) {
        EXPECT_EQ(status.code(), StatusCode::UNAVAILABLE);
        ++told;
    });
    EXPECT_EQ(begun.code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(told, 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, DeviceInterface, ::testing::ValuesIn(allWays()),
                         [](const auto& way) {
                             std::string name = way.param.remote ? "Hidl" : "Local";
                             if (way.param.remote && way.param.version >= HalVersion::AIDL_V1) {
                                 name = "";
                             }
                             for (const char letter : toString(way.param.version)) {
                                 if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
                                     name += letter;
                                 }
                             }
                             return name;
                         });

}  // namespace
}  // namespace halyard::hal::testing
