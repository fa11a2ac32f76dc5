// SPDX-License-Identifier: Apache-2.0

#include "engine/base/heap.h"

#if defined(__GLIBC__) || defined(__BIONIC__)
#include <malloc.h>
#endif

namespace halyard {

std::optional<HeapUse> heapUse() {
    // Of glibc, mallinfo() counts in int, which is why there is a second one; bionic's counts in
    // size_t.
#if defined(__GLIBC__)
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
