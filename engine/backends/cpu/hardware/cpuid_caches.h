// SPDX-License-Identifier: Apache-2.0
//
// The caches of this core, from CPUID.

#pragma once

#include "engine/backends/cpu/hardware/cache_level.h"

namespace halyard::engine::cpu {

// Unknown where the processor is no x86, or tells nothing.
struct CpuidCaches {
    CacheLevel l1d, l2, l3;
};

CpuidCaches cpuidCaches();

}  // namespace halyard::engine::cpu
