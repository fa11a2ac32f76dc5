// SPDX-License-Identifier: Apache-2.0
//
// Products of a few rows, which kernels that are more than one product compute on the way, with
// columns that were packed: shared among threads by blocks of rows and of columns.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

struct GemmBlocks {
    int64_t rows = 0;
    int64_t rowBlock = 1;
    int64_t columns = 0;
    int64_t columnBlock = 1;
    int64_t lanes = 1;
    int64_t depth = 0;  // steps along a row
    // With few rows weights are all that takes time: rows that their fetching is as long as.
    int64_t rowsOfFetching = VectorTuning().rowsOfFetching;
};

// Calls body(row, rows, column, columns) for each block. Neighbouring blocks have the same columns,
// whose weights then lie in the cache; a thread has the same ones whenever the extents are the
// same.
template <typename Body>
Status forEachGemmBlock(KernelCall& call, const GemmBlocks& blocks, Body body) {
    const int64_t down = (blocks.rows + blocks.rowBlock - 1) / blocks.rowBlock;
    const int64_t across = (blocks.columns + blocks.columnBlock - 1) / blocks.columnBlock;
    const int64_t vectors = std::min(blocks.columns, blocks.columnBlock) / blocks.lanes + 1;
    const int64_t operations = vectors * (blocks.depth + 8) *
                               (std::min(blocks.rows, blocks.rowBlock) + blocks.rowsOfFetching);
    return call.inParallel(
            down * across, operations, [&](int64_t begin, int64_t end, size_t worker) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t row = i % down * blocks.rowBlock;
                    const int64_t column = i / down * blocks.columnBlock;
                    body(row, std::min(blocks.rowBlock, blocks.rows - row), column,
                         std::min(blocks.columnBlock, blocks.columns - column), worker);
                }
            });
}

}  // namespace halyard::engine::cpu
