// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "hal/hidl/client/burst_channel.h"

namespace halyard::hal::hidl {

// A burst whose packets go through the channel. Tokens, deadlines, priorities and limits of loops
// are not said to bursts.
std::shared_ptr<driver::IBurst> makeClientBurst(std::unique_ptr<BurstChannel> channel);

}  // namespace halyard::hal::hidl
