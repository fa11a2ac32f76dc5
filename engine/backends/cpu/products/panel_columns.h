// SPDX-License-Identifier: Apache-2.0
//
// Columns of weights laid next to each other, as the panels of products have them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {

// No vector has more lanes of floats.
inline constexpr size_t kMostPanelLanes = 64;

// Element k of columns[lane] comes to to[k * columns.size() + lane], for all k below `depth`. Where
// a column is null, zeros come there. Prepare time is spent here: some elements of each column at
// a time, so that the lines that they go to are still in the first cache for the next column.
template <typename T>
void layColumns(std::span<const T* const> columns, int64_t depth, float* to) {
    constexpr int64_t kAtOnce = 16;
    const auto lanes = static_cast<int64_t>(columns.size());
    for (int64_t first = 0; first < depth; first += kAtOnce) {
        const int64_t end = std::min(first + kAtOnce, depth);
        for (int64_t lane = 0; lane < lanes; ++lane) {
            const T* const from = columns[static_cast<size_t>(lane)];
            for (int64_t k = first; k < end; ++k) {
                to[k * lanes + lane] = from == nullptr ? 0.0F : toReal(from[k]);
            }
        }
    }
}

}  // namespace halyard::engine::cpu
