// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/gemm_costs.h"

#include <algorithm>
#include <array>

namespace halyard::engine::gpu {
namespace {

// Measured on an H100 and an H200.
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

// An A100 has half the lanes of float32 per compute unit, half the rate of its tensor cores, and
// two thirds of the bandwidth of L2 for each. Not measured.
constexpr GemmCosts kAmpere = [] {
    GemmCosts costs = of(DeviceFamily::NVIDIA_AMPERE, kHopper);
    costs.wordsPerCycle = 32;
    costs.bytesPerCycle = 20;
    costs.batchWordsPerCycle = 128;
    return costs;
}();

// Compute units of 128 lanes and more that hold few work-groups, latencies of LPDDR, and launches
// of some 20 us at 0.7 GHz. From Qualcomm's OpenCL guide; not measured.
constexpr GemmCosts kAdreno = [] {
    GemmCosts costs = of(DeviceFamily::ADRENO, kHopper);
    costs.latency = 450;
    costs.wordsPerCycle = 64;
    costs.residentWorkGroups = 2;
    costs.launchCycles = 14000;
    return costs;
}();

// Cores of 32 to 64 lanes whose local memory is memory of the system behind L1d, so that barriers
// and what goes through it cost more. From Arm's OpenCL guide; not measured.
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

// Compute units here are execution units of 8 lanes, of which a subslice has 8 to 16 that share a
// work-group. From Intel's guide for its GPUs; not measured.
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
