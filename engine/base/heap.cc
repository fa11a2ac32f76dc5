// SPDX-License-Identifier: Apache-2.0

#include "engine/base/heap.h"

// A sanitizer has an allocator of its own. The C library's is never set up then, which its counting
// does not survive on two threads at once.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HALYARD_OTHER_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HALYARD_OTHER_ALLOCATOR 1
#endif
#endif

#if defined(__GLIBC__) || defined(__BIONIC__)
#include <malloc.h>
#endif

namespace halyard {

std::optional<HeapUse> heapUse() {
#if defined(HALYARD_OTHER_ALLOCATOR)
    return std::nullopt;
#elif defined(__GLIBC__)
    // mallinfo() counts in int.
    const struct mallinfo2 info = mallinfo2();
    return HeapUse{.inUse = info.uordblks + info.hblkhd, .held = info.arena + info.hblkhd};
#elif defined(__BIONIC__)
    const struct mallinfo info = mallinfo();
    return HeapUse{.inUse = info.uordblks + info.hblkhd, .held = info.arena + info.hblkhd};
#else
    return std::nullopt;
#endif
}

}  // namespace halyard
