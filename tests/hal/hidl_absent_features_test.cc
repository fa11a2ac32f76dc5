// SPDX-License-Identifier: Apache-2.0
//
// What the interfaces offer and Halyard does not have: caches, buffers, bursts, fences. Each call
// is answered as one that asks for nothing would be, or says so.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "hal/hidl/types.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_objects_fixture.h"

namespace halyard::hal {

namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using hidl::nn::v1_3::IDevice;
using hidl::nn::v1_3::IPreparedModel;
using testing::addModel;
using testing::addRequest;
using testing::callMethod;
using testing::HidlObjects;
using testing::Notification;
using testing::RecordingCallback;

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
                            const Deadline& deadline) {
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
    const Deadline passed = std::chrono::steady_clock::time_point();
    EXPECT_EQ(answer(request, 0, std::nullopt), ErrorStatus::GENERAL_FAILURE);
    EXPECT_EQ(answer({}, 0, std::nullopt), ErrorStatus::INVALID_ARGUMENT);
    EXPECT_EQ(answer(request, 1, std::nullopt), ErrorStatus::INVALID_ARGUMENT);
    EXPECT_EQ(answer(request, 0, passed), ErrorStatus::MISSED_DEADLINE_TRANSIENT);
    EXPECT_EQ(answer({}, 0, passed), ErrorStatus::INVALID_ARGUMENT);
}

}  // namespace

}  // namespace halyard::hal
