// SPDX-License-Identifier: Apache-2.0
//
// Rows of a product as tiles take them, for amx_int8_gemm-inl.h: where each tile begins, and where
// in the result its rows go.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"

namespace halyard::engine::cpu {

inline constexpr ptrdiff_t kNowhere = -1;  // nobody wants the row

struct PlacedRows {
    const uint8_t* a = nullptr;
    ptrdiff_t stride = 0;
    std::span<const ptrdiff_t> runs;
    int64_t runLength = 0;
    int64_t count = 0;
    int64_t readable = 0;  // rows of memory, where those are more
    int64_t first = 0;     // number of the first in the block
    int64_t pitch = 0;     // rows from a line to the next

    int64_t tiles() const { return (count + kTileRows - 1) / kTileRows; }
    // From the first row's begin to the last one's end.
    int64_t bytes() const { return (count - 1) * stride + std::ranges::max(runs) + runLength; }

    // The row that a tile begins with. In place, the last one overlaps the one before: nothing
    // behind the last row may be read.
    int64_t firstRow(int64_t tile) const {
        return readable > 0 ? tile * kTileRows : std::min(tile * kTileRows, count - kTileRows);
    }

    // Where the rows of the tile that begins with row `begin` go, in elements from the result's
    // first row.
    void place(const QuantizedBlock& matrix, int64_t begin, ptrdiff_t* to) const {
        // Most rows are of one line, and a division takes as long as some products.
        int64_t line = 0;
        int64_t row = first + begin;
        if (row >= pitch) {
            line = row / pitch;
            row %= pitch;
        }
        if (row + kTileRows <= matrix.rows && begin + kTileRows <= count) {
            ptrdiff_t at = line * matrix.cLine + row * matrix.cRow;
            for (int64_t i = 0; i < kTileRows; ++i, at += matrix.cRow) {
                to[i] = at;
            }
            return;
        }
        for (int64_t i = 0; i < kTileRows; ++i) {
            const bool wanted = row < matrix.rows && begin + i < count;
            to[i] = wanted ? line * matrix.cLine + row * matrix.cRow : kNowhere;
            if (++row == pitch) {
                row = 0;
                ++line;
            }
        }
    }
};

}  // namespace halyard::engine::cpu
