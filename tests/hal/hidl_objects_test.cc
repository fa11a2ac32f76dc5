// SPDX-License-Identifier: Apache-2.0
//
// IDevice and IPreparedModel as a client sees them, in each HAL version.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "engine/base/log.h"
#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_client.h"
#include "tests/hal/loopback.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {

namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using driver::Timing;
using hidl::nn::v1_3::IDevice;
using hidl::nn::v1_3::IPreparedModel;
using testing::addModel;
using testing::addRequest;
using testing::allVersions;
using testing::callMethod;
using testing::HidlClient;
using testing::LoopbackProcess;
using testing::Notification;
using testing::openDescriptors;
using testing::RecordingCallback;
using testing::VersionMethods;

driver::Model invalidModel() {
    driver::Model model = addModel();
    model.main.operations[0].inputs[1] = 99;
    return model;
}

class HidlObjects : public ::testing::Test {
  protected:
    // Most tests are about refusals, each of which is logged.
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void SetUp() override {
        driver::Options options;
        options.backends = {"CpuRef"};
        options.threads = 1;
        Result<std::unique_ptr<driver::Device>> device = driver::Device::create(options);
        ASSERT_TRUE(device.ok()) << device.status().toString();
        mDriver = std::move(*device);
        Result<std::shared_ptr<LocalObject>> object = makeDeviceObject(mProcess, mDriver);
        ASSERT_TRUE(object.ok()) << object.status().toString();
        mDevice = *object;
        Result<ExportedMemory> memory = createSharedMemory(16);
        ASSERT_TRUE(memory.ok()) << memory.status().toString();
        mPools.push_back(std::move(*memory));
        setInput({1.0F, 2.0F});
    }
    void TearDown() override { mProcess->stop(); }

    HidlClient client(const VersionMethods& methods) { return {*mProcess, mDevice, methods}; }
    static const VersionMethods& newest() { return allVersions().back(); }

    void setInput(const std::array<float, 2>& values) {
        std::memcpy(mPools[0].memory->map()->data(), values.data(), sizeof(values));
    }
    std::array<float, 2> output() {
        std::array<float, 2> values = {};
        std::memcpy(values.data(), mPools[0].memory->map()->data() + 8, sizeof(values));
        return values;
    }
    // An IPreparedModel, prepared through that version.
    ObjectRef prepared(const VersionMethods& methods) {
        auto callback = RecordingCallback::forModels();
        Result<ErrorStatus> status = client(methods).prepare(addModel(), callback);
        EXPECT_TRUE(status.ok()) << status.status().toString();
        return callback->wait().model;
    }
    Result<std::unique_ptr<Reply>> callDevice(uint32_t code,
                                              const testing::WriteArguments& arguments = {}) {
        return callMethod(
                *mProcess, mDevice, IDevice::layout(), code,
                arguments ? arguments : [](ParcelWriter&) {});
    }
    Result<ErrorStatus> statusOf(uint32_t code, const testing::WriteArguments& arguments = {}) {
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply, callDevice(code, arguments));
        return hidl::readEnum<ErrorStatus>(reply->reader());
    }

    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<driver::Device> mDriver;
    std::shared_ptr<LocalObject> mDevice;
    std::vector<ExportedMemory> mPools;
};

// ---- the main path, in each version -------------------------------------------------------------

