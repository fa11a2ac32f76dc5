// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// A piece as a graph of its own, whose inputs and outputs are the piece's, in order. Constants are
// shared with the graph that it was cut from.
Result<Graph> pieceGraph(const Graph& graph, const Piece& piece);

// The piece that one node is. Inputs that it reads twice are listed once.
Piece pieceOf(const Graph& graph, NodeId node);

}  // namespace halyard::engine
