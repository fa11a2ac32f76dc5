// SPDX-License-Identifier: Apache-2.0
//
// IDevice, IPreparedModel and IExecution over AIDL, as far as driver::IDevice does not show it: how
// failures travel, and what numbers mean.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/model/footprint.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"
#include "hal/aidl/aidl_object.h"
#include "hal/aidl/boot_time.h"
#include "hal/aidl/client/connection.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/device_object.h"
#include "hal/aidl/prepared_model_object.h"
#include "hal/aidl/remote_interface.h"
#include "hal/aidl/types.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/add_model.h"
#include "tests/hal/loopback.h"
#include "tests/hal/open_descriptors.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::aidl {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using testing::addModel;
using testing::addRequest;

// Notes what it is told.
class Callback final : public AidlObject {
  public:
    Callback() : AidlObject(nn::IPreparedModelCallback::info(), Release(), 4) {}
    std::vector<nn::IPreparedModelCallback::Notify::Arguments> told;

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_ASSIGN_OR_RETURN(auto notification,
                                 call.read<nn::IPreparedModelCallback::Notify>());
        told.push_back(std::move(notification));
        return {};
    }
};

const nn::ExecutionConfig kPlain = {.measureTiming = false,
                                    .loopTimeoutDurationNs = -1,
                                    .executionHints = {},
                                    .extensionNameToPrefix = {}};

class AidlDevices : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void SetUp() override {
        Result<testing::ServedDevice> served = testing::serveDevice(mProcess);
        ASSERT_TRUE(served.ok()) << served.status().toString();
        mDriver = served->driver;
        connect(HalVersion::AIDL_V4);
        mRequest = addRequest();
        mRequest.pools = {mMemory->memory};
        const std::array<float, 2> input = {1.0F, 2.0F};
        std::memcpy(mMemory->memory->map()->data(), input.data(), sizeof(input));
    }
    void TearDown() override { mProcess->stop(); }

    void connect(HalVersion version) {
        const Dialect dialect = {.release = Release(), .version = version};
        mObject = std::make_shared<DeviceObject>(mProcess, mDriver, nullptr, dialect);
        mDevice = std::make_unique<RemoteInterface>(mProcess, mProcess->remote(mObject),
                                                    nn::IDevice::info(), Release());
    }
    nn::IDevice::PrepareModel::Arguments preparation() {
        nn::IDevice::PrepareModel::Arguments arguments;
        arguments.model = encode(addModel());
        arguments.preference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
        arguments.priority = driver::Priority::MEDIUM;
        arguments.deadlineNs = -1;
        arguments.callback = mCallback;
        return arguments;
    }
    Status prepare(const nn::IDevice::PrepareModel::Arguments& arguments) {
        return mDevice->call<nn::IDevice::PrepareModel>(arguments).status();
    }
    RemoteInterface prepared() {
        const Result<std::shared_ptr<driver::PreparedModel>> model =
                mDriver->prepare(addModel(), HalVersion::AIDL_V4, {});
        mModel = std::make_shared<PreparedModelObject>(*model, Dialect());
        return RemoteInterface(mProcess, mProcess->remote(mModel), nn::IPreparedModel::info(),
                               Release());
    }
    // The account of the client that owns the model of prepared().
    const driver::Account& account() const {
        return PreparedModelObject::modelOf(ObjectRef(mModel))->client()->account();
    }
    std::array<float, 2> output() {
        std::array<float, 2> values = {};
        std::memcpy(values.data(), mMemory->memory->map()->data() + 8, sizeof(values));
        return values;
    }

    const std::shared_ptr<testing::LoopbackProcess> mProcess =
            std::make_shared<testing::LoopbackProcess>();
    const std::shared_ptr<Callback> mCallback = std::make_shared<Callback>();
    const Result<ExportedMemory> mMemory = createSharedMemory(16);
    std::shared_ptr<driver::Device> mDriver;
    std::shared_ptr<LocalObject> mObject;
    std::shared_ptr<PreparedModelObject> mModel;
    std::unique_ptr<RemoteInterface> mDevice;
    driver::Request mRequest;
};

