// SPDX-License-Identifier: Apache-2.0
//
// Stride phases: a transposed convolution as convolutions of stride 1. Spatial positions of the
// output that lie a stride apart, counted from where the first filter begins, see the same taps of
// the filter, at neighbouring spatial positions of the input. Each phase has every strideH-th row
// and strideW-th column of the taps, and writes every strideH-th line and strideW-th position of
// the output.

#pragma once

#include <cstdint>

#include "engine/backends/cpu/gemm/filter_taps.h"
#include "engine/backends/cpu/gemm/gemm_tiling.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::cpu {

// One phase of one axis.
struct PhaseAxis {
    int64_t first = 0;   // of the output
    int64_t count = 0;   // positions of the output, a stride apart
    int64_t taps = 0;    // 0: where the stride is larger than the filter
    int64_t before = 0;  // of the input's padding that the first window covers; negative: of the
                         // input, what lies before it

    // `phase`: the first tap, below `stride`. `cropped`: of the output, before its first position.
    static PhaseAxis of(int64_t phase, int64_t stride, int64_t filter, int64_t cropped,
                        int64_t output);
};

// Of a TransposeConv2d.
struct StridePhase {
    Window2d window;
    int64_t filterH = 1, filterW = 1;  // of the node
    int64_t channels = 1;              // of the output
    int64_t row = 0, column = 0;       // the first tap
    // All phases of a line at once: their results are neighbours, and columns of one GEMM.
    bool mergesLine = false;

    int64_t mergedPhases() const { return mergesLine ? window.strideW : 1; }
    int64_t tapRows() const;
    int64_t tapColumns() const;
    // `depth`: channels of the input.
    FilterTaps taps(int64_t depth) const;
    // Without rows where the output is too small for the phase.
    Result<GemmShape> shapeFor(const Shape& x, const Shape& output) const;
};

}  // namespace halyard::engine::cpu
