// SPDX-License-Identifier: Apache-2.0
//
// Clients that send what they should not, or die.

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "hal/hidl/types.h"
#include "hal/hidl/version_delta.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_objects_fixture.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {

namespace {

using driver::ErrorStatus;
using hidl::nn::v1_3::IDevice;
using hidl::nn::v1_3::IPreparedModel;
using testing::addModel;
using testing::addRequest;
using testing::allVersions;
using testing::HidlClient;
using testing::HidlObjects;
using testing::LoopbackProcess;
using testing::openDescriptors;
using testing::RecordingCallback;
using testing::VersionMethods;

TEST_F(HidlObjects, RefuseNullCallbacks) {
    for (const VersionMethods& methods : allVersions()) {
        SCOPED_TRACE(toString(methods.version));
        EXPECT_EQ(*client(methods).prepare(addModel(), nullptr), ErrorStatus::INVALID_ARGUMENT);
        EXPECT_EQ(*client(methods).execute(prepared(methods), addRequest(), mPools, nullptr),
                  ErrorStatus::INVALID_ARGUMENT);
    }
}

TEST_F(HidlObjects, RefuseUnknownPreferenceAndPriority) {
    driver::PrepareOptions preference;
    // Values that clients may send: NOLINTBEGIN(clang-analyzer-optin.core.EnumCastOutOfRange)
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
    EXPECT_LE(openDescriptors(), before) << "others may still be closed that were there before";
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
    EXPECT_LE(openDescriptors(), before) << "others may still be closed that were there before";
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
                mDriver->client({.pid = mProcess->caller.pid, .uid = mProcess->caller.euid})
                        .value();
        EXPECT_TRUE(account->alive().ok());
        mProcess->kill(models);
        EXPECT_EQ(account->alive().code(), StatusCode::UNAVAILABLE);
    }
}

TEST_F(HidlObjects, TellAProcessThatItsUserHasTooManyAccounts) {
    std::vector<std::shared_ptr<driver::Client>> others;
    for (int32_t pid = 1; pid <= 64; ++pid) {
        others.push_back(mDriver->client({.pid = pid, .uid = mProcess->caller.euid}).value());
    }
    const auto models = RecordingCallback::forModels();
    EXPECT_EQ(client(newest()).prepare(addModel(), models).value(),
              ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT);
    EXPECT_EQ(models->wait().status, ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT);
    EXPECT_EQ(models->count(), 1U);
    EXPECT_EQ(client(newest()).supportedOperations(addModel())->status,
              ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT);
    others.pop_back();
    EXPECT_FALSE(isNull(prepared(newest())));
}

}  // namespace

}  // namespace halyard::hal
