// SPDX-License-Identifier: Apache-2.0
//
// Stages: what the nodes behind the first of a step make of each element of its result before it is
// stored: activations, and arithmetic with a tensor of the same shape or one that is repeated.

#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/graph/graph.h"

namespace halyard::engine::gpu {

// More would be too many arguments for a kernel.
inline constexpr size_t kMostStages = 4;

// Whether the node makes each element of `result`, which it reads, an element of its own result.
bool isStage(const Graph& graph, const Node& node, TensorId result);

// Nodes of the step that are stages of one result.
struct StageNodes {
    size_t first = 1;
    size_t end = 1;
    std::string_view name = "STAGES";
};

// For a kernel whose results are stored as R: STAGE_PARAMETERS behind its own parameters, and
// STAGES(v, at), statements that make v the element that is stored at number `at`. With another
// name for INNER_STAGES, whose parameters are before the others.
struct Stages {
    std::string defines;
    std::vector<std::variant<Operand, ByValue>> arguments;
};
Stages stagesOf(StepPlan& step, const StageNodes& nodes);
inline Stages stagesOf(StepPlan& step) {
    return stagesOf(step, {.first = 1, .end = step.nodeCount()});
}

// Stands before the text of such a kernel.
inline constexpr std::string_view kStagesText = R"(
#define A R
#define B R
#ifndef STAGES
#define STAGES_PARAMETERS
#define STAGES(v, at)
#endif
#ifndef INNER_STAGES
#define INNER_STAGES_PARAMETERS
#define INNER_STAGES(v, at)
#endif
#define STAGE_PARAMETERS INNER_STAGES_PARAMETERS STAGES_PARAMETERS
)";

}  // namespace halyard::engine::gpu
