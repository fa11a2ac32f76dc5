// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions, each with the convolution by one pixel that gives it its picture (the
// expansion) and an activation between them. A thread computes some channels of the one and then of
// the other, in memory of its own: the expanded picture is never there as a whole, and what the
// depthwise convolution reads comes from no other core. For pictures that are small next to a
// cache; large ones are cut into lines (inverted_residual.h).

#pragma once

#include <memory>

#include "engine/backends/cpu/depthwise/expanded_picture.h"
#include "engine/backends/cpu/gemm/tile_matmul.h"
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

// Whether the nodes are faster together on so many threads.
bool paysByChannels(const Graph& graph, const ExpandedDepthwise& nodes, InstructionSet set,
                    size_t threads);

// Of arguments.node and the first one or two of arguments.others, for which it pays.
Result<std::unique_ptr<const StepKernel>> compileExpandedDepthwise(const KernelArguments& arguments,
                                                                   InstructionSet set);

// The same of floats.
bool floatsPayByChannels(const ExpandedPicture& picture, InstructionSet set);
Result<std::unique_ptr<const StepKernel>> compileExpandedFloats(const KernelArguments& arguments,
                                                                InstructionSet set);

// And of bytes, where tiles multiply them: `form` is one that there is.
bool bytesPayByChannels(const Graph& graph, const ExpandedDepthwise& nodes,
                        const ExpandedPicture& picture, InstructionSet set, size_t threads);
Result<std::unique_ptr<const StepKernel>> compileExpandedBytes(const KernelArguments& arguments,
                                                               const TileMatmul& form,
                                                               InstructionSet set);

}  // namespace halyard::engine::cpu
