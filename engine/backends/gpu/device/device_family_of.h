// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/gpu/device/device_facts.h"
#include "engine/backends/gpu/vendor/device_family.h"

namespace halyard::engine::gpu {

// By type, platform and name: what a vendor that is built in says of its device, or what the names
// of other vendors' devices have in common.
DeviceFamily familyOf(const DeviceFacts& facts);

}  // namespace halyard::engine::gpu
