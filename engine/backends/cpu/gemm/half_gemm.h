// SPDX-License-Identifier: Apache-2.0
//
// GEMM of IEEE binary16 with sums of binary16: FEAT_FP16's fmla by lane, 8 multiply-adds an
// instruction, as XNNPACK's f16 kernels have it. Each step is one fused multiply-add in binary16,
// in the order of k: results are as exact as relaxed models ask for, and no more.
//
// A is read where it lies, as float_gemm.h has it. B and the bias are packed into panels of 8
// columns: [panel][bias, then each k][lane], with zeros behind the last column.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/half.h"

namespace halyard::engine::cpu {

// c[row][column] = clamp(bias[column] + sum over k of a[row][k] * w[k][column], low, high). A NaN
// stays one. Offsets are in elements, as those of a FloatBlock.
struct HalfBlock {
    const Half* a = nullptr;
    ptrdiff_t aLine = 0;
    ptrdiff_t aRow = 0;
    std::span<const ptrdiff_t> runs;
    int64_t runLength = 0;
    int64_t lines = 0;
    int64_t rows = 0;              // of each line
    const Half* panels = nullptr;  // from the first wanted column on, which starts a panel
    int64_t columns = 0;
    Half* c = nullptr;
    ptrdiff_t cLine = 0;
    ptrdiff_t cRow = 0;
    Half low;
    Half high;
};

struct HalfGemm {
    std::string_view tile;  // "8x16": rows by columns
    int64_t tileRows = 1;
    int64_t lanes = 1;      // columns of a panel
    int64_t tileLanes = 1;  // columns of a tile
    void (*compute)(const HalfBlock& block) = nullptr;

    int64_t panels(int64_t columns) const { return (columns + lanes - 1) / lanes; }
    // In elements.
    int64_t panelLength(int64_t depth) const { return (depth + 1) * lanes; }
};

// Null where the instruction set has no arithmetic of binary16.
const HalfGemm* halfGemm(InstructionSet set);

}  // namespace halyard::engine::cpu
