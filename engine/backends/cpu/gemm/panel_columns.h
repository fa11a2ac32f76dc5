// SPDX-License-Identifier: Apache-2.0
//
// Columns of weights laid next to each other, as the panels of products have them. Prepare time is
// spent here.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/half.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {

// Those of a panel: `count` of them, a column's first element `apart` elements behind the one
// before's.
template <typename T>
struct PanelColumns {
    const T* first = nullptr;
    int64_t count = 0;
    ptrdiff_t apart = 0;
    int64_t depth = 0;
};

// For a loop that reads so many bytes of a column from `from` on: fetches those that it reads soon.
// Processors see by themselves what is read in one partition, but not of as many columns by turns
// as a panel has: without this, packing waits for each line. What lies behind memory does no harm.
inline void fetchColumn(const void* from, int64_t bytes) {
    constexpr int64_t kAhead = 128;
    constexpr int64_t kLine = 64;
    for (int64_t i = 0; i < bytes; i += kLine) {
        __builtin_prefetch(static_cast<const std::byte*>(from) + kAhead + i);
    }
}

// Elements [begin, depth) of the columns, converted: element k of a column comes to
// to[k * lanes + column], and zeros behind the last column. Some elements of each column at a time,
// so that the lines that they go to are still in the L1d for the next column.
template <typename T, typename To, typename Convert>
void layColumns(const PanelColumns<T>& columns, int64_t begin, int64_t lanes, To* to,
                Convert convert) {
    constexpr int64_t kAtOnce = 16;
    for (int64_t first = begin; first < columns.depth; first += kAtOnce) {
        const int64_t end = std::min(first + kAtOnce, columns.depth);
        for (int64_t column = 0; column < columns.count; ++column) {
            const T* const from = columns.first + column * columns.apart;
            fetchColumn(from + first, kAtOnce * int64_t{sizeof(T)});
            for (int64_t k = first; k < end; ++k) {
                to[k * lanes + column] = convert(from[k]);
            }
        }
        for (int64_t k = first; k < end && columns.count < lanes; ++k) {
            std::fill(to + k * lanes + columns.count, to + (k + 1) * lanes, To());
        }
    }
}

// All of them, as they are, by vectors where this processor has those of `set`; there are as many
// lanes as floatGemm(set) has.
void layFloats(const PanelColumns<float>& columns, InstructionSet set, int64_t lanes, float* to);
// Of halves, as floats.
void layFloats(const PanelColumns<Half>& columns, InstructionSet set, int64_t lanes, float* to);
// As they are, in panels of halfGemm().
void layHalves(const PanelColumns<Half>& columns, int64_t lanes, Half* to);

// Lays the weights of a panel of floatGemm(set), which begin at `to` behind its biases, as floats
// or as bfloat16; `lanes` are the form's.
template <typename T>
void layPanel(const PanelColumns<T>& columns, bool bfloats, InstructionSet set, int64_t lanes,
              float* to) {
    if (bfloats) {
        auto* const elements = reinterpret_cast<uint16_t*>(to);
        layColumns(columns, 0, lanes, elements,
                   [](T element) { return toBFloat16(toReal(element)).bits; });
        // Zeros fill the last vector of an odd depth.
        std::fill_n(elements + columns.depth * lanes, columns.depth % 2 == 0 ? 0 : lanes,
                    uint16_t{0});
    } else {
        layFloats(columns, set, lanes, to);
    }
}

}  // namespace halyard::engine::cpu
