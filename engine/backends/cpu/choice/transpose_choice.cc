// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/transpose_choice.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace halyard::engine::cpu {
namespace {

int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

// Of an axis: taps of the phase that begins with the filter's element `phase`.
int64_t tapsOf(int64_t phase, int64_t filter, int64_t stride) {
    return phase < filter ? ceilDivide(filter - phase, stride) : 0;
}

// Of all phases. Each has about as many rows as the others.
int64_t cyclesOf(const TransposeLayer& layer, bool mergesLine, const CpuTuning& tuning) {
    const int64_t rows = layer.batches * ceilDivide(layer.outputH, layer.strideH) *
                         ceilDivide(layer.outputW, layer.strideW);
    int64_t cycles = 0;
    for (int64_t row = 0; row < layer.strideH; ++row) {
        for (int64_t column = 0; column < (mergesLine ? 1 : layer.strideW); ++column) {
            GemmLayer phase;
            phase.elements = layer.elements;
            phase.rows = rows;
            phase.outputC = layer.outputC * (mergesLine ? layer.strideW : 1);
            phase.runs = tapsOf(row, layer.filterH, layer.strideH);
            phase.runLength = tapsOf(column, layer.filterW, layer.strideW) * layer.inputC;
            cycles += vectorGemmCycles(phase, tuning);
        }
    }
    return cycles;
}

std::string costText(int64_t cycles, int64_t others, Form other) {
    return "costs " + std::to_string(cycles) + " cycles, and the " + std::string(toString(other)) +
           " " + std::to_string(others);
}

}  // namespace

Status isLegalWithMergedPhases(const TransposeLayer& layer) {
    if (layer.strideW == 1) {
        return unsupported("a line has one stride phase");
    }
    if (layer.filterW % layer.strideW != 0) {
        return unsupported("stride phases have different taps");
    }
    if (layer.outputW == kUnknownExtent || layer.left == kUnknownExtent) {
        return unsupported("how wide the output is, only a run tells");
    }
    if (layer.left % layer.strideW != 0 || layer.outputW % layer.strideW != 0) {
        return unsupported("stride phases begin or end at different positions of the input");
    }
    return {};
}

TransposeChoice chooseTranspose(const TransposeLayer& layer, const CpuTuning& tuning) {
    TransposeChoice choice;
    const bool mayMerge =
            choice.lost.takes(Form::MERGED_STRIDE_PHASES, isLegalWithMergedPhases(layer));
    if (layer.batches == kUnknownExtent || layer.outputH == kUnknownExtent ||
        layer.outputW == kUnknownExtent) {
        choice.form = mayMerge ? Form::MERGED_STRIDE_PHASES : Form::STRIDE_PHASES;
        return choice;
    }
    const int64_t apart = cyclesOf(layer, false, tuning);
    choice.cycles = static_cast<double>(apart);
    if (!mayMerge) {
        return choice;
    }
    // With as many columns or fewer, and results that are neighbours, merged phases never cost
    // more.
    const int64_t merged = cyclesOf(layer, true, tuning);
    choice.form = Form::MERGED_STRIDE_PHASES;
    choice.cycles = static_cast<double>(merged);
    choice.lost.add(Form::STRIDE_PHASES, costText(apart, merged, choice.form));
    return choice;
}

}  // namespace halyard::engine::cpu
