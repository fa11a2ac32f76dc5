// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/transpose_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

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

// Each product is then added to a sum, about one in a cycle.
int64_t col2imCycles(const TransposeLayer& layer, const CpuTuning& tuning) {
    GemmLayer products;
    products.elements = layer.elements;
    products.rows = layer.batches * layer.inputH * layer.inputW;
    products.outputC = layer.filterH * layer.filterW * layer.outputC;
    products.runLength = layer.inputC;
    return vectorGemmCycles(products, tuning) + products.rows * products.outputC;
}

std::string costText(int64_t cycles, int64_t others, Form other) {
    return "costs " + std::to_string(cycles) + " cycles, and the " + std::string(toString(other)) +
           " " + std::to_string(others);
}

}  // namespace

Status isLegalWithCol2im(const TransposeLayer& layer, const CpuTuning& tuning) {
    if (layer.elements != GemmLayer::Elements::FLOAT) {
        return unsupported("takes floats of 32 bits");
    }
    if (layer.batches == kUnknownExtent || layer.inputH == kUnknownExtent ||
        layer.inputW == kUnknownExtent) {
        return unsupported("how large the feature map is, only a run tells");
    }
    const int64_t products = layer.filterH * layer.filterW * layer.outputC;
    return layer.inputW <= tuning.tiling.mostOperations / layer.inputC / products
                   ? Status()
                   : unsupported("a line of the input is too much for a work item");
}

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
    // With as many columns or fewer, and results that are neighbours, merged phases never cost
    // more than phases apart.
    struct Row {
        Form form;
        int64_t cycles;
    };
    std::vector<Row> rows;
    if (mayMerge) {
        rows.push_back({Form::MERGED_STRIDE_PHASES, cyclesOf(layer, true, tuning)});
    }
    rows.push_back({Form::STRIDE_PHASES, cyclesOf(layer, false, tuning)});
    if (choice.lost.takes(Form::GEMM_AND_COL2IM, isLegalWithCol2im(layer, tuning))) {
        rows.push_back({Form::GEMM_AND_COL2IM, col2imCycles(layer, tuning)});
    }
    const Row best = *std::ranges::min_element(rows, {}, &Row::cycles);
    choice.form = best.form;
    choice.cycles = static_cast<double>(best.cycles);
    for (const Row& row : rows) {
        if (row.form != best.form) {
            choice.lost.add(row.form, costText(row.cycles, best.cycles, best.form));
        }
    }
    return choice;
}

}  // namespace halyard::engine::cpu
