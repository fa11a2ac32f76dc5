// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/grouped_choice.h"

#include <algorithm>
#include <string>

#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

// Of a sum, in steps of depth: its bias, its bounds and its store; and of the GEMM of a group,
// whose runs are short, more.
constexpr int64_t kExtraSteps = 8;
// A spatial position of the input is read once, and each of its channels written and read.
constexpr int64_t kSpreadSteps = 2;

int64_t groupDepthOf(const GemmLayer& layer) {
    return layer.inputC / layer.groups;
}

int64_t tapsOf(const GemmLayer& layer) {
    return layer.filterH * layer.filterW;
}

bool isInt8(const GemmLayer& layer) {
    return layer.elements == GemmLayer::Elements::INT8;
}

// Vectors of multiply-adds for a spatial position of the output.
int64_t gemmSteps(const GemmLayer& layer) {
    const int64_t depth = ceilDivide(groupDepthOf(layer), isInt8(layer) ? layer.depthTogether : 1);
    return layer.groups * ceilDivide(layer.groupColumns(), layer.lanes) *
           (tapsOf(layer) * depth + kExtraSteps);
}

int64_t groupedSteps(const GemmLayer& layer) {
    const int64_t depth =
            ceilDivide(groupDepthOf(layer), isInt8(layer) ? layer.groupedTogether : 1);
    const int64_t vectors = ceilDivide(
            layer.groups, groupsOfVector(groupDepthOf(layer), layer.groupColumns(), layer.lanes));
    return vectors * (tapsOf(layer) * depth + kExtraSteps +
                      kSpreadSteps * depth * layer.strideH * layer.strideW);
}

Status isLegal(const GemmLayer& layer) {
    if (isInt8(layer) && layer.groupedTogether == 0) {
        return unsupported("the processor adds no pairs of 16-bit products");
    }
    if (groupsOfVector(groupDepthOf(layer), layer.groupColumns(), layer.lanes) < 2) {
        return unsupported("a vector of " + std::to_string(layer.lanes) +
                           " lanes has the channels of one group");
    }
    return {};
}

Form gemmForm(const GemmLayer& layer) {
    if (!isInt8(layer)) {
        return Form::FLOAT_GEMM;
    }
    return layer.depthTogether < 4 ? Form::INT8_GEMM_WIDENED : Form::INT8_GEMM_DOT;
}

std::string costText(int64_t steps, int64_t others) {
    return "costs " + std::to_string(steps) + " vectors for a spatial position, and the other " +
           std::to_string(others);
}

}  // namespace

int64_t groupsOfVector(int64_t groupDepth, int64_t groupColumns, int64_t lanes) {
    return std::min(lanes / groupDepth, lanes / groupColumns);
}

GroupedChoice chooseGrouped(const GemmLayer& layer) {
    GroupedChoice choice;
    if (!choice.lost.takes(Form::GROUPED_VECTORS, isLegal(layer))) {
        return choice;
    }
    const int64_t gemm = gemmSteps(layer);
    const int64_t grouped = groupedSteps(layer);
    if (grouped < gemm) {
        choice.form = Form::GROUPED_VECTORS;
        choice.lost.add(gemmForm(layer), costText(gemm, grouped));
    } else {
        choice.lost.add(Form::GROUPED_VECTORS, costText(grouped, gemm));
    }
    return choice;
}

}  // namespace halyard::engine::cpu
