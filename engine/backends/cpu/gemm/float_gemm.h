// SPDX-License-Identifier: Apache-2.0
//
// Products of float matrices, one of which is packed beforehand: what convolutions, fully connected
// layers and gates spend their time on.
//
// The left matrix is read where it lies. A row of it is a number of runs, each of neighbouring
// elements: for a convolution without dilation a run is one row of the filter's window, for a plain
// product there is one run. Rows come in lines: inside one they lie a constant distance apart, as
// the windows of one line of spatial positions do.
//
// The right matrix and the bias are packed into panels of as many columns as a vector has lanes:
// [panel][bias, then each k][lane], with zeros behind the last column. Of few rows, which wait for
// what they are multiplied with, the right matrix may be bfloat16, in two bytes an element; biases
// stay floats.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/backends/cpu/hardware/l1d_sets.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

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

// Of one panel of a matrix with `depth` rows, in floats: whole vectors.
constexpr int64_t panelLengthOf(int64_t lanes, int64_t depth, bool bfloats) {
    return ((bfloats ? depth / 2 + depth % 2 : depth) + 1) * lanes;
}

// One form of the product.
struct FloatGemm {
    std::string_view tile;  // "14x2": rows and vectors that are computed together
    int64_t tileRows = 1;   // blocks of so many rows are fastest
    int64_t lanes = 1;      // columns of a panel
    int64_t tileLanes = 1;  // columns of a tile
    void (*compute)(const FloatBlock& block) = nullptr;
    // With panels of bfloat16, which `panels` points to all the same: the same sums, in the same
    // order. For up to `fewRows` rows in a line; more are computed so many at a time.
    void (*computeBfloats)(const FloatBlock& block) = nullptr;
    int64_t fewRows = 1;
    // to[row][column] = a[row][column] * scales[column], of rows without gaps.
    void (*scaleRows)(const float* a, const float* scales, int64_t rows, int64_t columns,
                      float* to) = nullptr;

    int64_t panels(int64_t columns) const { return (columns + lanes - 1) / lanes; }
    int64_t panelLength(int64_t depth, bool bfloats = false) const {
        return panelLengthOf(lanes, depth, bfloats);
    }
};

const FloatGemm& floatGemm(InstructionSet set);

}  // namespace halyard::engine::cpu