TEST_F(HidlObjects, SupportPrepareAndExecuteInEveryVersion) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        HidlClient client = this->client(methods);
        Result<HidlClient::Support> support = client.supportedOperations(addModel());
        ASSERT_TRUE(support.ok()) << support.status().toString();
        EXPECT_EQ(support->status, ErrorStatus::NONE);
        EXPECT_EQ(support->operations, std::vector<bool>{true});

        auto models = RecordingCallback::forModels();
        Result<ErrorStatus> launched = client.prepare(addModel(), models);
        ASSERT_TRUE(launched.ok()) << launched.status().toString();
        EXPECT_EQ(*launched, ErrorStatus::NONE);
        Notification prepared = models->wait();
        EXPECT_EQ(prepared.code, methods.notifyPrepared);
        EXPECT_EQ(prepared.status, ErrorStatus::NONE);
        ASSERT_FALSE(isNull(prepared.model));

        const auto add = static_cast<float>(methods.version);
        setInput({add, 2 * add});
        auto executions = RecordingCallback::forExecutions();
        launched = client.execute(prepared.model, addRequest(), mPools, executions);
        ASSERT_TRUE(launched.ok()) << launched.status().toString();
        EXPECT_EQ(*launched, ErrorStatus::NONE);
        Notification executed = executions->wait();
        EXPECT_EQ(executed.code, methods.notifyExecuted);
        EXPECT_EQ(executed.status, ErrorStatus::NONE);
        EXPECT_EQ(output(), (std::array{10.0F + add, 20.0F + 2 * add}));
        EXPECT_EQ(models->count(), 1U);
        EXPECT_EQ(executions->count(), 1U);
    }
}

TEST_F(HidlObjects, ReportInvalidModelOnceAndReturnIt) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        HidlClient client = this->client(methods);
        Result<HidlClient::Support> support = client.supportedOperations(invalidModel());
        ASSERT_TRUE(support.ok());
        EXPECT_EQ(support->status, ErrorStatus::INVALID_ARGUMENT);
        EXPECT_TRUE(support->operations.empty());

        auto models = RecordingCallback::forModels();
        Result<ErrorStatus> launched = client.prepare(invalidModel(), models);
        ASSERT_TRUE(launched.ok());
        EXPECT_EQ(*launched, ErrorStatus::INVALID_ARGUMENT);
        Notification prepared = models->wait();
        EXPECT_EQ(prepared.code, methods.notifyPrepared);
        EXPECT_EQ(prepared.status, ErrorStatus::INVALID_ARGUMENT);
        EXPECT_TRUE(isNull(prepared.model));
        EXPECT_EQ(models->count(), 1U);
    }
}

TEST_F(HidlObjects, ReportInvalidRequestOnceAndReturnIt) {
    driver::Request request = addRequest();
    request.inputs[0].location.length = 1000;
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        auto executions = RecordingCallback::forExecutions();
        Result<ErrorStatus> launched =
                client(methods).execute(prepared(methods), request, mPools, executions);
        ASSERT_TRUE(launched.ok()) << launched.status().toString();
        EXPECT_EQ(*launched, ErrorStatus::INVALID_ARGUMENT);
        Notification executed = executions->wait();
        EXPECT_EQ(executed.status, ErrorStatus::INVALID_ARGUMENT);
        EXPECT_TRUE(executed.shapes.empty());
        EXPECT_EQ(executed.timing.timeInDriver, Timing::kUnknown);
        EXPECT_EQ(executions->count(), 1U);
    }
}

TEST_F(HidlObjects, RefuseNullCallbacks) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        EXPECT_EQ(*client(methods).prepare(addModel(), nullptr), ErrorStatus::INVALID_ARGUMENT);
        EXPECT_EQ(*client(methods).execute(prepared(methods), addRequest(), mPools, nullptr),
                  ErrorStatus::INVALID_ARGUMENT);
    }
}

TEST_F(HidlObjects, DoNotMissDeadClients) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        ObjectRef model = prepared(methods);
        auto models = RecordingCallback::forModels();
        auto executions = RecordingCallback::forExecutions();
        mProcess->kill(models);
        mProcess->kill(executions);
        EXPECT_TRUE(client(methods).prepare(addModel(), models).ok());
        EXPECT_TRUE(client(methods).execute(model, addRequest(), mPools, executions).ok());
        // Still serving.
        EXPECT_FALSE(isNull(prepared(methods)));
        EXPECT_EQ(models->count(), 0U);
    }
}

