// SPDX-License-Identifier: Apache-2.0
//
// GemmTile: the tile of an output that a work-group computes, and the tiles that there are kernels
// for.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::engine::gpu {

// Work-items of a work-group, whatever its tile.
inline constexpr int32_t kTileWorkItems = 256;

// So many of `each` hold all.
inline int64_t partsOf(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

struct GemmTile {
    int32_t rows = 0;         // M
    int32_t columns = 0;      // N
    int32_t groupSplitK = 1;  // split-K within the work-group
    int32_t words = 32;       // of K in a stage of the pipeline
    int32_t itemRows = 0;     // of a work-item; with a matrix unit tiles of 16, of a warp
    int32_t itemColumns = 0;  // the same, of 8

    // `rowWords`: what a kernel has besides for each row and column.
    size_t localBytes(int32_t stages, int32_t rowWords) const {
        const int32_t operands = (rows + columns) * (words + 4) * stages;
        const int32_t sums = groupSplitK * rows * (columns + 8);
        return static_cast<size_t>(std::max(operands, sums) + rowWords) * sizeof(uint32_t);
    }
    // Of a convolution: positions, sums of both operands' rows, and a flag.
    int32_t convolutionRowWords() const { return 2 * rows + columns + 1; }
    // Of a batch GEMM: sums of both operands' rows.
    int32_t batchRowWords() const { return rows + columns; }
    // As many as local memory holds, up to a most: one is at work while the others are filled.
    int32_t pipelineStages(size_t localBytesOfDevice, int32_t most, int32_t rowWords) const {
        int32_t count = 1;
        while (count < most && localBytes(count + 1, rowWords) <= localBytesOfDevice) {
            ++count;
        }
        return count;
    }
};

// By what brings operands to local memory and multiplies them.
struct GemmTiles {
    std::span<const GemmTile> plain;
    std::span<const GemmTile> async;  // asynchronous copies: shorter, with more stages
    std::span<const GemmTile> matrix;
};
const GemmTiles& gemmTiles();
// A depthwise convolution follows.
const GemmTiles& pointwiseDepthwiseTiles();
// One tile holds a feature map: with as few columns as leave work-groups enough.
const GemmTiles& pooledGemmTiles();
const GemmTiles& batchGemmTiles();

}  // namespace halyard::engine::gpu
