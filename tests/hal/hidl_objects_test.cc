// SPDX-License-Identifier: Apache-2.0
//
// A client's calls and their answers, in each HAL version.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "hal/hidl/types.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_objects_fixture.h"

namespace halyard::hal {

namespace {

using driver::ErrorStatus;
using driver::Timing;
using hidl::nn::v1_3::IDevice;
using testing::addModel;
using testing::addRequest;
using testing::allVersions;
using testing::HidlClient;
using testing::HidlObjects;
using testing::Notification;
using testing::RecordingCallback;
using testing::VersionMethods;

driver::Model invalidModel() {
    driver::Model model = addModel();
    model.main.operations[0].inputs[1] = 99;
    return model;
}

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
        EXPECT_EQ(executed.timing.timeInDriver, std::nullopt);
        EXPECT_EQ(executions->count(), 1U);
    }
}

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
        EXPECT_EQ(execution->timing.timeOnDevice, std::nullopt);
        EXPECT_EQ(execution->timing.timeInDriver, std::nullopt);
        EXPECT_EQ(output(), (std::array{11.0F, 22.0F}));
    }
}

TEST_F(HidlObjects, MeasureWhenAsked) {
    Result<HidlClient::Execution> execution = client(newest()).executeSynchronously(
            prepared(newest()), addRequest(), mPools, {.measureTiming = true, .deadline = {}});
    ASSERT_TRUE(execution.ok());
    EXPECT_NE(execution->timing.timeInDriver, std::nullopt);
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
    const Deadline past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    auto models = RecordingCallback::forModels();
    driver::PrepareOptions options;
    options.deadline = past;
    EXPECT_EQ(*client(newest()).prepare(addModel(), models, options), ErrorStatus::NONE);
    EXPECT_EQ(models->wait().status, ErrorStatus::MISSED_DEADLINE_PERSISTENT);
    auto executions = RecordingCallback::forExecutions();
    EXPECT_EQ(*client(newest()).execute(prepared(newest()), addRequest(), mPools, executions,
                                        {.measureTiming = false, .deadline = past}),
              ErrorStatus::NONE);
    EXPECT_EQ(executions->wait().status, ErrorStatus::MISSED_DEADLINE_PERSISTENT);
}

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
    ASSERT_EQ((*extensions)->count, 1U);
    const hidl::nn::v1_2::Extension& extension = (*extensions)->view()[0];
    EXPECT_EQ(extension.name.view(), "com.halyard.activation");
    ASSERT_EQ(extension.operandTypes.count, 1U);
    EXPECT_EQ(extension.operandTypes.view()[0].byteSize, 4U);
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

}  // namespace

}  // namespace halyard::hal
