// SPDX-License-Identifier: Apache-2.0
//
// Products of float matrices by a work item of the processor that multiplies tiles of bfloat16: 16
// rows of 32 elements with 32 rows of 16 columns, whose sums are a tile of float32. Lines, rows and
// runs are those of float_gemm.h.
//
// A float is about the sum of two parts, each a bfloat16: the first rounds the float, ties away
// from zero, and the second what it leaves, so that the sum is exact to 2^-17. Three of the four
// products of parts are summed up; that of the second ones is not more than the parts leave out
// anyway. Results are exact to some 2e-5 of what is usual among them, where factors rounded to
// float16 would give 1e-3.
//
// Weights that are bfloat16 have one part, in two bytes. With two of the left matrix that is as
// exact, by two products; with three, which are exactly the float, products are too, and sums are
// those of float32.
//
// The left matrix is split on the way to memory of the block's, the right one beforehand:
// [panel of 16 columns][bias, as float, then each 32 of k: [part][16][lane][2]], where the pairs
// are of k and k + 16. Zeros pad the depth and the last panel.
//
// The work item takes what is below 2^-126 for zero, and parts of large numbers, or of what is no
// number, are none. So rows are looked at while they are split: blocks with rows that aren't tame
// are multiplied without the work item, in the order of float_gemm.h, by the sums of the weights'
// parts. Weights and biases have to be tame.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/gemm/float_gemm.h"

namespace halyard::engine::cpu {

// Elements of depth that a tile of bfloat16 has.
inline constexpr int64_t kSplitDepth = 32;

// How many parts an element has: 2 and 2, 2 and 1, or 3 and 1.
struct HiLoSplit {
    int left = 2;
    int right = 2;

    constexpr int products() const { return left * right - (right - 1); }
    bool operator==(const HiLoSplit&) const = default;
};

// A row of the left matrix, and a column of the right one, is tame if its largest element is within
// these, or if all are zero: then neither what the work item takes for zero shows in sums of
// products, nor does a sum of 2^20 of them overflow.
inline constexpr float kSafeRangeMin = 0x1p-40F;
inline constexpr float kSafeRangeMax = 0x1p40F;
// The same for what such sums are added to.
inline constexpr float kSafeRangeMinBias = 0x1p-80F;
inline constexpr float kSafeRangeMaxBias = 0x1p100F;

constexpr int64_t splitPanelBytes(int64_t depth, int rightParts) {
    return kTileColumns * int64_t{sizeof(float)} + depth / kSplitDepth * rightParts * kTileBytes;
}

struct SplitBlock {
    FloatBlock matrix;  // without its panels
    const std::byte* panels = nullptr;
    HiLoSplit parts;
    int64_t depth = 0;  // of the panels: a multiple of kSplitDepth
    // Blocks of kSplitBlockRows rows that there is memory for, at most kMostSplitBlocks. One: all
    // panels go by for each block, which should not have to come from far. Else they go by in
    // chunks, once for so many blocks.
    int64_t blocksAtOnce = 1;
    int64_t chunkBytes = Bf16SplitTuning().chunkBytes;  // of panels that L2 keeps meanwhile
    std::byte* memory = nullptr;  // splitMemoryBytes(), aligned to a cache line
};

inline constexpr int64_t kSplitBlockRows = 2 * kTileRows;
inline constexpr int64_t kMostSplitBlocks = 64;

// Of a row's parts. What keeps rows from sharing a place in the cache lies between them.
constexpr int64_t splitRowBytes(int64_t depth, int leftParts) {
    return depth * leftParts * int64_t{sizeof(uint16_t)} + kTileDepth;
}

// Three blocks of sums of two by two tiles, some rows without gaps and the parts of blocks of rows.
inline constexpr int64_t kSplitSumsBytes = 12 * kTileBytes;
inline constexpr int64_t kSplitPlainRows = 4;
inline int64_t splitMemoryBytes(int64_t blocksAtOnce, int64_t depth, int leftParts) {
    return kSplitSumsBytes + kSplitPlainRows * depth * int64_t{sizeof(float)} +
           blocksAtOnce * kSplitBlockRows * splitRowBytes(depth, leftParts);
}

struct Bf16SplitGemm {
    std::string_view tile;
    void (*compute)(const SplitBlock& block) = nullptr;
};

}  // namespace halyard::engine::cpu
