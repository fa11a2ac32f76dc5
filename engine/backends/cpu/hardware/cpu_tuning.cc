// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/hardware/cpu_tuning.h"

#include <algorithm>
#include <array>
#include <utility>

namespace halyard::engine::cpu {
namespace {

// Where a family differs from the members' defaults, next to what follows from its caches.
struct FamilyRow {
    std::string_view family;
    Microarchitecture kinds[4];
    // A float GEMM's cycles for 16 channels: eighths of a cycle for a row's step of depth, of four
    // vectors of 128 bits.
    int64_t floatEighths;
    // Groups of 4 bytes of depth by 16 channels in a cycle, with dot products.
    int64_t int8GroupsPerCycle;
};

// L2 of a core that the defaults' sizes were measured with.
constexpr int64_t kServerL2 = int64_t{2} << 20;

// From the pipes of each core: A53 takes two cycles for a multiply-add of 128 bits, A55 one. A76
// and A78 have two pipes of 128 bits, X-class cores and Neoverse-V four. An eighth more for what
// goes by beside them. Not measured.
constexpr std::array kFamilies = {
        FamilyRow{"unknown core", {Microarchitecture::UNKNOWN}, 18, 1},
        FamilyRow{"in-order Cortex",
                  {Microarchitecture::CORTEX_A53, Microarchitecture::CORTEX_A55},
                  48,
                  1},
        FamilyRow{"Cortex-A7x",
                  {Microarchitecture::CORTEX_A72, Microarchitecture::CORTEX_A76,
                   Microarchitecture::CORTEX_A78, Microarchitecture::NEOVERSE_N1},
                  18,
                  1},
        FamilyRow{"Cortex-X and Neoverse-V",
                  {Microarchitecture::CORTEX_X, Microarchitecture::NEOVERSE_V1,
                   Microarchitecture::NEOVERSE_N2, Microarchitecture::NEOVERSE_V2},
                  9,
                  2},
};

const FamilyRow& familyOf(Microarchitecture kind) {
    const auto* const row = std::ranges::find_if(kFamilies, [kind](const FamilyRow& family) {
        return std::ranges::find(family.kinds, kind) != std::end(family.kinds);
    });
    return row == kFamilies.end() ? kFamilies.front() : *row;
}

// Bytes of cache beyond L1d that a core has to itself.
int64_t ownBytes(const CpuDescription& cpu) {
    const CoreCluster& core = cpu.fastest();
    const int64_t own = core.l2.bytes > 0 ? core.l2.bytesOfCore() : cpu.lastLevel.bytesOfCore();
    return std::max(own, core.l1d.bytes);
}

// The sizes for a cache smaller than kServerL2, in proportion.
void scale(CpuTuning& tuning, int64_t own) {
    const auto scaled = [&](int64_t& bytes, int64_t least) {
        bytes = std::min(bytes, std::max(bytes / 64 * own / (kServerL2 / 64), least));
    };
    constexpr int64_t kLeast = int64_t{16} << 10;
    scaled(tuning.tiling.workItemBytes, kLeast);
    scaled(tuning.tiling.mostWorkItemBytes, 4 * kLeast);
    scaled(tuning.tiling.resultBytes, kLeast);
    scaled(tuning.tiling.fewWeightBytes, 2 * kLeast);
    scaled(tuning.winograd.fewestWindowBytes, 2 * kLeast);
    scaled(tuning.winograd.mostWindowBytes, 4 * kLeast);
    scaled(tuning.winograd.mostSharedBytes, 16 * kLeast);
    scaled(tuning.winograd.fewFilterBytes, 4 * kLeast);
    scaled(tuning.winograd.productBytes, kLeast);
    scaled(tuning.vectors.farBytes, 4 * kLeast);
    scaled(tuning.vectors.mostPrefetchBytes, 2 * kLeast);
    scaled(tuning.fused.mostWorkItemBytes, 2 * kLeast);
    scaled(tuning.invertedResidual.fewestExpandedBytes, 4 * kLeast);
    scaled(tuning.invertedResidual.mostRingBytes, 5 * kLeast);
}

}  // namespace

CpuTuning tuningOf(const CpuDescription& cpu) {
    const CoreCluster& core = cpu.fastest();
    CpuTuning tuning;
    if (core.l1d.ways > 0) {
        tuning.l1d = {.setBytes = static_cast<ptrdiff_t>(core.l1d.setBytes()),
                      .lines = static_cast<int>(core.l1d.ways)};
    }
    tuning.invertedResidual.nearBytes = core.l1d.bytes / 8 * 7;
    // As measured, whatever the caches of a processor of x86 are.
    if (core.kind == Microarchitecture::X86) {
        return tuning;
    }
    const FamilyRow& family = familyOf(core.kind);
    tuning.family = family.family;
    tuning.vectors.floatNumerator = family.floatEighths;
    tuning.vectors.floatDenominator = 8;
    tuning.vectors.int8GroupsPerCycle = family.int8GroupsPerCycle;
    if (const int64_t own = ownBytes(cpu); own > 0) {
        scale(tuning, own);
        tuning.scaledTo = own;
    }
    return tuning;
}

std::string identityOf(const CpuTuning& tuning) {
    return std::string(tuning.family) +
           (tuning.scaledTo > 0 ? " " + std::to_string(tuning.scaledTo >> 10) + " KiB" : "");
}

CpuTarget CpuTarget::of(InstructionSet set, CpuDescription cpu) {
    CpuTarget target = {.set = set, .cpu = std::move(cpu), .tuning = {}};
    target.tuning = tuningOf(target.cpu);
    return target;
}

}  // namespace halyard::engine::cpu
