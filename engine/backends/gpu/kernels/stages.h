// SPDX-License-Identifier: Apache-2.0
//
// Stages: what the nodes behind the first of a step make of each element of its result before it is
// stored: activations, and sums with a tensor of the same shape.

#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/backends/gpu/launch.h"
#include "engine/backends/gpu/step_plan.h"
#include "engine/graph/graph.h"

namespace halyard::engine::gpu {

// More would be too many arguments for a kernel.
inline constexpr size_t kMostStages = 4;

// Whether the node makes each element of `result`, which it reads, an element of its own result.
bool isStage(const Graph& graph, const Node& node, TensorId result);

// For a kernel whose results are stored as R: STAGE_PARAMETERS behind its own parameters, and
// STAGES(v, at), statements that make v the element that is stored at number `at`.
struct Stages {
    std::string defines;
    std::vector<std::variant<Operand, ByValue>> arguments;
};
Stages stagesOf(StepPlan& step);

// Stands before the text of such a kernel.
inline constexpr std::string_view kStagesText = R"(
#ifndef STAGES
#define STAGE_PARAMETERS
#define STAGES(v, at)
#endif
)";

}  // namespace halyard::engine::gpu
