// SPDX-License-Identifier: Apache-2.0
//
// The driver in this process, as IDevice.

#pragma once

#include <memory>

#include "driver/device.h"
#include "driver/device_interface.h"

namespace halyard::driver {

// Models and requests are judged by `version`. Bursts, fences and buffers are UNSUPPORTED.
std::shared_ptr<IDevice> makeLocalDevice(std::shared_ptr<const Device> device, HalVersion version);

}  // namespace halyard::driver