TEST_F(HidlObjects, EndTheAccountOfAClientThatDiesAfterItHasPrepared) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        auto models = RecordingCallback::forModels();
        ASSERT_TRUE(client(methods).prepare(addModel(), models).ok());
        const ObjectRef model = models->wait().model;
        ASSERT_FALSE(isNull(model));
        const std::shared_ptr<driver::Client> account =
                mDriver->client({.pid = mProcess->caller.pid, .uid = mProcess->caller.euid});
        EXPECT_TRUE(account->alive().ok());
        mProcess->kill(models);
        EXPECT_EQ(account->alive().code(), StatusCode::UNAVAILABLE);
    }
}

// ---- from 1.2: synchronous execution, shapes, timing --------------------------------------------

TEST_F(HidlObjects, ExecuteSynchronously) {
    for (const VersionMethods& methods : allVersions().subspan(2)) {
        SCOPED_TRACE(toString(methods.version));
        Result<HidlClient::Execution> execution =
                client(methods).executeSynchronously(prepared(methods), addRequest(), mPools);
        ASSERT_TRUE(execution.ok()) << execution.status().toString();
        EXPECT_EQ(execution->status, ErrorStatus::NONE);
        ASSERT_EQ(execution->shapes.size(), 1U);
        EXPECT_EQ(execution->shapes[0].dimensions, std::vector<uint32_t>{2});
        EXPECT_TRUE(execution->shapes[0].isSufficient);
        EXPECT_EQ(execution->timing.timeOnDevice, Timing::kUnknown);
        EXPECT_EQ(execution->timing.timeInDriver, Timing::kUnknown);
        EXPECT_EQ(output(), (std::array{11.0F, 22.0F}));
    }
}

TEST_F(HidlObjects, MeasureWhenAsked) {
    Result<HidlClient::Execution> execution = client(newest()).executeSynchronously(
            prepared(newest()), addRequest(), mPools, {.measureTiming = true, .deadline = {}});
    ASSERT_TRUE(execution.ok());
    EXPECT_NE(execution->timing.timeInDriver, Timing::kUnknown);
    EXPECT_LE(execution->timing.timeOnDevice, execution->timing.timeInDriver);
}

TEST_F(HidlObjects, TellShapesOfOutputsThatAreTooSmall) {
    driver::Request request = addRequest();
    request.outputs[0].location.length = 4;
    for (const VersionMethods& methods : allVersions().subspan(2)) {
        SCOPED_TRACE(toString(methods.version));
        Result<HidlClient::Execution> execution =
                client(methods).executeSynchronously(prepared(methods), request, mPools);
        ASSERT_TRUE(execution.ok());
        EXPECT_EQ(execution->status, ErrorStatus::OUTPUT_INSUFFICIENT_SIZE);
        ASSERT_EQ(execution->shapes.size(), 1U);
        EXPECT_FALSE(execution->shapes[0].isSufficient);
        EXPECT_EQ(execution->shapes[0].dimensions, std::vector<uint32_t>{2});
    }
}

TEST_F(HidlObjects, NotifyPassedDeadlinesAndReturnNone) {
    const driver::TimePoint past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    auto models = RecordingCallback::forModels();
    driver::PrepareOptions options;
    options.deadline = past;
    EXPECT_EQ(*client(newest()).prepare(addModel(), models, options), ErrorStatus::NONE);
    EXPECT_EQ(models->wait().status, ErrorStatus::MISSED_DEADLINE_TRANSIENT);
    auto executions = RecordingCallback::forExecutions();
    EXPECT_EQ(*client(newest()).execute(prepared(newest()), addRequest(), mPools, executions,
                                        {.measureTiming = false, .deadline = past}),
              ErrorStatus::NONE);
    EXPECT_EQ(executions->wait().status, ErrorStatus::MISSED_DEADLINE_TRANSIENT);
}

TEST_F(HidlObjects, RefuseUnknownPreferenceAndPriority) {
    driver::PrepareOptions preference;
    // What clients may send: NOLINTBEGIN(clang-analyzer-optin.core.EnumCastOutOfRange)
    preference.preference = static_cast<driver::ExecutionPreference>(17);
    driver::PrepareOptions priority;
    priority.priority = static_cast<driver::Priority>(-1);
    // NOLINTEND(clang-analyzer-optin.core.EnumCastOutOfRange)
    for (const driver::PrepareOptions& options : {preference, priority}) {
        auto models = RecordingCallback::forModels();
        EXPECT_EQ(*client(newest()).prepare(addModel(), models, options),
                  ErrorStatus::INVALID_ARGUMENT);
        EXPECT_EQ(models->wait().status, ErrorStatus::INVALID_ARGUMENT);
    }
}

