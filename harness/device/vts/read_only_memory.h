// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "driver/model/memory.h"
#include "engine/base/status.h"

namespace halyard::vts {

// Memory under the name "mmap_fd" that a device may only map for reading; map() is for this side,
// which writes to it. The descriptor itself is not sealed: a device that maps it otherwise than it
// is told to can be seen to have written.
Result<driver::SharedMemory> createReadOnlyMemory(size_t size);

}  // namespace halyard::vts
