// SPDX-License-Identifier: Apache-2.0
//
// Blocks of quantized_block.h on NEON, cut into tiles.
// For sources that targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_NEON_QUANTIZED_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_NEON_QUANTIZED_GEMM_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_NEON_QUANTIZED_GEMM_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_NEON_QUANTIZED_GEMM_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/neon_dot_tiles-inl.h"
#include "engine/backends/cpu/gemm/neon_row_tiles-inl.h"
#include "engine/backends/cpu/gemm/neon_widening_tiles-inl.h"
#include "engine/backends/cpu/gemm/quantized_block.h"
#include "engine/backends/cpu/hardware/l1d_sets.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// The sum of a row's bytes, modulo 2^32.
HWY_INLINE uint32_t sumOfRun(const int8_t* a, int64_t length) {
    int32x4_t sums = vdupq_n_s32(0);
    int64_t k = 0;
    for (; k + 16 <= length; k += 16) {
        sums = vpadalq_s16(sums, vpaddlq_s8(vld1q_s8(a + k)));
    }
    auto sum = static_cast<uint32_t>(vaddvq_s32(sums));
    for (; k < length; ++k) {
        sum += static_cast<uint32_t>(int32_t{a[k]});
    }
    return sum;
}

inline void sumRows(const QuantizedBlock& block) {
    int32_t* to = block.rowSums;
    for (int64_t line = 0; line < block.lines; ++line) {
        for (int64_t row = 0; row < block.rows; ++row) {
            const auto* const a =
                    static_cast<const int8_t*>(block.a) + line * block.aLine + row * block.aRow;
            uint32_t sum = 0;
            for (const ptrdiff_t run : block.runs) {
                sum += sumOfRun(a + run, block.runLength);
            }
            *to++ = static_cast<int32_t>(sum);
        }
    }
}

// By the number of rows of a tile, counted from 1.
template <typename Tiles, int kPanels, int... kR>
constexpr auto formsOf(std::integer_sequence<int, kR...> /*rows*/) {
    return std::array{&Tiles::template compute<kR + 1, kPanels>...};
}
template <typename Tiles, int kPanels>
constexpr auto kForms =
        formsOf<Tiles, kPanels>(std::make_integer_sequence<int, Tiles::rowsOf(kPanels)>());

// Tiles of as many rows each.
struct AlikeTiles {
    int64_t rows = 0;
    int64_t count = 0;
};

// Rows, as tiles of `most` at most that are as tall as they can be alike: of multiples of kStep,
// but for the last one.
template <int kStep>
std::array<AlikeTiles, 3> cutRows(int64_t rows, int64_t most) {
    const int64_t steps = (rows + kStep - 1) / kStep;
    const int64_t mostSteps = std::max<int64_t>(most / kStep, 1);
    const int64_t tiles = (steps + mostSteps - 1) / mostSteps;
    const int64_t lower = steps / tiles * kStep;
    const int64_t missing = steps * kStep - rows;
    const int64_t last = missing > 0 ? 1 : 0;
    return {{{lower + kStep, steps % tiles},
             {lower, tiles - steps % tiles - last},
             {lower - missing, last}}};
}

// Columns [column, column + kPanels * kPanelColumns) of all rows.
template <typename Tiles, int kPanels>
void computePanels(const QuantizedBlock& block, int64_t column, const std::byte* panels,
                   size_t panelBytes) {
    constexpr int kMost = Tiles::rowsOf(kPanels);
    const std::array<AlikeTiles, 3> cut =
            cutRows<Tiles::kRowStep>(block.rows, rowsThatFitL1d(kMost, block.aRow, block.l1d));
    const ptrdiff_t elementBytes = block.sums != nullptr ? sizeof(int32_t) : 1;
    auto* const c = block.sums != nullptr ? reinterpret_cast<std::byte*>(block.sums)
                                          : reinterpret_cast<std::byte*>(block.c);
    RowTiles tiles = {
            .aRow = block.aRow,
            .runs = block.runs,
            .runLength = block.runLength,
            .panels = panels,
            .panelBytes = panelBytes,
            .cRow = block.cRow * elementBytes,
            .wantsSums = block.sums != nullptr,
            .bytesOfType =
                    byteBoundsOf<true>(block.zeroPoint, block.low, block.high) != ByteBounds::ANY,
            .zeroPoint = block.zeroPoint,
            .low = block.low,
            .high = block.high,
            .weightsZero = block.weightsZero,
            .lastColumns = std::min<int64_t>(block.columns - column - (kPanels - 1) * kPanelColumns,
                                             kPanelColumns),
            .ahead = panels + kPanels * panelBytes};
    // A single tile reads its panels as fast as they come: what is fetched for the next ones only
    // delays them.
    const int64_t all = block.lines * (cut[0].count + cut[1].count + cut[2].count);
    tiles.share = all > 1 ? kPanels * static_cast<ptrdiff_t>(panelBytes) / all : 0;
    for (int64_t line = 0; line < block.lines; ++line) {
        const auto* const a = static_cast<const int8_t*>(block.a) + line * block.aLine;
        int64_t row = 0;
        for (const AlikeTiles& alike : cut) {
            if (alike.count == 0) {
                continue;
            }
            const ptrdiff_t to = line * block.cLine + row * block.cRow + column;
            tiles.a = a + row * block.aRow;
            tiles.c = c + to * elementBytes;
            tiles.rowSums =
                    block.rowSums == nullptr ? nullptr : block.rowSums + line * block.rows + row;
            tiles.tiles = alike.count;
            kForms<Tiles, kPanels>[static_cast<size_t>(alike.rows - 1)](tiles);
            tiles.ahead += alike.count * tiles.share;
            row += alike.count * alike.rows;
        }
    }
}

template <typename Tiles>
void computeBlock(const QuantizedBlock& block) {
    if (block.rows == 0) {
        return;
    }
    if (block.rowSums != nullptr) {
        sumRows(block);
    }
    const int64_t depth = static_cast<int64_t>(block.runs.size()) * block.runLength;
    const auto panelBytes = static_cast<size_t>(kPanelHead + depth * kPanelColumns);
    const std::byte* panels = block.panels;
    for (int64_t column = 0; column < block.columns;) {
        const int64_t left = (block.columns - column + kPanelColumns - 1) / kPanelColumns;
        int64_t done = 1;
        if (block.rows <= Tiles::rowsOf(4) && left >= 4 && Tiles::kMostPanels >= 4) {
            if constexpr (Tiles::kMostPanels >= 4) {
                computePanels<Tiles, 4>(block, column, panels, panelBytes);
            }
            done = 4;
        } else if (left >= 2 && Tiles::kMostPanels >= 2) {
            if constexpr (Tiles::kMostPanels >= 2) {
                computePanels<Tiles, 2>(block, column, panels, panelBytes);
            }
            done = 2;
        } else {
            computePanels<Tiles, 1>(block, column, panels, panelBytes);
        }
        column += done * kPanelColumns;
        panels += static_cast<size_t>(done) * panelBytes;
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
