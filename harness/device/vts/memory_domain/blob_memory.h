// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "driver/model/memory.h"
#include "engine/base/status.h"

namespace halyard::vts {

// Memory under the name "hardware_buffer_blob", which can be sent. It is shared memory and no
// allocator's buffer, of which a program without a graphics stack has none: a device that asks the
// allocator what is behind it will not find it.
Result<driver::SharedMemory> createBlobMemory(size_t size);

}  // namespace halyard::vts
