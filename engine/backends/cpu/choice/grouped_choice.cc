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

// Vectors of multiply-adds for a spatial position of the output.
int64_t gemmSteps(const GemmLayer& layer) {
    return layer.groups * ceilDivide(layer.groupColumns(), layer.lanes) *
           (tapsOf(layer) * groupDepthOf(layer) + kExtraSteps);
}

int64_t groupedSteps(const GemmLayer& layer) {
    const int64_t depth = groupDepthOf(layer);
    const int64_t vectors =
            ceilDivide(layer.groups, groupsOfVector(depth, layer.groupColumns(), layer.lanes));
    return vectors * (tapsOf(layer) * depth + kExtraSteps +
                      kSpreadSteps * depth * layer.strideH * layer.strideW);
}

Status isLegal(const GemmLayer& layer) {
    if (layer.elements == GemmLayer::Elements::INT8) {
        return unsupported("takes floats");
    }
    if (groupsOfVector(groupDepthOf(layer), layer.groupColumns(), layer.lanes) < 2) {
        return unsupported("a vector of " + std::to_string(layer.lanes) +
                           " lanes has the channels of one group");
    }
    return {};
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
        choice.lost.add(Form::FLOAT_GEMM, costText(gemm, grouped));
    } else {
        choice.lost.add(Form::GROUPED_VECTORS, costText(grouped, gemm));
    }
    return choice;
}

}  // namespace halyard::engine::cpu
