// SPDX-License-Identifier: Apache-2.0
//
// A node as the choice of its form sees it (choice/gemm_choice.h).

#pragma once

#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/graph/graph.h"

namespace halyard::engine::cpu {

// Of a Conv2d or a FullyConnected, but for what the micro-kernel and the options say.
GemmLayer gemmLayerOf(const Graph& graph, const Node& node, const ConvGemmFilter& filter);

// Of a node that is compiled to floatGemm(set), or to a form that is measured against it.
GemmLayer gemmLayerOf(const KernelArguments& arguments, const ConvGemmFilter& filter,
                      InstructionSet set);

}  // namespace halyard::engine::cpu
