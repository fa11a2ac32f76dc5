// SPDX-License-Identifier: Apache-2.0
//
// Sparsity: where the elements of a constant belong of which zeros are not stored.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"

namespace halyard::tflite {

// A tree with a level for each axis and each block that an axis is cut into, in the order of
// traversal. Axes of the tensor are 0 to rank - 1, blocks come behind them.
struct Sparsity {
    struct Level {
        bool isDense = true;
        int32_t extent = 0;             // of a dense one
        std::vector<int32_t> segments;  // of another: as CSR has them, by place on the level above
        std::vector<int32_t> indices;
    };
    std::vector<int32_t> order;
    std::vector<int32_t> blocks;  // the axis that each block is of
    std::vector<Level> levels;    // as many as `order` has
};

// All elements, in the order of rows, zeros where none is stored. `elementSize`: bytes of one.
// INVALID_ARGUMENT where levels, shape and stored elements do not fit.
Result<std::vector<uint8_t>> densified(const Sparsity& sparsity, std::span<const int32_t> shape,
                                       std::span<const uint8_t> stored, size_t elementSize);

}  // namespace halyard::tflite
