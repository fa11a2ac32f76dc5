// SPDX-License-Identifier: Apache-2.0
//
// HorizontalFusion: GEMM of one x by several weights of one shape in one launch. The index of the
// launch's third dimension is that of the fully connected layer.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Nodes of a step: a fully connected layer and its epilogue.
struct FusedBranch {
    size_t first = 0;
    size_t end = 0;
    Activation activation = Activation::NONE;
};

// For a kernel of kMultiplyAccumulateText: PARAMETERS, BIND_ALL, GROUP and the epilogue's names, so
// that what a horizontally fused layer has of its own goes by the names that it would have alone.
// The arguments come behind x and the geometry.
struct HorizontalFusionText {
    std::string defines;
    std::vector<std::variant<Operand, ByValue>> arguments;
};
HorizontalFusionText textOf(StepPlan& step, std::span<const FusedBranch> fusedBranches);

}  // namespace halyard::engine::gpu
