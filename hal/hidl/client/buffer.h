// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "hal/hidl/client/connection.h"

namespace halyard::hal::hidl {

// IDevice::allocate of 1.3.
Result<std::shared_ptr<driver::IBuffer>> allocateBuffer(
        const ServiceConnection& connection, const driver::BufferDescription& description);

}  // namespace halyard::hal::hidl