TEST_F(AidlDevices, TellOfInvalidArgumentsByCallbackAndException) {
    std::vector<nn::IDevice::PrepareModel::Arguments> wrong;
    wrong.push_back(preparation());
    wrong.back().model.main.operands[0].lifetime = static_cast<driver::OperandLifeTime>(99);
    wrong.push_back(preparation());
    wrong.back().model.main.operands[0].dimensions = {-1};
    wrong.push_back(preparation());
    wrong.back().model.main.operations[0].inputs[0] = -1;
    wrong.push_back(preparation());
    wrong.back().model.main.operands[0].location.offset = int64_t{1} << 32;
    wrong.push_back(preparation());
    wrong.back().deadlineNs = -2;
    wrong.push_back(preparation());
    wrong.back().preference = static_cast<driver::ExecutionPreference>(7);
    for (const auto& arguments : wrong) {
        mCallback->told.clear();
        EXPECT_EQ(prepare(arguments).code(), StatusCode::INVALID_ARGUMENT);
        ASSERT_EQ(mCallback->told.size(), 1U);
        EXPECT_EQ(mCallback->told[0].status, ErrorStatus::INVALID_ARGUMENT);
        EXPECT_TRUE(isNull(mCallback->told[0].preparedModel));
    }
    auto mute = preparation();
    mute.callback = {};
    EXPECT_EQ(prepare(mute).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AidlDevices, HaveNoOemCodes) {
    auto operand = preparation();
    operand.model.main.operands[2].type = driver::OperandType::OEM;
    auto tensor = preparation();
    tensor.model.main.operands[1].type = driver::OperandType::TENSOR_OEM_BYTE;
    auto operation = preparation();
    operation.model.main.operations[0].type = driver::OperationType::OEM_OPERATION;
    for (const auto& arguments : {operand, tensor, operation}) {
        mCallback->told.clear();
        EXPECT_EQ(prepare(arguments).code(), StatusCode::INVALID_ARGUMENT);
        ASSERT_EQ(mCallback->told.size(), 1U);
        EXPECT_EQ(mCallback->told[0].status, ErrorStatus::INVALID_ARGUMENT);
    }
}

TEST_F(AidlDevices, TellOfAPassedDeadlineByCallbackAlone) {
    auto late = preparation();
    late.deadlineNs = 1;
    EXPECT_TRUE(prepare(late).ok());
    ASSERT_EQ(mCallback->told.size(), 1U);
    EXPECT_EQ(mCallback->told[0].status, ErrorStatus::MISSED_DEADLINE_PERSISTENT);
}

TEST_F(AidlDevices, PrepareWhateverTheCacheIs) {
    auto arguments = preparation();
    arguments.modelCache = {{.fd = mMemory->descriptor->get()}};
    arguments.token = {1, 2, 3};
    const size_t before = testing::openDescriptors();
    EXPECT_TRUE(prepare(arguments).ok());
    EXPECT_LE(testing::openDescriptors(), before);
}

TEST_F(AidlDevices, TakeTokensOfCachesOf32Bytes) {
    using Method = nn::IDevice::PrepareModelFromCache;
    const auto codeOf = [&](size_t size, int64_t deadline, const ObjectRef& callback) {
        mCallback->told.clear();
        return mDevice
                ->call<Method>({.deadlineNs = deadline,
                                .modelCache = {{.fd = mMemory->descriptor->get()}},
                                .dataCache = {{.fd = mMemory->descriptor->get()}},
                                .token = std::vector<uint8_t>(size, 7),
                                .callback = callback})
                .status()
                .code();
    };
    for (const size_t size : {0U, 31U, 33U, 10'000U}) {
        EXPECT_EQ(codeOf(size, -1, mCallback), StatusCode::INVALID_ARGUMENT) << size;
        ASSERT_EQ(mCallback->told.size(), 1U);
        EXPECT_EQ(mCallback->told[0].status, ErrorStatus::INVALID_ARGUMENT);
    }
    EXPECT_EQ(codeOf(32, -1, mCallback), StatusCode::INTERNAL) << "there is nothing in the files";
    EXPECT_EQ(codeOf(32, -2, mCallback), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mCallback->told.size(), 1U);
    EXPECT_EQ(codeOf(32, -1, {}), StatusCode::INVALID_ARGUMENT) << "no callback would be told";
}

TEST_F(AidlDevices, RefuseAnInvalidModelWithAnException) {
    auto model = encode(addModel());
    model.main.inputIndexes = {-5};
    const auto answer = mDevice->call<nn::IDevice::GetSupportedOperations>({.model = model});
    EXPECT_EQ(answer.status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AidlDevices, KnowTheOperationsOfTheirVersion) {
    driver::Model model = addModel();
    model.main.operations[0].type = driver::OperationType::BATCH_MATMUL;
    connect(HalVersion::AIDL_V1);
    EXPECT_NE(mDevice->call<nn::IDevice::GetSupportedOperations>({.model = encode(model)})
                      .status()
                      .message()
                      .find("AIDL-1"),
              std::string::npos);
    EXPECT_EQ(mDevice->call<nn::IDevice::PrepareModelWithConfig>({}).status().code(),
              StatusCode::UNSUPPORTED);
}

TEST_F(AidlDevices, AnswerOutputsThatAreTooSmall) {
    const RemoteInterface model = prepared();
    mRequest.outputs[0].location.length = 4;
    const auto answer =
            model.call<nn::IPreparedModel::ExecuteSynchronously>({.request = encode(mRequest),
                                                                  .measureTiming = false,
                                                                  .deadlineNs = -1,
                                                                  .loopTimeoutDurationNs = -1});
    ASSERT_TRUE(answer.ok()) << answer.status().toString();
    const nn::ExecutionResult& result = answer->results.result;
    EXPECT_FALSE(result.outputSufficientSize);
    ASSERT_EQ(result.outputShapes.size(), 1U);
    EXPECT_FALSE(result.outputShapes[0].isSufficient);
    EXPECT_EQ(result.timing.timeOnDeviceNs, -1);
}

TEST_F(AidlDevices, TellTimesInNanosecondsOnlyWhereAsked) {
    const RemoteInterface model = prepared();
    for (const bool measure : {false, true}) {
        const auto answer = model.call<nn::IPreparedModel::ExecuteSynchronouslyWithConfig>(
                {.request = encode(mRequest),
                 .config = {.measureTiming = measure,
                            .loopTimeoutDurationNs = -1,
                            .executionHints = {{.token = 3, .value = {1}}},
                            .extensionNameToPrefix = {}},
                 .deadlineNs = -1});
        ASSERT_TRUE(answer.ok()) << answer.status().toString();
        EXPECT_EQ(answer->results.result.timing.timeInDriverNs >= 0, measure);
        EXPECT_LE(answer->results.result.timing.timeOnDeviceNs,
                  answer->results.result.timing.timeInDriverNs);
    }
}

TEST(AidlConversion, KeepsTheTwoTimesApart) {
    using std::chrono::nanoseconds;
    const driver::Timing timing = {.timeOnDevice = nanoseconds(3), .timeInDriver = nanoseconds(5)};
    EXPECT_EQ(encode(timing).timeOnDeviceNs, 3);
    EXPECT_EQ(encode(timing).timeInDriverNs, 5);
    EXPECT_EQ(decode(encode(timing)), timing);
    EXPECT_EQ(decode(encode(driver::Timing())), driver::Timing()) << "unknown ones stay unknown";
}

TEST_F(AidlDevices, RefuseNumbersThatMeanNothing) {
    const RemoteInterface model = prepared();
    using Method = nn::IPreparedModel::ExecuteSynchronously;
    const Method::Arguments right = {.request = encode(mRequest),
                                     .measureTiming = false,
                                     .deadlineNs = -1,
                                     .loopTimeoutDurationNs = -1};
    ASSERT_TRUE(model.call<Method>(right).ok());
    std::vector<Method::Arguments> wrong(6, right);
    wrong[0].deadlineNs = -2;
    wrong[1].loopTimeoutDurationNs = -2;
    wrong[2].request.inputs[0].location.poolIndex = -1;
    wrong[3].request.inputs[0].location.padding = -1;
    wrong[4].request.pools[0].value = 0;  // the token of no buffer
    wrong[5].request.pools[0].value = nn::Memory{
            .value = hardware::Ashmem{.fd = {.fd = mMemory->descriptor->get()}, .size = -1}};
    const size_t before = testing::openDescriptors();
    for (const Method::Arguments& arguments : wrong) {
        EXPECT_EQ(model.call<Method>(arguments).status().code(), StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_LE(testing::openDescriptors(), before);
}

TEST_F(AidlDevices, MapHardwareBuffersOfBytes) {
    const RemoteInterface model = prepared();
    using Method = nn::IPreparedModel::ExecuteSynchronously;
    Method::Arguments arguments = {.request = encode(mRequest),
                                   .measureTiming = false,
                                   .deadlineNs = -1,
                                   .loopTimeoutDurationNs = -1};
    constexpr int32_t kBlob = 33;
    graphics::HardwareBuffer buffer;
    buffer.description = {
            .width = 16, .height = 1, .layers = 1, .format = kBlob, .usage = 0, .stride = 16};
    const FileDescriptor other(open("/dev/null", O_RDWR | O_CLOEXEC));
    const BorrowedDescriptor blob = {.fd = mMemory->descriptor->get()};
    for (const std::vector<BorrowedDescriptor>& fds :
         {std::vector{blob}, std::vector{BorrowedDescriptor{.fd = other.get()}, blob}}) {
        buffer.handle.fds = fds;
        arguments.request.pools[0].value = nn::Memory{.value = buffer};
        const auto executed = model.call<Method>(arguments);
        EXPECT_TRUE(executed.ok()) << executed.status().toString();
        EXPECT_EQ(output(), (std::array<float, 2>{11.0F, 22.0F}));
        std::memset(mMemory->memory->map()->data() + 8, 0, 8);
    }
    buffer.description.format = 1;
    arguments.request.pools[0].value = nn::Memory{.value = buffer};
    EXPECT_FALSE(model.call<Method>(arguments).ok());
    buffer.description.format = kBlob;
    buffer.handle.fds.clear();
    arguments.request.pools[0].value = nn::Memory{.value = buffer};
    EXPECT_EQ(model.call<Method>(arguments).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AidlDevices, ComputeAnExecutionAgainAndAgain) {
    const RemoteInterface model = prepared();
    using Create = nn::IPreparedModel::CreateReusableExecution;
    const auto created = model.call<Create>({.request = encode(mRequest), .config = kPlain});
    ASSERT_TRUE(created.ok()) << created.status().toString();
    const auto execution = RemoteInterface::cast(mProcess, created->results.result,
                                                 nn::IExecution::info(), Release());
    ASSERT_TRUE(execution.ok()) << execution.status().toString();
    using Compute = nn::IExecution::ExecuteSynchronously;
    for (const float first : {1.0F, 5.0F}) {
        std::memcpy(mMemory->memory->map()->data(), &first, sizeof(first));
        const auto computed = execution->call<Compute>({.deadlineNs = -1});
        ASSERT_TRUE(computed.ok()) << computed.status().toString();
        EXPECT_EQ(output()[0], first + 10.0F);
    }
    EXPECT_EQ(execution->call<Compute>({.deadlineNs = 1}).status().code(),
              StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(execution->call<Compute>({.deadlineNs = -2}).status().code(),
              StatusCode::INVALID_ARGUMENT);
    const auto fenced = execution->call<nn::IExecution::ExecuteFenced>(
            {.waitFor = {}, .deadlineNs = -1, .durationNs = -1});
    ASSERT_TRUE(fenced.ok()) << fenced.status().toString();
    EXPECT_FALSE(isNull(fenced->results.result.callback));
    for (const auto& [deadline, duration] : {std::pair(-2, -1), std::pair(-1, -2)}) {
        EXPECT_EQ(execution
                          ->call<nn::IExecution::ExecuteFenced>(
                                  {.waitFor = {}, .deadlineNs = deadline, .durationNs = duration})
                          .status()
                          .code(),
                  StatusCode::INVALID_ARGUMENT);
    }
}

TEST_F(AidlDevices, AllocateNothingForNumbersThatMeanNothing) {
    static_cast<void>(prepared());
    using Allocate = nn::IDevice::Allocate;
    Allocate::Arguments arguments;
    arguments.preparedModels.push_back({.preparedModel = ObjectRef(mModel)});
    arguments.inputRoles.push_back({.modelIndex = 0, .ioIndex = 0, .probability = 1.0F});
    const auto codeOf = [&](const Allocate::Arguments& asked) {
        return mDevice->call<Allocate>(asked).status().code();
    };
    Allocate::Arguments wrong = arguments;
    wrong.desc.dimensions = {-1};
    EXPECT_EQ(codeOf(wrong), StatusCode::INVALID_ARGUMENT);
    wrong = arguments;
    wrong.inputRoles[0].modelIndex = -1;
    EXPECT_EQ(codeOf(wrong), StatusCode::INVALID_ARGUMENT);
    wrong = arguments;
    wrong.inputRoles[0].ioIndex = -1;
    EXPECT_EQ(codeOf(wrong), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AidlDevices, TakeExecutionsOfAsManyArgumentsAsTheModelHas) {
    using Create = nn::IPreparedModel::CreateReusableExecution;
    const RemoteInterface model = prepared();
    const auto create = [&](const driver::Request& request) {
        return model.call<Create>({.request = encode(request), .config = kPlain}).status().code();
    };
    EXPECT_EQ(create(mRequest), StatusCode::OK);
    for (auto* arguments : {&mRequest.inputs, &mRequest.outputs}) {
        const driver::RequestArgument argument = arguments->front();
        arguments->resize(3, argument);
        EXPECT_EQ(create(mRequest), StatusCode::INVALID_ARGUMENT);
        arguments->clear();
        EXPECT_EQ(create(mRequest), StatusCode::INVALID_ARGUMENT);
        arguments->push_back(argument);
    }
    mRequest.outputs[0].location.length = 1 << 20;
    EXPECT_EQ(create(mRequest), StatusCode::OK) << "the rest is found out by its computation";
}

TEST_F(AidlDevices, KeepOnlyMemoryThatHasAToken) {
    const RemoteInterface model = prepared();
    const auto made = model.call<nn::IPreparedModel::ConfigureExecutionBurst>({});
    ASSERT_TRUE(made.ok()) << made.status().toString();
    const auto burst =
            RemoteInterface::cast(mProcess, made->results.result, nn::IBurst::info(), Release());
    ASSERT_TRUE(burst.ok()) << burst.status().toString();
    using Execute = nn::IBurst::ExecuteSynchronously;
    const auto execute = [&](const nn::Request& request, std::vector<int64_t> tokens) {
        return burst
                ->call<Execute>({.request = request,
                                 .memoryIdentifierTokens = std::move(tokens),
                                 .measureTiming = false,
                                 .deadlineNs = -1,
                                 .loopTimeoutDurationNs = -1})
                .status()
                .code();
    };
    const nn::Request request = encode(mRequest);
    EXPECT_EQ(execute(request, {-1}), StatusCode::OK);
    EXPECT_EQ(account().mappings->reserved(), 0U) << "which is for one use";
    EXPECT_EQ(execute(request, {5}), StatusCode::OK);
    EXPECT_EQ(account().mappings->reserved(), 1U);
    for (const std::vector<int64_t>& tokens :
         {std::vector<int64_t>{-2}, std::vector<int64_t>{}, std::vector<int64_t>{5, 5}}) {
        EXPECT_EQ(execute(request, tokens), StatusCode::INVALID_ARGUMENT);
    }
    // An argument that is no memory can't be kept.
    nn::Request buffer = request;
    buffer.pools[0].value = 12345;
    EXPECT_EQ(execute(buffer, {5}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(execute(buffer, {6}), StatusCode::INVALID_ARGUMENT);
    using Create = nn::IPreparedModel::CreateReusableExecution;
    const auto created = model.call<Create>({.request = buffer, .config = kPlain});
    if (created.ok()) {
        const auto execution = RemoteInterface::cast(mProcess, created->results.result,
                                                     nn::IExecution::info(), Release());
        ASSERT_TRUE(execution.ok()) << execution.status().toString();
        EXPECT_FALSE(
                execution->call<nn::IExecution::ExecuteSynchronously>({.deadlineNs = -1}).ok());
    }
    nn::ExecutionConfig wrong = kPlain;
    wrong.loopTimeoutDurationNs = -2;
    EXPECT_EQ(model.call<Create>({.request = request, .config = wrong}).status().code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_F(AidlDevices, ChargeTheClientForWhatItKeeps) {
    const RemoteInterface model = prepared();
    const Budget& memory = *account().memory;
    const auto fenced = [&] {
        const auto answer =
                model.call<nn::IPreparedModel::ExecuteFenced>({.request = encode(mRequest),
                                                               .waitFor = {},
                                                               .measureTiming = false,
                                                               .deadlineNs = -1,
                                                               .loopTimeoutDurationNs = -1,
                                                               .durationNs = -1});
        ASSERT_TRUE(answer.ok()) << answer.status().toString();
    };
    fenced();  // what executions need stays
    size_t before = memory.reserved();
    const auto expectMore = [&](size_t bytes) {
        EXPECT_GE(memory.reserved(), before + bytes);
        before = memory.reserved();
    };
    fenced();
    expectMore(1024);
    ASSERT_TRUE(model.call<nn::IPreparedModel::ConfigureExecutionBurst>({}).ok());
    expectMore(1024);
    mRequest.inputs[0].dimensions.resize(1000);
    ASSERT_TRUE(model.call<nn::IPreparedModel::CreateReusableExecution>(
                             {.request = encode(mRequest), .config = kPlain})
                        .ok());
    expectMore(1024 + driver::footprintOf(mRequest));
    const size_t most = memory.reserved();
    mProcess->stop();
    EXPECT_LE(memory.reserved() + 3 * 1024 + driver::footprintOf(mRequest), most)
            << "what is let go of costs nothing";
}

TEST_F(AidlDevices, KeepNothingForWhomThereIsNoRoom) {
    const RemoteInterface model = prepared();
    const Budget& memory = *account().memory;
    const Result<Reservation> rest =
            Reservation::create(account().memory, memory.limit() - memory.reserved() - 512);
    ASSERT_TRUE(rest.ok()) << rest.status().toString();
    EXPECT_EQ(model.call<nn::IPreparedModel::ConfigureExecutionBurst>({}).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(model.call<nn::IPreparedModel::CreateReusableExecution>(
                           {.request = encode(mRequest), .config = kPlain})
                      .status()
                      .code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(AidlDevices, MapNothingForWhomTooManyCallsAreServed) {
    driver::Options options = testing::referenceOptions();
    options.calls = {.perClient = 1, .perGroup = 8, .shared = 8, .most = 8};
    mDriver = testing::serveDevice(mProcess, options).value().driver;
    const RemoteInterface model = prepared();
    using Create = nn::IPreparedModel::CreateReusableExecution;
    const Create::Arguments create = {.request = encode(mRequest), .config = kPlain};
    const auto made = model.call<nn::IPreparedModel::ConfigureExecutionBurst>({});
    ASSERT_TRUE(made.ok()) << made.status().toString();
    const auto burst =
            RemoteInterface::cast(mProcess, made->results.result, nn::IBurst::info(), Release());
    ASSERT_TRUE(burst.ok()) << burst.status().toString();
    using Execute = nn::IBurst::ExecuteSynchronously;
    const Execute::Arguments execute = {.request = encode(mRequest),
                                        .memoryIdentifierTokens = {1},
                                        .measureTiming = false,
                                        .deadlineNs = -1,
                                        .loopTimeoutDurationNs = -1};
    {
        const auto call =
                PreparedModelObject::modelOf(ObjectRef(mModel))->client()->shares().calls->enter();
        ASSERT_TRUE(call.ok());
        EXPECT_EQ(model.call<Create>(create).status().code(), StatusCode::RESOURCE_EXHAUSTED);
        EXPECT_EQ(burst->call<Execute>(execute).status().code(), StatusCode::RESOURCE_EXHAUSTED);
        EXPECT_EQ(account().mappings->reserved(), 0U);
    }
    EXPECT_TRUE(model.call<Create>(create).ok());
    EXPECT_TRUE(burst->call<Execute>(execute).ok());
}

TEST_F(AidlDevices, KeepMemoryForWhichNoDescriptorIsLeft) {
    const RemoteInterface model = prepared();
    const Budget& descriptors = *account().descriptors;
    const Result<Reservation> all = Reservation::create(
            account().descriptors, descriptors.limit() - descriptors.reserved());
    ASSERT_TRUE(all.ok()) << all.status().toString();
    const auto created = model.call<nn::IPreparedModel::CreateReusableExecution>(
            {.request = encode(mRequest), .config = kPlain});
    ASSERT_TRUE(created.ok()) << created.status().toString();
    const auto execution = RemoteInterface::cast(mProcess, created->results.result,
                                                 nn::IExecution::info(), Release());
    ASSERT_TRUE(execution.ok()) << execution.status().toString();
    for (int i = 0; i < 2; ++i) {
        const auto computed =
                execution->call<nn::IExecution::ExecuteSynchronously>({.deadlineNs = -1});
        EXPECT_TRUE(computed.ok()) << computed.status().toString();
    }
    EXPECT_EQ(output(), (std::array<float, 2>{11.0F, 22.0F}));
}

TEST_F(AidlDevices, SayOnceThatAnExecutionsHintsAreIgnored) {
    static std::atomic<int> said;
    said = 0;
    const RemoteInterface model = prepared();
    setLogThreshold(LogLevel::VERBOSE);
    setLogSink([](LogLevel, std::string_view line) {
        said += line.find("hints are ignored") != std::string_view::npos ? 1 : 0;
    });
    nn::ExecutionConfig config = kPlain;
    config.executionHints = {{.token = 3, .value = std::vector<uint8_t>(1000)}};
    const auto created = model.call<nn::IPreparedModel::CreateReusableExecution>(
            {.request = encode(mRequest), .config = config});
    const auto execution = RemoteInterface::cast(mProcess, created->results.result,
                                                 nn::IExecution::info(), Release());
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(execution->call<nn::IExecution::ExecuteSynchronously>({.deadlineNs = -1}).ok());
    }
    setLogSink(nullptr);
    setLogThreshold(LogLevel::ERROR);
    EXPECT_EQ(said, 1);
}

TEST_F(AidlDevices, TellOfAFailureInBriefAndInWholeCharacters) {
    for (const char* beginning : {"", "x"}) {
        auto model = encode(addModel());
        std::string name = beginning;
        for (int i = 0; i < 2000; ++i) {
            name += "\u00e9";
        }
        model.extensionNameToPrefix = {{.name = name, .prefix = 1}, {.name = name, .prefix = 2}};
        const Status refused =
                mDevice->call<nn::IDevice::GetSupportedOperations>({.model = model}).status();
        EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_LE(refused.message().size(), 600U);
        EXPECT_NE(refused.message().find("\u00e9"), std::string::npos);
        EXPECT_EQ(refused.message().find("\ufffd"), std::string::npos) << "half a character";
    }
}

TEST_F(AidlDevices, CountTimeFromTheBoot) {
    timespec now = {};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const int64_t inASecond = (int64_t{now.tv_sec} + 1) * 1'000'000'000 + now.tv_nsec;
    const Result<Deadline> deadline = decodeDeadline(inASecond);
    ASSERT_TRUE(deadline.ok());
    const auto left = **deadline - std::chrono::steady_clock::now();
    EXPECT_LE(left, std::chrono::seconds(1));
    EXPECT_GT(left, std::chrono::milliseconds(0));
    EXPECT_LE(std::abs(encodeDeadline(*deadline) - inASecond), 1'000'000'000);
    EXPECT_FALSE(decodeDeadline(-1)->has_value());
    EXPECT_TRUE(decodeDeadline(std::numeric_limits<int64_t>::max()).ok());
    EXPECT_FALSE(decodeDeadline(-2).ok());
}

}  // namespace
}  // namespace halyard::hal::aidl
