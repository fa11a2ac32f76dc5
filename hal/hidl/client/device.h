// SPDX-License-Identifier: Apache-2.0
//
// A service as driver::IDevice, over HIDL at any version from 1.0 to 1.3.

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "hal/hidl/client/connection.h"

namespace halyard::hal::hidl {

// Pools have to have handles (driver::Memory::handle). Constants too large for a transaction go in
// shared memory. What the version has no words for is left out: deadlines before 1.3, timing and
// shapes before 1.2, and so on; what can't be left out of a model makes it INVALID_ARGUMENT
// (driver::checkSayable). Execution begins at a synchronous call where there is one. A model of
// another device is sent as an object of this process.
std::shared_ptr<driver::IDevice> makeClientDevice(ServiceConnection connection);

}  // namespace halyard::hal::hidl