// ---- simple getters -----------------------------------------------------------------------------

TEST_F(HidlObjects, AnswerGetters) {
    Result<std::unique_ptr<Reply>> reply = callDevice(IDevice::getStatus);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(*hidl::readEnum<hidl::nn::v1_0::DeviceStatus>((*reply)->reader()),
              hidl::nn::v1_0::DeviceStatus::AVAILABLE);

    reply = callDevice(IDevice::getVersionString);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(*(*reply)->reader().readInt32(), 0);
    Result<const hidl::HidlString*> version = hidl::readValue<hidl::HidlString>((*reply)->reader());
    ASSERT_TRUE(version.ok());
    EXPECT_EQ((*version)->view(), mDriver->versionString());

    reply = callDevice(IDevice::getType);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(*(*reply)->reader().readInt32(), 0);
    EXPECT_EQ(*hidl::readEnum<hidl::nn::v1_2::DeviceType>((*reply)->reader()),
              hidl::nn::v1_2::DeviceType::CPU);

    reply = callDevice(IDevice::getSupportedExtensions);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(*(*reply)->reader().readInt32(), 0);
    Result<const hidl::HidlVec<hidl::nn::v1_2::Extension>*> extensions =
            hidl::readValue<hidl::HidlVec<hidl::nn::v1_2::Extension>>((*reply)->reader());
    ASSERT_TRUE(extensions.ok());
    EXPECT_EQ((*extensions)->count, 0U);
}

TEST_F(HidlObjects, AnswerCapabilitiesInEveryVersion) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        Result<std::unique_ptr<Reply>> reply = callDevice(methods.getCapabilities);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(*(*reply)->reader().readInt32(), 0);
        const hidl::MethodLayout* method =
                hidl::findMethod(IDevice::layout(), methods.getCapabilities);
        ASSERT_NE(method, nullptr);
        EXPECT_TRUE(hidl::readValue((*reply)->reader(), *method->results[1].type).ok());
        EXPECT_EQ((*reply)->reader().remaining(), 0U);
    }
}

// ---- what Halyard does not have -----------------------------------------------------------------

void writeCacheArguments(ParcelWriter& writer, const NativeHandle& file) {
    const std::vector<hidl::HidlHandle> files = {hidl::makeHandle(writer, file)};
    hidl::writeValue(writer, hidl::makeVec(writer, files));
    hidl::writeValue(writer, hidl::makeVec(writer, files));
    hidl::writeValue(writer, std::array<uint8_t, 32>{1, 2, 3});
}

TEST_F(HidlObjects, NeedNoCacheFiles) {
    Result<std::unique_ptr<Reply>> reply = callDevice(IDevice::getNumberOfCacheFilesNeeded);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(*(*reply)->reader().readInt32(), 0);
    EXPECT_EQ(*(*reply)->reader().readUint32(), 0U);
    EXPECT_EQ(*(*reply)->reader().readUint32(), 0U);
}

TEST_F(HidlObjects, PrepareDespiteCacheArguments) {
    auto models = RecordingCallback::forModels();
    const driver::Model model = addModel();
    Result<ErrorStatus> status = statusOf(IDevice::prepareModel_1_2, [&](ParcelWriter& writer) {
        hidl::versionDelta(HalVersion::V1_2).writeModel(writer, model, {});
        hidl::writeEnum(writer, driver::ExecutionPreference::LOW_POWER);
        writeCacheArguments(writer, mPools[0].handle);
        writer.writeObject(ObjectRef(models));
    });
    ASSERT_TRUE(status.ok()) << status.status().toString();
    EXPECT_EQ(*status, ErrorStatus::NONE);
    EXPECT_EQ(models->wait().status, ErrorStatus::NONE);
}

