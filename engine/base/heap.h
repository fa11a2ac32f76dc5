// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>

namespace halyard {

// Of this process. What is held beyond what is in use lies between blocks, or waits to be used
// again: it tells a leak from an allocator that keeps what it got.
struct HeapUse {
    size_t inUse = 0;  // bytes of blocks that are allocated
    size_t held = 0;   // bytes that the allocator has of the system
};

// Nothing where the allocator in use is not known to count. Any thread; takes the allocator's
// locks.
std::optional<HeapUse> heapUse();

}  // namespace halyard
