// SPDX-License-Identifier: Apache-2.0
//
// All numbers by which CpuAcc cuts work and compares kernels: a row for each family of processors.
// Sizes are in bytes unless a comment says otherwise. The members' defaults are the row of servers
// with AVX-512 (measured on Skylake-X, Ice Lake and Sapphire Rapids); rows of other families say
// where they differ (cpu_tuning.cc).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/backends/cpu/hardware/cpu_description.h"
#include "engine/backends/cpu/hardware/l1d_sets.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// Of GEMMs (gemm_tiling.h).
struct TilingTuning {
    // Of A in one work item: what L1d and L2 keep while all columns go by. More where B is so large
    // that it comes from beyond L2 each time: this share of B, and at most so much.
    int64_t workItemBytes = int64_t{96} << 10;
    int64_t workItemShare = 8;
    int64_t mostWorkItemBytes = int64_t{512} << 10;
    // And of its result, where that is read again.
    int64_t resultBytes = int64_t{128} << 10;
    // Weights that stay in L2 while rows go by, and how many more of them than of inputs there are
    // where columns are cut; short partitions of rows are slow to read again.
    int64_t fewWeightBytes = int64_t{256} << 10;
    int64_t moreWeights = 2;
    int64_t moreWeightsOfRead = 4;
    // So many work items per thread even out what threads are late by, and so many are too few.
    int64_t workItemsPerThread = 4;
    int64_t fewWorkItemsPerThread = 2;
    // Multiply-adds that are worth a work item of their own.
    int64_t fewestOperations = int64_t{1} << 16;
    // As many rows of them as it takes to fetch the weights.
    int64_t rowsOfFetching = 8;
    // And those that a work item should not exceed, because a deadline is looked at between them:
    // some milliseconds.
    int64_t mostOperations = int64_t{1} << 26;
};

// Of Winograd's transforms (winograd_cut.h).
struct WinogradTuning {
    // Of the transformed windows that are kept at a time: with filters beside them they should stay
    // in L2. Filters that do not fit there are better read less often.
    int64_t fewestWindowBytes = int64_t{512} << 10;
    int64_t mostWindowBytes = int64_t{1} << 20;
    // Each thread brings an L2. Of all of them together; more gains little.
    int64_t mostSharedBytes = int64_t{8} << 20;
    // Filters that stay in L2 beside them: then a thread multiplies the windows that it transformed
    // and does not fetch them from another one's cache.
    int64_t fewFilterBytes = int64_t{1536} << 10;
    // Of a thread's products before they are transformed back.
    int64_t productBytes = int64_t{64} << 10;
    // The fixed cost of a work item besides its rows, in parts of a tile of the product; and what a
    // thread that is late holds up, in parts of a work item.
    int64_t readingAgain = 16;
    int64_t late = 4;
    // In multiply-adds. What an element costs to be transformed, on both sides together, and what a
    // weight costs to be fetched, of which transformed filters have more.
    int64_t transform = 10;
    int64_t fetch = 18;
    // The saving has to be worth the memory: the share of the direct product's cost.
    double worthwhile = 0.8;
    // Few enough channels for a work item to take no more than some milliseconds.
    int64_t mostChannels = 4096;
};

// Of the int8 GEMM on AMX (amx_int8_gemm.h). Costs are in cycles for a group of channels.
struct AmxTuning {
    // A tile of 16x16 sums over 64 bytes of depth, whatever it has; while another one is stored.
    int64_t tileCycles = 18;
    int64_t storeSums = 48;  // of a tile, which goes through memory
    int64_t begin = 400;
    int64_t copyCycles = 2;  // of 64 bytes of a row that is copied
    // The cost of copying a tile's depth of a row, over what it costs to multiply the row, as
    // part of its tile, with a column.
    int64_t copy = 28;
    // Bytes of rows that are copied at a time: what stays in L2 next to the weights. More where the
    // weights come from farther away each time: this share of those, and at most so much.
    int64_t copyBytes = int64_t{64} << 10;
    int64_t copyShare = 8;
    int64_t mostCopyBytes = int64_t{512} << 10;
    // Rows of several tiles that L1d keeps while they are multiplied with each panel at once.
    int64_t tallBytes = int64_t{42} << 10;
    // Packed B panels that stay in L2 while rows go by, and all panels that stay there from rows to
    // rows.
    int64_t chunkBytes = int64_t{96} << 10;
    int64_t stayingBytes = int64_t{1} << 20;
};