TEST_F(HidlObjects, HaveNothingInTheCache) {
    auto models = RecordingCallback::forModels();
    EXPECT_EQ(*statusOf(IDevice::prepareModelFromCache,
                        [&](ParcelWriter& writer) {
                            writeCacheArguments(writer, mPools[0].handle);
                            writer.writeObject(ObjectRef(models));
                        }),
              ErrorStatus::GENERAL_FAILURE);
    Notification notification = models->wait();
    EXPECT_EQ(notification.code, hidl::nn::v1_3::IPreparedModelCallback::notify_1_2);
    EXPECT_EQ(notification.status, ErrorStatus::GENERAL_FAILURE);
    EXPECT_TRUE(isNull(notification.model));

    models = RecordingCallback::forModels();
    EXPECT_EQ(*statusOf(IDevice::prepareModelFromCache_1_3,
                        [&](ParcelWriter& writer) {
                            hidl::writeValue(writer, hidl::nn::v1_3::OptionalTimePoint());
                            writeCacheArguments(writer, mPools[0].handle);
                            writer.writeObject(ObjectRef(models));
                        }),
              ErrorStatus::GENERAL_FAILURE);
    EXPECT_EQ(models->wait().code, hidl::nn::v1_3::IPreparedModelCallback::notify_1_3);
    EXPECT_EQ(*statusOf(IDevice::prepareModelFromCache,
                        [&](ParcelWriter& writer) {
                            writeCacheArguments(writer, mPools[0].handle);
                            writer.writeObject({});
                        }),
              ErrorStatus::INVALID_ARGUMENT);
}

TEST_F(HidlObjects, AllocateNoBuffers) {
    const std::vector<ObjectRef> models = {prepared(newest())};
    Result<std::unique_ptr<Reply>> reply = callDevice(IDevice::allocate, [&](ParcelWriter& writer) {
        hidl::writeValue(writer, hidl::nn::v1_3::BufferDesc());
        hidl::writeObjects(writer, models);
        const std::vector<hidl::nn::v1_3::BufferRole> roles(1);
        hidl::writeValue(writer, hidl::makeVec(writer, roles));
        hidl::writeValue(writer, hidl::HidlVec<hidl::nn::v1_3::BufferRole>());
    });
    ASSERT_TRUE(reply.ok()) << reply.status().toString();
    EXPECT_EQ(*hidl::readEnum<ErrorStatus>((*reply)->reader()), ErrorStatus::GENERAL_FAILURE);
    EXPECT_TRUE(isNull(*(*reply)->reader().readObject()));
    EXPECT_EQ(*(*reply)->reader().readUint32(), 0U);
}

TEST_F(HidlObjects, ConfigureNoBursts) {
    std::shared_ptr<LocalObject> model = served(*mProcess, prepared(newest()));
    for (bool null : {true, false}) {
        Result<std::unique_ptr<Reply>> reply = callMethod(
                *mProcess, model, IPreparedModel::layout(), IPreparedModel::configureExecutionBurst,
                [&](ParcelWriter& writer) {
                    writer.writeObject(null ? ObjectRef()
                                            : ObjectRef(RecordingCallback::forModels()));
                    hidl::HidlFmq<hidl::nn::v1_2::FmqRequestDatum> requests;
                    requests.handleAddress = hidl::makeHandle(writer, {}).address;
                    hidl::writeValue(writer, requests);
                    hidl::writeValue(writer, hidl::HidlFmq<hidl::nn::v1_2::FmqResultDatum>());
                });
        ASSERT_TRUE(reply.ok()) << reply.status().toString();
        EXPECT_EQ(*hidl::readEnum<ErrorStatus>((*reply)->reader()),
                  null ? ErrorStatus::INVALID_ARGUMENT : ErrorStatus::GENERAL_FAILURE);
        EXPECT_TRUE(isNull(*(*reply)->reader().readObject()));
    }
}

