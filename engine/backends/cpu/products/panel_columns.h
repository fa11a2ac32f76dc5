// SPDX-License-Identifier: Apache-2.0
//
// Columns of weights laid next to each other, as the panels of products have them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/half.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {

// No vector has more lanes of floats.
inline constexpr size_t kMostPanelLanes = 64;

// For a loop that reads so many bytes of a column from `from` on: fetches those that it reads soon.
// Processors see by themselves what is read in one piece, but not of as many columns by turns as a
// panel has: without this, packing waits for each line.
inline void fetchColumn(const void* from, int64_t bytes) {
    constexpr int64_t kAhead = 128;
    constexpr int64_t kLine = 64;
    for (int64_t i = 0; i < bytes; i += kLine) {
        __builtin_prefetch(static_cast<const std::byte*>(from) + kAhead + i);
    }
}

// Element k of columns[lane], converted, comes to to[k * columns.size() + lane], for all k below
// `depth`. Where a column is null, zeros come there. Prepare time is spent here: some elements of
// each column at a time, so that the lines that they go to are still in the first cache for the
// next column.
template <typename T, typename To, typename Convert>
void layColumns(std::span<const T* const> columns, int64_t depth, To* to, Convert convert) {
    constexpr int64_t kAtOnce = 16;
    const auto lanes = static_cast<int64_t>(columns.size());
    for (int64_t first = 0; first < depth; first += kAtOnce) {
        const int64_t end = std::min(first + kAtOnce, depth);
        for (int64_t lane = 0; lane < lanes; ++lane) {
            const T* const from = columns[static_cast<size_t>(lane)];
            if (from != nullptr) {
                fetchColumn(from + first, kAtOnce * int64_t{sizeof(T)});
            }
            for (int64_t k = first; k < end; ++k) {
                to[k * lanes + lane] = from == nullptr ? To() : convert(from[k]);
            }
        }
    }
}

// The same behind the bias of a panel of float_matmul.h, as floats or as bfloat16.
template <typename T>
void layPanel(std::span<const T* const> columns, int64_t depth, bool bfloats, float* to) {
    if (!bfloats) {
        layColumns(columns, depth, to, [](T element) { return toReal(element); });
        return;
    }
    auto* const elements = reinterpret_cast<uint16_t*>(to);
    layColumns(columns, depth, elements,
               [](T element) { return toBFloat16(toReal(element)).bits; });
    // What fills the last vector of an odd depth.
    const size_t lanes = columns.size();
    std::fill_n(elements + static_cast<size_t>(depth) * lanes, depth % 2 == 0 ? 0 : lanes,
                uint16_t{0});
}

}  // namespace halyard::engine::cpu
