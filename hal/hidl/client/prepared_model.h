// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "hal/client/pending.h"
#include "hal/hidl/client/burst_channel.h"
#include "hal/hidl/client/remote_interface.h"
#include "hal/hidl/client/version.h"

namespace halyard::hal::hidl {

// A service's IPreparedModel, by the rules of makeClientDevice().
std::shared_ptr<driver::IPreparedModel> makeClientPreparedModel(RemoteInterface model,
                                                                const ClientVersion& version,
                                                                std::shared_ptr<Liveness> service);

// The remote object behind such a model; null for any other.
std::shared_ptr<RemoteObject> remoteObjectOf(const driver::IPreparedModel& model);

// A burst of such a model for packets of the caller's. UNSUPPORTED for any other, and before 1.2.
Result<std::unique_ptr<BurstChannel>> openBurstChannel(const driver::IPreparedModel& model,
                                                       const BurstChannel::Lengths& lengths);

}  // namespace halyard::hal::hidl
