// SPDX-License-Identifier: Apache-2.0
//
// Epilogue: what the nodes behind the first of a step make of each element of its result before it
// is stored: activations, and arithmetic with a tensor of the same shape or one that is repeated.

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
inline constexpr size_t kMaxEpilogueNodes = 4;

// Whether the node makes each element of `result`, which it reads, an element of its own result.
bool isEpilogueNode(const Graph& graph, const Node& node, TensorId result);

// Nodes of the step that are the epilogue of one result.
struct EpilogueNodes {
    size_t first = 1;
    size_t end = 1;
    std::string_view name = "EPILOGUE";
};

// For a kernel whose results are stored as R: EPILOGUES_PARAMETERS behind its own parameters, and
// EPILOGUE(v, at), statements that make v the element that is stored at number `at`. With another
// name for INNER_EPILOGUE, whose parameters are before the others.
struct Epilogue {
    std::string defines;
    std::vector<std::variant<Operand, ByValue>> arguments;
};
Epilogue epilogueOf(StepPlan& step, const EpilogueNodes& nodes);
inline Epilogue epilogueOf(StepPlan& step) {
    return epilogueOf(step, {.first = 1, .end = step.nodeCount()});
}

// Stands before the text of such a kernel.
inline constexpr std::string_view kEpilogueText = R"(
#define A R
#define B R
#ifndef EPILOGUE
#define EPILOGUE_PARAMETERS
#define EPILOGUE(v, at)
#endif
#ifndef INNER_EPILOGUE
#define INNER_EPILOGUE_PARAMETERS
#define INNER_EPILOGUE(v, at)
#endif
#define EPILOGUES_PARAMETERS INNER_EPILOGUE_PARAMETERS EPILOGUE_PARAMETERS
)";

}  // namespace halyard::engine::gpu
