// SPDX-License-Identifier: Apache-2.0

#include "hal/allocator.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>

namespace halyard::hal {

void prepareAllocator() {
#ifdef M_ARENA_MAX
    // As many heaps as glibc comes to by itself.
    constexpr long kArenasPerProcessor = 8;
    const long processors = std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, 1024L);
    mallopt(M_ARENA_MAX, static_cast<int>(kArenasPerProcessor * processors));
#endif
}

}  // namespace halyard::hal
