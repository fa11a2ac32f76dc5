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

#include <cstdint>
#include <string_view>

#include "engine/backends/cpu/gemm/float_block.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

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
