// SPDX-License-Identifier: Apache-2.0
//
// What the interfaces offer and Halyard does not have: caches and bursts. Each call
// is answered as one that asks for nothing would be, or says so.

#include <gtest/gtest.h>

#include <array>
#include <memory>
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

}  // namespace

}  // namespace halyard::hal
