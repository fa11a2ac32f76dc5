// SPDX-License-Identifier: Apache-2.0
//
// Partitioning: from "this node runs on that backend" to pieces, and their order.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/plan/assignment.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

struct AssignedPiece {
    BackendIndex backend = 0;
    Piece piece;
};

// Cuts a verified graph into pieces, in an order in which each runs after everything it reads.
// `backendOf` has one entry per node, each below `backendCount` or kPlanner, whose nodes are a
// piece of their own each. Nodes of one backend share a piece wherever the order allows, whether or
// not they depend on each other; within a piece they keep the graph's order. Every node is in
// exactly one piece. Deterministic.
std::vector<AssignedPiece> partition(const Graph& graph, std::span<const BackendIndex> backendOf,
                                     size_t backendCount);

}  // namespace halyard::engine
