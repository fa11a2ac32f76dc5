// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/half_gemm.h"

#if defined(__aarch64__)
#include <algorithm>
#include <array>
#include <utility>

#include "engine/backends/cpu/vectors/half_lanes.h"
#include "engine/backends/cpu/vectors/unroll.h"
#endif

namespace halyard::engine::cpu {

#if defined(__aarch64__)
namespace {

constexpr int64_t kLanes = kHalfLanes;
// 16 accumulators; rows, which fmla by lane finds in v0 to v15 only, and columns have the others.
constexpr int kRows = 8;
constexpr int kVectors = 2;
// A few rows leave registers, and sums to wait for: they take more columns at once.
constexpr int kFewRows = 4;
constexpr int kVectorsOfFew = 4;

struct Tile {
    const HalfBlock& block;
    const Half* a;
    const Half* panels;
    ptrdiff_t panelLength;
    Half* c;
    int64_t last;  // columns of the last vector that count
};

// Adds the products of lane kLane of each row with one step's columns.
template <int kLane, int kR, int kV>
HALYARD_HALF_INLINE void addProducts(HalfVector (&sums)[kR][kV], const HalfVector (&rows)[kR],
                                     const Half* w, ptrdiff_t panelLength) {
    HalfVector columns[kV];
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        columns[v] = loadHalves(w + v * panelLength);
    }
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            sums[r][v] = mulAddLane<kLane>(sums[r][v], columns[v], rows[r]);
        }
    }
}

template <int kR, int kV, int... kLane>
HALYARD_HALF_INLINE void addSteps(HalfVector (&sums)[kR][kV], const HalfVector (&rows)[kR],
                                  const Half* w, ptrdiff_t panelLength,
                                  std::integer_sequence<int, kLane...> /*lanes*/) {
    (addProducts<kLane>(sums, rows, w + kLane * kLanes, panelLength), ...);
}

template <int kR, int kV>
void tile(const Tile& t) {
    const HalfBlock& block = t.block;
    const ptrdiff_t panelLength = t.panelLength;
    HalfVector sums[kR][kV];
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        const HalfVector bias = loadHalves(t.panels + v * panelLength);
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            sums[r][v] = bias;
        }
    }
    const Half* w = t.panels + kLanes;
    for (const ptrdiff_t run : block.runs) {
        const Half* rows[kR];
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            rows[r] = t.a + run + r * block.aRow;
        }
        HalfVector x[kR];
        int64_t left = block.runLength;
        for (; left >= kLanes; left -= kLanes) {
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                x[r] = loadHalves(rows[r]);
                rows[r] += kLanes;
            }
            addSteps(sums, x, w, panelLength, std::make_integer_sequence<int, 8>());
            w += 8 * kLanes;
        }
        if (left >= 4) {
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                x[r] = loadFourHalves(rows[r]);
                rows[r] += 4;
            }
            addSteps(sums, x, w, panelLength, std::make_integer_sequence<int, 4>());
            w += 4 * kLanes;
            left -= 4;
        }
        for (; left > 0; --left) {
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                x[r] = loadOneHalf(rows[r]);
                ++rows[r];
            }
            addSteps(sums, x, w, panelLength, std::make_integer_sequence<int, 1>());
            w += kLanes;
        }
    }
    const HalfVector low = broadcastHalf(block.low);
    const HalfVector high = broadcastHalf(block.high);
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        Half* const to = t.c + r * block.cRow;
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            const HalfVector y = clampHalves(sums[r][v], low, high);
            if (v + 1 < kV || t.last == kLanes) {
                storeHalves(y, to + v * kLanes);
            } else {
                storeFirstHalves(y, to + v * kLanes, t.last);
            }
        }
    }
}

template <int kV, int... kR>
constexpr auto tilesOf(std::integer_sequence<int, kR...> /*rows*/) {
    return std::array{&tile<kR + 1, kV>...};
}

// By the number of rows, counted from 1.
template <int kV>
constexpr auto kTiles =
        tilesOf<kV>(std::make_integer_sequence<int, kV == kVectorsOfFew ? kFewRows : kRows>());

template <int kV>
void computePanels(const HalfBlock& block, int64_t column, const Half* panels,
                   ptrdiff_t panelLength) {
    constexpr auto kMost = static_cast<int64_t>(kTiles<kV>.size());
    const int64_t last = std::min(block.columns - column - (kV - 1) * kLanes, kLanes);
    // Of about as many rows each: one of a few would wait for its sums.
    const int64_t tiles = (block.rows + kMost - 1) / kMost;
    for (int64_t line = 0; line < block.lines; ++line) {
        const Half* const a = block.a + line * block.aLine;
        Half* const c = block.c + line * block.cLine + column;
        for (int64_t i = 0; i < tiles; ++i) {
            const int64_t row = block.rows * i / tiles;
            const int64_t rows = block.rows * (i + 1) / tiles - row;
            kTiles<kV>[static_cast<size_t>(rows - 1)]({.block = block,
                                                       .a = a + row * block.aRow,
                                                       .panels = panels,
                                                       .panelLength = panelLength,
                                                       .c = c + row * block.cRow,
                                                       .last = last});
        }
    }
}

void compute(const HalfBlock& block) {
    const auto depth = static_cast<int64_t>(block.runs.size()) * block.runLength;
    const ptrdiff_t panelLength = (depth + 1) * kLanes;
    const Half* panels = block.panels;
    for (int64_t column = 0; column < block.columns;) {
        const int64_t vectors = (block.columns - column + kLanes - 1) / kLanes;
        int64_t done = 1;
        if (block.rows <= kFewRows && vectors >= kVectorsOfFew) {
            computePanels<kVectorsOfFew>(block, column, panels, panelLength);
            done = kVectorsOfFew;
        } else if (vectors >= kVectors) {
            computePanels<kVectors>(block, column, panels, panelLength);
            done = kVectors;
        } else {
            computePanels<1>(block, column, panels, panelLength);
        }
        column += done * kLanes;
        panels += done * panelLength;
    }
}

constexpr HalfGemm kForm = {.tile = "8x16",
                            .tileRows = kRows,
                            .lanes = kLanes,
                            .tileLanes = kLanes * kVectors,
                            .compute = compute};

}  // namespace
#endif

const HalfGemm* halfGemm(InstructionSet set) {
#if defined(__aarch64__)
    return hasHalfArithmetic(set) ? &kForm : nullptr;
#else
    static_cast<void>(set);
    return nullptr;
#endif
}

}  // namespace halyard::engine::cpu
