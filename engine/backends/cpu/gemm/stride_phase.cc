// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/stride_phase.h"

#include "engine/graph/shape_inference.h"

namespace halyard::engine::cpu {
namespace {

int64_t tapsOf(int64_t phase, int64_t stride, int64_t filter) {
    return phase < filter ? (filter - phase + stride - 1) / stride : 0;
}

}  // namespace

PhaseAxis PhaseAxis::of(int64_t phase, int64_t stride, int64_t filter, int64_t cropped,
                        int64_t output) {
    PhaseAxis axis;
    axis.first = (phase - cropped % stride + stride) % stride;
    axis.count = axis.first < output ? (output - axis.first + stride - 1) / stride : 0;
    axis.taps = tapsOf(phase, stride, filter);
    // The last tap that the first position sees is that of the input's position of this number.
    axis.before = axis.taps == 0 ? 0 : axis.taps - 1 - (axis.first + cropped) / stride;
    return axis;
}

int64_t StridePhase::tapRows() const {
    const int64_t rows = tapsOf(row, window.strideH, filterH);
    return tapsOf(column, window.strideW, filterW) == 0 ? 0 : rows;
}

int64_t StridePhase::tapColumns() const {
    const int64_t columns = tapsOf(column, window.strideW, filterW);
    return tapsOf(row, window.strideH, filterH) == 0 ? 0 : columns;
}

FilterTaps StridePhase::taps(int64_t depth) const {
    return {.channels = channels,
            .filterH = filterH,
            .filterW = filterW,
            .depth = depth,
            .rows = tapRows(),
            .firstRow = row,
            .rowStep = window.strideH,
            .columns = tapColumns(),
            .firstColumn = column,
            .columnStep = window.strideW};
}

Result<GemmShape> StridePhase::shapeFor(const Shape& x, const Shape& output) const {
    HALYARD_ASSIGN_OR_RETURN(
            const ResolvedWindow resolved,
            resolveTransposeWindow(window, x[1], x[2], static_cast<int32_t>(filterH),
                                   static_cast<int32_t>(filterW), output[1], output[2]));
    if (mergesLine && (resolved.left % window.strideW != 0 || output[2] % window.strideW != 0)) {
        return internalError("stride phases were merged that do not end together");
    }
    const PhaseAxis down =
            PhaseAxis::of(row, window.strideH, filterH, resolved.top, resolved.outputH);
    const PhaseAxis across =
            PhaseAxis::of(column, window.strideW, filterW, resolved.left, resolved.outputW);
    const bool hasTaps = down.taps > 0 && across.taps > 0;
    const int64_t line = int64_t{output[2]} * channels;
    GemmShape shape;
    shape.batches = x[0];
    shape.inputH = x[1];
    shape.inputW = x[2];
    shape.inputC = x[3];
    shape.outputH = down.count;
    shape.outputW = across.count;
    shape.outputC = channels * mergedPhases();
    shape.filterH = tapRows();
    shape.filterW = tapColumns();
    shape.top = hasTaps ? down.before : 0;
    shape.left = hasTaps ? across.before : 0;
    shape.output = GemmOutput{.begin = down.first * line + across.first * channels,
                              .batch = output[1] * line,
                              .line = window.strideH * line,
                              .row = window.strideW * channels};
    return shape;
}

}  // namespace halyard::engine::cpu
