// SPDX-License-Identifier: Apache-2.0
//
// A part of a product of float matrices (float_gemm.h), as its tiles see it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/backends/cpu/hardware/l1d_sets.h"

namespace halyard::engine::cpu {

// c[row][column] = clamp(bias[column] + sum over k of a[row][k] * w[k][column], low, high).
struct FloatBlock {
    const float* a = nullptr;
    ptrdiff_t aLine = 0;              // elements from a line to the next
    ptrdiff_t aRow = 0;               // and from a row to the next
    std::span<const ptrdiff_t> runs;  // where each run starts, in elements from the row's start
    int64_t runLength = 0;
    int64_t lines = 0;
    int64_t rows = 0;               // of each line
    const float* panels = nullptr;  // from the first wanted column on, which starts a panel
    int64_t columns = 0;
    ptrdiff_t later = 0;  // bytes from a panel to what is to be fetched beside it; 0: nothing
    // The panels are more than L2 keeps from one time to the next, and one row is
    // multiplied with them.
    bool streamsWeights = false;
    L1dSets l1d = {};  // of the processor
    float* c = nullptr;
    ptrdiff_t cLine = 0;
    ptrdiff_t cRow = 0;
    float low = 0.0F;
    float high = 0.0F;
};

}  // namespace halyard::engine::cpu
