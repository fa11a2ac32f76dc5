// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "hal/aidl/remote_interface.h"

namespace halyard::hal::aidl {

// A service's IPreparedModel, by the rules of makeClientDevice(). `usesConfigs`: as its connection
// does (ServiceConnection::usesConfigs).
std::shared_ptr<driver::IPreparedModel> makeClientPreparedModel(RemoteInterface model,
                                                                driver::HalVersion version,
                                                                bool usesConfigs);

// The remote object behind such a model; null for any other.
std::shared_ptr<RemoteObject> remoteObjectOf(const driver::IPreparedModel& model);

}  // namespace halyard::hal::aidl
