// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "driver/model/memory.h"

namespace halyard::nnapi {

// Memory behind a program's descriptor, which is duplicated. Services are sent it where it is of a
// kind that a service maps: shared memory, a dma-buf, a file of a disk. `protection`: as mmap() has
// it. Thread-safe.
driver::SharedMemory descriptorMemory(int fd, size_t size, int protection, size_t offset);

}  // namespace halyard::nnapi
