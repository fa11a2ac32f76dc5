// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions of floats, each with the convolution by one pixel that gives it its
// picture (the expansion) and an activation between them. A thread computes some channels of the
// one and then of the other, in memory of its own: the expanded picture is never there as a whole,
// and what the depthwise convolution reads comes from no other core. For pictures that are small
// next to a cache; large ones are cut into lines (inverted_residual.h).

#pragma once

#include <memory>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// The nodes, which follow one another, or have an Activate between them.
struct ExpandedDepthwise {
    const Node& expansion;
    const Node& depthwise;
};

// Whether the nodes are faster together.
bool paysByChannels(const Graph& graph, const ExpandedDepthwise& nodes, InstructionSet set);

// Of arguments.node and the first one or two of arguments.others, for which it pays.
Result<std::unique_ptr<const StepKernel>> compileExpandedDepthwise(const KernelArguments& arguments,
                                                                   InstructionSet set);

}  // namespace halyard::engine::cpu
