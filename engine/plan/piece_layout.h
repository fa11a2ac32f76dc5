// SPDX-License-Identifier: Apache-2.0
//
// PieceLayout: the tensors that the nodes of one piece read and write, numbered from 0, and which
// of them cross the piece's boundary.

#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Index into PieceLayout::tensors.
using LocalId = size_t;

// Stands for an input that was left out.
inline constexpr LocalId kNoLocal = std::numeric_limits<LocalId>::max();

struct LocalTensor {
    enum class Role : uint8_t { CONSTANT, INPUT, OUTPUT, INTERNAL };
    TensorId id = kNoTensor;
    Role role = Role::INTERNAL;
    size_t position = 0;   // in Piece::inputs or Piece::outputs
    size_t firstStep = 0;  // INTERNAL: indices of the nodes that write it first
    size_t lastStep = 0;   // and read it last
};

struct LocalNode {
    const Node* node = nullptr;  // of the graph
    std::vector<LocalId> inputs;
    std::vector<LocalId> outputs;
};

struct PieceLayout {
    std::shared_ptr<const Graph> graph;
    std::vector<LocalTensor> tensors;
    std::vector<LocalNode> nodes;
    std::vector<LocalId> inputs;   // as Piece::inputs
    std::vector<LocalId> outputs;  // as Piece::outputs
    size_t mostInputs = 0;         // of any one node
    size_t mostOutputs = 0;

    const TensorType& graphType(LocalId local) const {
        return graph->tensor(tensors[local].id).type;
    }
};

// INTERNAL if the piece reads what neither it nor anything before it has written.
Result<PieceLayout> layOut(std::shared_ptr<const Graph> graph, const Piece& piece);

}  // namespace halyard::engine
