// SPDX-License-Identifier: Apache-2.0
//
// Pointwise convolutions whose input is scaled channel by channel, as squeeze-and-excite blocks do:
// MUL of a feature map and a number for each of its channels, and the convolution that alone reads
// the result. Rows are scaled on their way into the product, so that the scaled feature map is
// never there as a whole.

#pragma once

#include <memory>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of floats, with shapes that are known.
bool isSeScaledConv(const Graph& graph, const Node& multiplication, const Node& convolution);

// Of arguments.node and the first of arguments.others, which are one; the rest is its epilogue.
Result<std::unique_ptr<const StepKernel>> compileSeScaledConv(const KernelArguments& arguments,
                                                              const CpuTarget& target);

}  // namespace halyard::engine::cpu
