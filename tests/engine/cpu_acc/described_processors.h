// SPDX-License-Identifier: Apache-2.0
//
// Processors that tests choose kernels for, whichever they run on.

#pragma once

#include "engine/backends/cpu/hardware/cpu_tuning.h"

namespace halyard::engine::cpu_test {

inline cpu::CpuTarget targetOf(cpu::InstructionSet set, const cpu::CoreCluster& core,
                               const cpu::CacheLevel& lastLevel) {
    return cpu::CpuTarget::of(set, {.clusters = {core}, .lastLevel = lastLevel});
}

inline cpu::CacheLevel cacheOf(int64_t kibibytes, int64_t ways, int64_t sharedBy = 1) {
    return {.bytes = kibibytes << 10, .ways = ways, .sharedBy = sharedBy};
}

// Four cores that share an L2.
inline cpu::CpuTarget cortexA53() {
    return targetOf(cpu::InstructionSet::NEON,
                    {.kind = cpu::Microarchitecture::CORTEX_A53,
                     .cores = 4,
                     .l1d = cacheOf(32, 4),
                     .l2 = cacheOf(512, 16, 4)},
                    {});
}
inline cpu::CpuTarget cortexA55() {
    return targetOf(cpu::InstructionSet::NEON_DOT,
                    {.kind = cpu::Microarchitecture::CORTEX_A55,
                     .cores = 4,
                     .l1d = cacheOf(32, 4),
                     .l2 = cacheOf(128, 4)},
                    cacheOf(1024, 16, 4));
}
inline cpu::CpuTarget cortexA76() {
    return targetOf(cpu::InstructionSet::NEON_DOT,
                    {.kind = cpu::Microarchitecture::CORTEX_A76,
                     .cores = 4,
                     .l1d = cacheOf(64, 4),
                     .l2 = cacheOf(512, 8)},
                    cacheOf(2048, 16, 8));
}
inline cpu::CpuTarget cortexX() {
    return targetOf(cpu::InstructionSet::NEON_I8MM,
                    {.kind = cpu::Microarchitecture::CORTEX_X,
                     .cores = 1,
                     .l1d = cacheOf(64, 4),
                     .l2 = cacheOf(1024, 8)},
                    cacheOf(8192, 16, 8));
}
inline cpu::CpuTarget zen4() {
    return targetOf(cpu::InstructionSet::AVX512_VNNI,
                    {.kind = cpu::Microarchitecture::X86,
                     .cores = 8,
                     .l1d = cacheOf(32, 8),
                     .l2 = cacheOf(1024, 8)},
                    cacheOf(32768, 16, 8));
}
inline cpu::CpuTarget skylakeX() {
    return targetOf(cpu::InstructionSet::AVX512_VNNI,
                    {.kind = cpu::Microarchitecture::X86,
                     .cores = 16,
                     .l1d = cacheOf(32, 8),
                     .l2 = cacheOf(1024, 16)},
                    cacheOf(22528, 11, 16));
}
inline cpu::CpuTarget sapphireRapids() {
    return targetOf(cpu::InstructionSet::AVX512_AMX,
                    {.kind = cpu::Microarchitecture::X86,
                     .cores = 32,
                     .l1d = cacheOf(48, 12),
                     .l2 = cacheOf(2048, 16)},
                    cacheOf(61440, 15, 32));
}

}  // namespace halyard::engine::cpu_test
