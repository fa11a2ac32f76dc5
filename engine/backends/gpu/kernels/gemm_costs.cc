// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/gemm_costs.h"

#include <algorithm>
#include <array>

namespace halyard::engine::gpu {
namespace {

// As seen on an H100; an H200 has the same compute units.
constexpr GemmCosts kHopper = {.family = DeviceFamily::NVIDIA_HOPPER,
                               .latency = 700,
                               .stagesAhead = 3,
                               .workGroupCycles = 1500,
                               .wordsPerCycle = 64,
                               .rowCycles = 20,
                               .residentWorkGroups = 4,
                               .matrixWorkGroupCycles = 5400,
                               .bytesPerCycle = 28,
                               .roundCycles = 105,
                               .sumsCycles = 91,
                               .batchWordsPerCycle = 256,
                               .splitKCycles = 4500,
                               .splitKBytesPerCycle = 30,
                               .maxSplitK = 12,
                               .minRoundsOfSplitK = 2,
                               .launchCycles = 3500,
                               .poolingCycles = 300,
                               .tapCycles = 10,
                               .maxGemvRows = 4,
                               .maxRecomputedDepth = 64};

constexpr GemmCosts of(DeviceFamily family, GemmCosts costs) {
    costs.family = family;
    return costs;
}

// The rows below are estimates by architecture, which no device has confirmed: tuning measures
// forms where these guess wrong.
//
// An A100 has half the lanes of float32 and half the rate of tensor cores in a compute unit, and
// less bandwidth for each.
constexpr GemmCosts kAmpere = [] {
    GemmCosts costs = of(DeviceFamily::NVIDIA_AMPERE, kHopper);
    costs.wordsPerCycle = 32;
    costs.bytesPerCycle = 20;
    costs.batchWordsPerCycle = 128;
    return costs;
}();

// Few work-groups are resident in a compute unit, latencies are those of LPDDR and of a lower
// clock, and a launch takes long.
constexpr GemmCosts kAdreno = [] {
    GemmCosts costs = of(DeviceFamily::ADRENO, kHopper);
    costs.latency = 450;
    costs.wordsPerCycle = 64;
    costs.residentWorkGroups = 2;
    costs.launchCycles = 14000;
    return costs;
}();

// Local memory is memory of the system behind caches, so that barriers and what goes through it
// cost more; cores have few lanes.
constexpr GemmCosts kMali = [] {
    GemmCosts costs = of(DeviceFamily::MALI, kHopper);
    costs.latency = 400;
    costs.workGroupCycles = 2500;
    costs.wordsPerCycle = 24;
    costs.rowCycles = 40;
    costs.residentWorkGroups = 2;
    costs.launchCycles = 20000;
    costs.poolingCycles = 800;
    return costs;
}();

// A compute unit is an execution unit of eight lanes, of which several share a work-group.
constexpr GemmCosts kIntel = [] {
    GemmCosts costs = of(DeviceFamily::INTEL, kHopper);
    costs.latency = 500;
    costs.wordsPerCycle = 8;
    costs.residentWorkGroups = 1;
    costs.launchCycles = 8000;
    return costs;
}();

constexpr std::array<GemmCosts, kDeviceFamilies> kTable = {
        of(DeviceFamily::UNKNOWN, kHopper),
        kHopper,
        kAmpere,
        kAdreno,
        kMali,
        kIntel,
        // A processor has tiles for tests alone, which describe the measured device.
        of(DeviceFamily::PROCESSOR, kHopper),
};
static_assert([] {
    for (size_t i = 0; i < kTable.size(); ++i) {
        if (kTable[i].family != static_cast<DeviceFamily>(i)) {
            return false;
        }
    }
    return true;
}());

}  // namespace

const GemmCosts& gemmCostsOf(DeviceFamily family) {
    return kTable[std::min(static_cast<size_t>(family), kTable.size() - 1)];
}

}  // namespace halyard::engine::gpu
