// SPDX-License-Identifier: Apache-2.0
//
// PartitionLayout: the tensors that the nodes of one partition read and write, numbered from 0,
// which of them cross the partition's boundary, and the steps that the nodes are computed in.

#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Index into PartitionLayout::tensors.
using LocalId = size_t;

// Stands for an input that was left out.
inline constexpr LocalId kNoLocal = std::numeric_limits<LocalId>::max();

struct LocalTensor {
    // INSIDE: of a step, whose kernel keeps it where it likes.
    enum class Role : uint8_t { CONSTANT, INPUT, OUTPUT, INTERNAL, INSIDE };
    TensorId id = kNoTensor;
    Role role = Role::INTERNAL;
    size_t position = 0;   // in Partition::inputs or Partition::outputs
    size_t firstStep = 0;  // INTERNAL: indices of the steps that write it first
    size_t lastStep = 0;   // and read it last
};

struct LocalNode {
    const Node* node = nullptr;  // of the graph
    std::vector<LocalId> inputs;
    std::vector<LocalId> outputs;
};

// The nodes of one kernel: one node, or several whose intermediate tensors no other node reads.
// Runs at the position of the furthest of them.
struct LocalStep {
    std::vector<LocalNode> nodes;
    // Of all nodes in their order, but for tensors inside.
    std::vector<LocalId> inputs;
    std::vector<LocalId> inside;      // outputs that nodes of the step read
    std::vector<LocalId> outputs;     // the others
    std::vector<const Node*> others;  // the nodes behind the first
};

struct PartitionLayout {
    std::shared_ptr<const Graph> graph;
    std::vector<LocalTensor> tensors;
    std::vector<LocalStep> steps;
    std::vector<size_t> stepOf;    // per node of the partition
    std::vector<LocalId> inputs;   // as Partition::inputs
    std::vector<LocalId> outputs;  // as Partition::outputs
    size_t mostInputs = 0;         // of any one step
    size_t mostOutputs = 0;

    const TensorType& graphType(LocalId local) const {
        return graph->tensor(tensors[local].id).type;
    }
};

// Positions in Partition::nodes of nodes that become one step, each behind those that it reads.
using FusedNodes = std::vector<size_t>;

// INTERNAL if the partition reads what neither it nor anything before it has written, or what a
// step keeps to itself. `fused` has every node at most once.
Result<PartitionLayout> layOut(std::shared_ptr<const Graph> graph, const Partition& partition,
                               std::span<const FusedNodes> fused = {});

}  // namespace halyard::engine