// Of the bf16x2 and bf16x3 GEMM (bf16_split_gemm.h). Costs are in cycles for a group of channels.
struct Bf16SplitTuning {
    int64_t tileCycles = 20;  // a tile of 16x16 sums over a depth of 32
    int64_t split = 8;        // a tile's depth of a row into each of its parts
    int64_t gather = 8;       // and to gather it, where runs are no whole tiles
    int64_t storeSums = 160;
    int64_t begin = 1000;
    // Weights that stay in L2 while blocks of rows go by one at a time. Where there are more, as
    // many blocks go by together as take this share of the weights, and at most so much.
    int64_t fewWeightBytes = int64_t{1} << 20;
    int64_t rowShare = 8;
    int64_t mostRowBytes = int64_t{512} << 10;
    int64_t chunkBytes = int64_t{96} << 10;  // packed B panels that stay in L2 while rows go by
};

// Of vectors. Costs are in cycles for 16 channels.
struct VectorTuning {
    // A step of depth takes numerator / denominator cycles for a row; of a sum, so many steps more.
    int64_t floatNumerator = 9;
    int64_t floatDenominator = 16;
    int64_t floatExtraSteps = 8;
    // Of int8, groups of 4 bytes of depth that a row takes a cycle for.
    int64_t int8GroupsPerCycle = 2;
    // Weights of so many bytes, of a thread's part, are not in L2: M = 1 streams them.
    int64_t farBytes = int64_t{2} << 20;
    // The next panel is prefetched to L2 behind so many bytes of weights, at most.
    int64_t mostPrefetchBytes = int64_t{1} << 20;
    // With few rows weights are all that takes time: rows that their fetching is as long as.
    int64_t rowsOfFetching = 3;
};

// Of a pointwise convolution fused with the depthwise one behind it (fused_pointwise_depthwise.h),
// in the time of a multiply-add of the pointwise one.
struct FusedTuning {
    int64_t mostWorkItemBytes = int64_t{160} << 10;  // of what a work item expands: some of L2
    int64_t mostLineGroups = 4;
    int64_t fewestLines = 4;
    // Floats: a multiply-add of the depthwise convolution, the begin of a work item, and its most.
    int64_t floatDepthwise = 3;
    int64_t floatWorkItem = int64_t{1} << 14;
    int64_t floatMostTime = int64_t{1} << 24;
    // int8 on AMX: how long an element of the expanded feature map takes to become a byte as well.
    int64_t int8Element = 200;
    int64_t int8Depthwise = 26;
    int64_t int8WorkItem = int64_t{1} << 20;
    int64_t int8MostTime = int64_t{1} << 30;
    int64_t int8CopyBytes = int64_t{64} << 10;  // of rows that are copied at a time
    // Measured at 1 to 16 threads: what is gained is a phase, and that the expanded feature map
    // does not go from core to core; but all work items of some rows read the same ones.
    size_t int8FewestThreads = 4;
};

// Of inverted residual blocks (inverted_residual.h).
struct InvertedResidualTuning {
    // An expanded feature map of fewer bytes stays in a core's L2 as it is, and a ring of more
    // bytes, with the rows computed from it, does not.
    int64_t fewestExpandedBytes = int64_t{512} << 10;
    int64_t mostRingBytes = int64_t{640} << 10;
    // Spatial positions of the output that a pass computes, at least: so many rows share the
    // weights of a GEMM that come from L2.
    int64_t passPixels = 56;
    int64_t fewestPassLines = 2;
    // Multiply-adds that a row of the expanded feature map takes, at most.
    int64_t mostLineOperations = int64_t{1} << 24;
    // Bytes of a row that stay in L1d until they are filtered; an eighth of it is left to other
    // reads.
    int64_t nearBytes = 0;
};

struct CpuTuning {
    std::string_view family = "avx512 server";
    int64_t scaledTo = 0;  // bytes of L2 that the sizes were scaled to; 0: they were not
    L1dSets l1d = {};
    TilingTuning tiling;
    WinogradTuning winograd;
    AmxTuning amx;
    Bf16SplitTuning bf16Split;
    VectorTuning vectors;
    FusedTuning fused;
    InvertedResidualTuning invertedResidual;
};

// "Cortex-A7x 512 KiB": what kernels are chosen by.
std::string identityOf(const CpuTuning& tuning);

// The row of the fastest cores' family, with their caches.
CpuTuning tuningOf(const CpuDescription& cpu);

// The target of a compilation: an instruction set, on a processor. Kernels keep references to it;
// as long as the backend.
struct CpuTarget {
    InstructionSet set = InstructionSet::PORTABLE;
    CpuDescription cpu;
    CpuTuning tuning;

    static CpuTarget of(InstructionSet set, CpuDescription cpu);
};

}  // namespace halyard::engine::cpu
