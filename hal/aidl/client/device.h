// SPDX-License-Identifier: Apache-2.0
//
// A service as driver::IDevice, over AIDL at any of its versions.

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "hal/aidl/client/connection.h"

namespace halyard::hal::aidl {

// Pools have to have handles (driver::Memory::handle). Constants too large for a transaction go in
// shared memory. What there are no words for is left out: hints before version 4, and where no
// configs are used; what can't be left out of a model makes it INVALID_ARGUMENT
// (driver::checkSayable). AIDL has no executions that call back: the callback of executeAsync()
// runs before that returns. A model of another device is sent as an object of this process.
std::shared_ptr<driver::IDevice> makeClientDevice(ServiceConnection connection);

}  // namespace halyard::hal::aidl
