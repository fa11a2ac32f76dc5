// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit matrices by a work item of the processor that multiplies tiles: 16 rows of 64
// bytes with 64 rows of 16 columns, whose sums are another tile. Lines, rows and runs are those of
// float_gemm.h, panels those of quantized_gemm.h with kTilePanels, but that a panel's runs
// follow one another without gaps and only the last one is padded, to a multiple of kTileDepth.
//
// Rows are read where they lie if each run fills whole tiles; the rows of all lines then count as
// those of one, and what lies between the lines is multiplied for nothing. Otherwise, or where that
// would be too much, they are first copied, one behind the other without gaps between the runs.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/numerics/scaled_sum.h"

namespace halyard::engine::cpu {

inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileColumns = 16;
inline constexpr int64_t kTileDepth = 64;
inline constexpr int64_t kTileBytes = kTileRows * kTileDepth;
// As many become bytes at once.
inline constexpr int64_t kTileGroupColumns = 4 * kTileColumns;
inline constexpr PanelLayout kTilePanels = {.lanes = kTileColumns, .depthGroup = 4, .bytes = true};

// What is added to the bytes of a product before they are stored.
struct TileAddition {
    ByteAddition numbers;             // a are the product's
    const uint8_t* addend = nullptr;  // lies as the product does, maybe in its place
};

// Larger multipliers than this one take sums beyond 32 bits.
inline constexpr float kMostTileMultiplier = 0.5F;

// Rows, columns and results are all signed, or none of them; no multiplier of the panels is more
// than kMostTileMultiplier.
struct TileBlock {
    // Neither `sums` nor `rowSums` is looked at.
    QuantizedBlock matrix;
    TileAddition addition;
    bool signedLeft = false;
    AmxTuning tuning = {};  // tallBytes, chunkBytes and stayingBytes of it
    int64_t depth = 0;      // of the panels
    // So many rows are copied before they are multiplied. 0: they are read where they lie, which
    // takes a multiple of kTileDepth for `runLength`, kTileRows rows at least, and, where there are
    // several lines, a whole number of rows from a line to the next.
    int64_t rowsAtOnce = 0;
    int64_t bytesBehind = 0;  // of panels behind the block's own, if those are what is read next
    std::byte* memory = nullptr;  // tileMemoryBytes(), aligned to a cache line
};

// Rows of one line, with what lies between lines.
inline int64_t rowsInPlace(int64_t lines, int64_t rows, ptrdiff_t aLine, ptrdiff_t aRow) {
    return lines == 1 ? rows : (lines - 1) * (aLine / aRow) + rows;
}

// From a copied row to the next. Rows whose lines would fall into few sets of the L1d,
// which then has no room for them, lie a line farther apart.
inline int64_t copyPitch(int64_t depth) {
    return depth % (8 * kTileDepth) == 0 ? depth + kTileDepth : depth;
}

// What a product needs memory for: a group of sums of four by four tiles, four tiles of sums of
// rows, rows that are copied, and how one is: so many numbers for each vector or part of one.
inline constexpr int64_t kTileSumsBytes = 21 * kTileBytes;
inline constexpr int64_t kCopyPartBytes = 24;
inline int64_t tileMemoryBytes(int64_t rowsAtOnce, int64_t depth, int64_t runs) {
    // The last copy of a run writes a whole vector.
    return kTileSumsBytes + (rowsAtOnce == 0
                                     ? 0
                                     : rowsAtOnce * copyPitch(depth) + kTileDepth +
                                               (depth / kTileDepth + runs) * kCopyPartBytes);
}

struct AmxInt8Gemm {
    std::string_view tile;
    void (*compute)(const TileBlock& block) = nullptr;
};

}  // namespace halyard::engine::cpu
