// SPDX-License-Identifier: Apache-2.0
//
// The block of a product that the micro-kernels of quantized_gemm.h compute, whose panels lie as it
// says.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/backends/cpu/hardware/l1d_sets.h"

namespace halyard::engine::cpu {

struct QuantizedBlock {
    const void* a = nullptr;          // of the form's element type
    ptrdiff_t aLine = 0;              // elements from a line to the next
    ptrdiff_t aRow = 0;               // and from a row to the next
    std::span<const ptrdiff_t> runs;  // where each run starts, in elements from the row's start
    int64_t runLength = 0;            // a multiple of depthGroup
    int64_t lines = 0;
    int64_t rows = 0;                   // of each line
    const std::byte* panels = nullptr;  // from the first wanted column on, which starts a panel
    int64_t columns = 0;
    uint8_t* c = nullptr;  // signed or unsigned bytes, as the zero point and the bounds have it
    ptrdiff_t cLine = 0;
    ptrdiff_t cRow = 0;
    int32_t zeroPoint = 0;  // of the output
    int32_t low = 0;        // and its bounds
    int32_t high = 0;
    // Where the sums themselves are wanted: they go here, in the place of c, and nothing is
    // rounded.
    int32_t* sums = nullptr;
    // Where weights are bytes with a zero point: that, with room for a sum per row of all lines.
    int32_t weightsZero = 0;
    int32_t* rowSums = nullptr;
    bool hasSmallWeights = false;  // where they are signed bytes, none of them is -128
    L1dSets l1d = {};              // of the processor
};

}  // namespace halyard::engine::cpu
