// SPDX-License-Identifier: Apache-2.0
//
// GemmCosts: what GEMM kernels cost on each family of devices. The only place of such numbers.

#pragma once

#include <cstdint>

#include "engine/backends/gpu/vendor/device_family.h"

namespace halyard::engine::gpu {

// Times are in cycles of a compute unit, words have 32 bits.
struct GemmCosts {
    DeviceFamily family = DeviceFamily::UNKNOWN;

    // Without a matrix unit, of a work-group of 256 work-items.
    double latency = 0;              // of global memory, which each stage of a pipeline waits for
    double stagesAhead = 0;          // so many stages share a latency, with asynchronous copies
    double workGroupCycles = 0;      // to begin and to end
    double wordsPerCycle = 0;        // multiply-adds of words
    double rowCycles = 0;            // to finish a work-item's element of the tile
    int64_t residentWorkGroups = 0;  // of a compute unit

    // With a matrix unit, which waits for its operands alone.
    double matrixWorkGroupCycles = 0;
    double bytesPerCycle = 0;       // of operands
    double roundCycles = 0;         // of a stage, besides
    double sumsCycles = 0;          // to finish a work-item's element of the tile
    double batchWordsPerCycle = 0;  // multiply-adds of words in batch GEMM, which copies by itself

    // Split-K between work-groups.
    double splitKCycles = 0;
    double splitKBytesPerCycle = 0;  // of partial sums
    int64_t maxSplitK = 0;
    int64_t minRoundsOfSplitK = 0;  // stages that each split has

    double launchCycles = 0;   // of one more kernel that does next to nothing
    double poolingCycles = 0;  // of a work-group's means of its tile
    double tapCycles = 0;      // of a tap of a depthwise convolution that is fused

    int32_t maxGemvRows = 0;         // M up to which each row reads all weights by itself
    int64_t maxRecomputedDepth = 0;  // K up to which neighbouring tiles recompute an element
};

// Of a family that nothing is known of: those of Hopper, the only one that was measured.
const GemmCosts& gemmCostsOf(DeviceFamily family);

}  // namespace halyard::engine::gpu
