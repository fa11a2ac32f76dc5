// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/version.h"

#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

namespace {

constexpr ClientVersion kVersions[] = {
        {
                .version = driver::HalVersion::V1_3,
                .device = nn::v1_3::IDevice::layout,
                .preparedModel = nn::v1_3::IPreparedModel::layout,
                .preparedModelCallback = nn::v1_3::IPreparedModelCallback::layout,
                .executionCallback = nn::v1_3::IExecutionCallback::layout,
                .getCapabilities = nn::v1_3::IDevice::getCapabilities_1_3,
                .getSupportedOperations = nn::v1_3::IDevice::getSupportedOperations_1_3,
                .prepareModel = nn::v1_3::IDevice::prepareModel_1_3,
                .prepareModelFromCache = nn::v1_3::IDevice::prepareModelFromCache_1_3,
                .execute = nn::v1_3::IPreparedModel::execute_1_3,
                .executeSynchronously = nn::v1_3::IPreparedModel::executeSynchronously_1_3,
        },
        {
                .version = driver::HalVersion::V1_2,
                .device = nn::v1_2::IDevice::layout,
                .preparedModel = nn::v1_2::IPreparedModel::layout,
                .preparedModelCallback = nn::v1_2::IPreparedModelCallback::layout,
                .executionCallback = nn::v1_2::IExecutionCallback::layout,
                .getCapabilities = nn::v1_2::IDevice::getCapabilities_1_2,
                .getSupportedOperations = nn::v1_2::IDevice::getSupportedOperations_1_2,
                .prepareModel = nn::v1_2::IDevice::prepareModel_1_2,
                .prepareModelFromCache = nn::v1_2::IDevice::prepareModelFromCache,
                .execute = nn::v1_2::IPreparedModel::execute_1_2,
                .executeSynchronously = nn::v1_2::IPreparedModel::executeSynchronously,
        },
        {
                .version = driver::HalVersion::V1_1,
                .device = nn::v1_1::IDevice::layout,
                .preparedModel = nn::v1_0::IPreparedModel::layout,
                .preparedModelCallback = nn::v1_0::IPreparedModelCallback::layout,
                .executionCallback = nn::v1_0::IExecutionCallback::layout,
                .getCapabilities = nn::v1_1::IDevice::getCapabilities_1_1,
                .getSupportedOperations = nn::v1_1::IDevice::getSupportedOperations_1_1,
                .prepareModel = nn::v1_1::IDevice::prepareModel_1_1,
                .prepareModelFromCache = 0,
                .execute = nn::v1_0::IPreparedModel::execute,
                .executeSynchronously = 0,
        },
        {
                .version = driver::HalVersion::V1_0,
                .device = nn::v1_0::IDevice::layout,
                .preparedModel = nn::v1_0::IPreparedModel::layout,
                .preparedModelCallback = nn::v1_0::IPreparedModelCallback::layout,
                .executionCallback = nn::v1_0::IExecutionCallback::layout,
                .getCapabilities = nn::v1_0::IDevice::getCapabilities,
                .getSupportedOperations = nn::v1_0::IDevice::getSupportedOperations,
                .prepareModel = nn::v1_0::IDevice::prepareModel,
                .prepareModelFromCache = 0,
                .execute = nn::v1_0::IPreparedModel::execute,
                .executeSynchronously = 0,
        },
};

}  // namespace

std::span<const ClientVersion> clientVersions() {
    return kVersions;
}

}  // namespace halyard::hal::hidl
