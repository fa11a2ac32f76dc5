// SPDX-License-Identifier: Apache-2.0
//
// The processor as CpuAcc sees it: its kinds of cores, their caches and the last-level cache. Plain
// data: a description can be of another processor than this one, as tests have them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/cpu/hardware/cache_level.h"

namespace halyard::engine::cpu {

// Kinds of cores that differ in what kernels pay for. Cores of x86 are of one kind until their
// costs were measured apart.
enum class Microarchitecture : uint8_t {
    UNKNOWN,
    X86,
    CORTEX_A53,  // and A35: in order, one 64-bit vector unit
    CORTEX_A55,  // and A510, A520: in order
    CORTEX_A72,  // and A57, A73, A75
    CORTEX_A76,  // and A77
    CORTEX_A78,  // and A710, A715, A720
    CORTEX_X,    // X1 to X4
    NEOVERSE_N1,
    NEOVERSE_V1,
    NEOVERSE_N2,
    NEOVERSE_V2,
};

// "Cortex-A55".
std::string_view toString(Microarchitecture kind);

// Of the MIDR_EL1 register of an arm64 core.
Microarchitecture microarchitectureOf(uint64_t midr);

// Cores of one kind.
struct CoreCluster {
    Microarchitecture kind = Microarchitecture::UNKNOWN;
    int64_t cores = 1;
    int64_t capacity = 1024;      // of the fastest core's 1024, as the scheduler has it
    int64_t maxFrequencyKhz = 0;  // 0: unknown
    CacheLevel l1d, l2;

    bool operator==(const CoreCluster&) const = default;
};

struct CpuDescription {
    std::vector<CoreCluster> clusters = {CoreCluster{}};  // the fastest first; never empty
    CacheLevel lastLevel;                                 // beyond L2

    bool operator==(const CpuDescription&) const = default;
    // Kernels are chosen for these cores: work that takes time runs there.
    const CoreCluster& fastest() const { return clusters.front(); }
    int64_t cores() const;
    // "4 x Cortex-A76 (L1d 64 KiB, L2 512 KiB), 4 x Cortex-A55 (...), last level 2048 KiB".
    std::string toString() const;
};

// Of the typical member of a kind, where the system tells nothing.
CoreCluster typicalCluster(Microarchitecture kind);

// The description read from `root`, a folder such as /sys/devices/system/cpu. A value that is
// missing there, cannot be read or is beyond what a processor could have is as typicalCluster() has
// it, or unknown. `fallback`: of cores whose kind the folder does not tell.
CpuDescription describeCpu(const std::string& root, const CoreCluster& fallback);

// This machine, by what the system and the processor tell. Reads some small files for each core;
// never fails.
CpuDescription describeThisCpu();

}  // namespace halyard::engine::cpu
