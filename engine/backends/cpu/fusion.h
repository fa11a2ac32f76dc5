// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a partition CpuAcc computes together.

#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/node_by_node.h"

namespace halyard::engine::cpu {

struct Fusions {
    std::vector<FusedStep> steps;
    // By the first of nodes that might have been fused and are not: the forms, and why.
    std::unordered_map<const Node*, std::string> lost;
};

// Inverted residual blocks and depthwise convolutions with their expansions where that pays
// (choice/fused_choice.h), convolutions and fully connected layers, and scales of the channels that
// a pointwise convolution reads with that; each with the additions, the activations and what
// constants of the channels do after them, where no other node reads the intermediate tensor.
// Chains of functions of a byte (elementwise/byte_chains.h). `threads`: as many as may ever compute
// them. The target outlives the steps.
Fusions findFusions(const Graph& graph, const Partition& partition, const CompileOptions& options,
                    const CpuTarget& target, size_t threads);

}  // namespace halyard::engine::cpu
