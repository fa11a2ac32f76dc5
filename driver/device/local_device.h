// SPDX-License-Identifier: Apache-2.0
//
// The driver in this process, as IDevice.

#pragma once

#include <memory>

#include "driver/device/device.h"
#include "driver/device/device_interface.h"

namespace halyard::driver {

// Models and requests are judged by `version`. A fenced execution is over when it is given.
std::shared_ptr<IDevice> makeLocalDevice(std::shared_ptr<const Device> device, HalVersion version);

}  // namespace halyard::driver
