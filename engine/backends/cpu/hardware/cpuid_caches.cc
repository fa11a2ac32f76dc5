// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/hardware/cpuid_caches.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace halyard::engine::cpu {

#if defined(__x86_64__)
namespace {

// Where processors tell of their caches, one after the other: Intel's, and AMD's in the same form.
constexpr unsigned int kLeaves[] = {0x4, 0x8000001D};
constexpr unsigned int kMostCaches = 8;
// Types of a cache.
constexpr unsigned int kNone = 0;
constexpr unsigned int kInstructions = 2;

constexpr unsigned int bits(unsigned int value, int first, int count) {
    return value >> first & ((1U << count) - 1);
}

}  // namespace

CpuidCaches cpuidCaches() {
    CpuidCaches caches;
    for (const unsigned int leaf : kLeaves) {
        for (unsigned int i = 0; i < kMostCaches; ++i) {
            unsigned int a = 0;
            unsigned int b = 0;
            unsigned int c = 0;
            unsigned int d = 0;
            if (__get_cpuid_count(leaf, i, &a, &b, &c, &d) == 0 || bits(a, 0, 5) == kNone) {
                break;
            }
            if (bits(a, 0, 5) == kInstructions) {
                continue;
            }
            CacheLevel cache;
            cache.lineBytes = int64_t{bits(b, 0, 12)} + 1;
            cache.ways = int64_t{bits(b, 22, 10)} + 1;
            cache.bytes = cache.lineBytes * (int64_t{bits(b, 12, 10)} + 1) * cache.ways *
                          (int64_t{c} + 1);
            const unsigned int level = bits(a, 5, 3);
            CacheLevel& known = level == 1 ? caches.l1d : level == 2 ? caches.l2 : caches.l3;
            if (known.bytes == 0 && level <= 3) {
                known = cache;
            }
        }
    }
    return caches;
}
#else
CpuidCaches cpuidCaches() {
    return {};
}
#endif

}  // namespace halyard::engine::cpu
