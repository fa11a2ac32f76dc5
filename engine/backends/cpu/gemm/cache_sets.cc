// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/cache_sets.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace halyard::engine::cpu {
namespace {

#if defined(__x86_64__)

// Where processors tell of their caches, one after the other: Intel's, and AMD's in the same form.
constexpr unsigned int kLeaves[] = {0x4, 0x8000001D};
constexpr unsigned int kMostCaches = 8;
constexpr unsigned int kDataCache = 1;

constexpr unsigned int bits(unsigned int value, int first, int count) {
    return value >> first & ((1U << count) - 1);
}

L1dCache askProcessor() {
    for (const unsigned int leaf : kLeaves) {
        for (unsigned int i = 0; i < kMostCaches; ++i) {
            unsigned int a = 0;
            unsigned int b = 0;
            unsigned int c = 0;
            unsigned int d = 0;
            if (__get_cpuid_count(leaf, i, &a, &b, &c, &d) == 0 || bits(a, 0, 5) == 0) {
                break;
            }
            if (bits(a, 0, 5) == kDataCache && bits(a, 5, 3) == 1) {
                const ptrdiff_t line = bits(b, 0, 12) + 1;
                return {.setBytes = line * (ptrdiff_t{c} + 1),
                        .lines = static_cast<int>(bits(b, 22, 10)) + 1};
            }
        }
    }
    return {};
}

#else

L1dCache askProcessor() {
    return {};
}

#endif

}  // namespace

const L1dCache& l1dCache() {
    static const L1dCache kCache = askProcessor();
    return kCache;
}

}  // namespace halyard::engine::cpu