TEST_F(HidlObjects, ExecuteNothingFencedAndSayWhatIsInvalidFirst) {
    std::shared_ptr<LocalObject> model = served(*mProcess, prepared(newest()));
    const auto answer = [&](const driver::Request& request, size_t nullFences,
                            const driver::TimePoint& deadline) {
        Result<std::unique_ptr<Reply>> reply = callMethod(
                *mProcess, model, IPreparedModel::layout(), IPreparedModel::executeFenced,
                [&](ParcelWriter& writer) {
                    std::vector<hidl::HidlMemory> memories;
                    for (const ExportedMemory& pool : mPools) {
                        memories.push_back(hidl::makeMemory(writer, pool.memory->name(),
                                                            pool.handle, pool.memory->size()));
                    }
                    hidl::versionDelta(HalVersion::V1_3).writeRequest(writer, request, memories);
                    const std::vector<hidl::HidlHandle> fences(nullFences);
                    hidl::writeValue(writer, hidl::makeVec(writer, fences));
                    writer.writeInt32(0);
                    hidl::nn::v1_3::OptionalTimePoint time;
                    hidl::nn::v1_3::encode(writer, deadline, time);
                    hidl::writeValue(writer, time);
                    hidl::writeValue(writer, hidl::nn::v1_3::OptionalTimeoutDuration());
                    hidl::writeValue(writer, hidl::nn::v1_3::OptionalTimeoutDuration());
                });
        EXPECT_TRUE(reply.ok()) << reply.status().toString();
        const ErrorStatus status = *hidl::readEnum<ErrorStatus>((*reply)->reader());
        EXPECT_FALSE(hidl::readNativeHandle((*reply)->reader())->valid);
        EXPECT_TRUE(isNull(*(*reply)->reader().readObject()));
        return status;
    };
    const driver::Request request = addRequest();
    const driver::TimePoint passed = std::chrono::steady_clock::time_point();
    EXPECT_EQ(answer(request, 0, std::nullopt), ErrorStatus::GENERAL_FAILURE);
    EXPECT_EQ(answer({}, 0, std::nullopt), ErrorStatus::INVALID_ARGUMENT);
    EXPECT_EQ(answer(request, 1, std::nullopt), ErrorStatus::INVALID_ARGUMENT);
    EXPECT_EQ(answer(request, 0, passed), ErrorStatus::MISSED_DEADLINE_TRANSIENT);
    EXPECT_EQ(answer({}, 0, passed), ErrorStatus::INVALID_ARGUMENT);
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

// ---- bad clients --------------------------------------------------------------------------------

TEST_F(HidlObjects, SurviveDamagedRequests) {
    const uint32_t seed = std::random_device()();
    std::cout << "seed " << seed << "\n" << std::flush;
    std::mt19937 random(seed);
    auto below = [&](size_t limit) { return static_cast<size_t>(random()) % limit; };
    std::shared_ptr<LocalObject> model = served(*mProcess, prepared(newest()));
    for (const VersionMethods& methods : allVersions()) {
        HidlClient client = this->client(methods);
        ParcelWriter prepare;
        hidl::writeRequestHead(prepare, IDevice::layout(), methods.prepareModel);
        client.writePrepare(prepare, addModel(), ObjectRef(RecordingCallback::forModels()), {});
        ParcelWriter execute;
        hidl::writeRequestHead(execute, IPreparedModel::layout(), methods.execute);
        client.writeExecute(execute, addRequest(), mPools, {});
        execute.writeObject(ObjectRef(RecordingCallback::forExecutions()));
        for (int round = 0; round < 500; ++round) {
            const bool preparing = round % 2 == 0;
            testing::SentParcel sent = testing::capture(preparing ? prepare : execute);
            for (size_t changes = 1 + below(3); changes > 0; --changes) {
                std::vector<uint8_t>* buffer = sent.buffer(below(sent.buffers.size() + 1));
                std::vector<uint8_t>& bytes = buffer == nullptr ? sent.data : *buffer;
                if (!bytes.empty()) {
                    bytes[below(bytes.size())] = static_cast<uint8_t>(random());
                }
            }
            if (below(4) == 0) {
                sent.data.resize(below(sent.data.size()));
            }
            Result<LoopbackProcess::Answer> answer =
                    mProcess->call(preparing ? mDevice : model,
                                   preparing ? methods.prepareModel : methods.execute, false, sent);
            EXPECT_TRUE(answer.ok() || answer.status().code() == StatusCode::INVALID_ARGUMENT);
        }
    }
    EXPECT_FALSE(isNull(prepared(newest())));
}

// Methods without arguments read nothing, but may be sent something all the same.
TEST_F(HidlObjects, RefuseWhatFollowsTheLastArgument) {
    const size_t before = openDescriptors();
    for (const hidl::MethodLayout& method : IDevice::layout().methods) {
        if (!method.arguments.empty() || method.oneway) {
            continue;
        }
        SCOPED_TRACE(method.name);
        const auto answer = [&](void (*write)(ParcelWriter&)) {
            ParcelWriter writer;
            hidl::writeRequestHead(writer, IDevice::layout(), method.code);
            write(writer);
            return mProcess->call(mDevice, method.code, false, testing::capture(writer))->status;
        };
        EXPECT_EQ(answer([](ParcelWriter&) {}), WireStatus::OK);
        EXPECT_EQ(answer([](ParcelWriter& writer) { writer.writeInt32(0); }),
                  WireStatus::BAD_VALUE);
        EXPECT_EQ(answer([](ParcelWriter& writer) {
                      for (int i = 0; i < 254; ++i) {
                          writer.writeDescriptor(0);
                      }
                  }),
                  WireStatus::BAD_VALUE);
    }
    EXPECT_EQ(openDescriptors(), before);
}

TEST_F(HidlObjects, StartNothingForACallWithTrailingBytes) {
    const ObjectRef model = prepared(newest());
    const HidlClient client = this->client(newest());
    const auto refused = [&](const std::shared_ptr<LocalObject>& object, uint32_t code,
                             const hidl::InterfaceLayout& layout,
                             const testing::WriteArguments& arguments) {
        ParcelWriter writer;
        hidl::writeRequestHead(writer, layout, code);
        arguments(writer);
        EXPECT_EQ(mProcess->call(object, code, false, testing::capture(writer))->status,
                  WireStatus::OK);
        writer.writeInt32(0);
        EXPECT_EQ(mProcess->call(object, code, false, testing::capture(writer))->status,
                  WireStatus::BAD_VALUE);
    };
    const auto models = RecordingCallback::forModels();
    refused(mDevice, newest().prepareModel, IDevice::layout(), [&](ParcelWriter& writer) {
        client.writePrepare(writer, addModel(), ObjectRef(models), {});
    });
    const auto executions = RecordingCallback::forExecutions();
    refused(served(*mProcess, model), newest().execute, IPreparedModel::layout(),
            [&](ParcelWriter& writer) {
                client.writeExecute(writer, addRequest(), mPools, {});
                writer.writeObject(ObjectRef(executions));
            });
    refused(mDevice, newest().getSupportedOperations, IDevice::layout(), [&](ParcelWriter& writer) {
        hidl::versionDelta(newest().version).writeModel(writer, addModel(), {});
    });
    refused(served(*mProcess, model), IPreparedModel::executeSynchronously_1_3,
            IPreparedModel::layout(),
            [&](ParcelWriter& writer) { client.writeExecute(writer, addRequest(), mPools, {}); });
    models->wait();
    executions->wait();
    EXPECT_EQ(models->count(), 1U);
    EXPECT_EQ(executions->count(), 1U);
}

TEST_F(HidlObjects, KeepNoDescriptorsOfClientsThatAreGone) {
    prepared(newest());
    const size_t before = openDescriptors();
    for (int round = 0; round < 3; ++round) {
        Result<HidlClient::Execution> execution =
                client(newest()).executeSynchronously(prepared(newest()), addRequest(), mPools);
        ASSERT_TRUE(execution.ok());
    }
    EXPECT_EQ(openDescriptors(), before);
}

}  // namespace

}  // namespace halyard::hal
