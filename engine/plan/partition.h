// SPDX-License-Identifier: Apache-2.0
//
// Partitioning: from "this node runs on that backend" to partitions, and their order.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/placement.h"

namespace halyard::engine {

struct AssignedPartition {
    BackendIndex backend = 0;
    Partition partition;
};

// Cuts a verified graph into partitions, in an order in which each runs after everything it reads.
// `backendOf` has one entry per node, each below `backendCount` or kPlanner, whose nodes are a
// partition of their own each. Nodes of one backend share a partition wherever the order allows,
// whether or not they depend on each other; within a partition they keep the graph's order. Every
// node is in exactly one partition. Deterministic.
std::vector<AssignedPartition> partitionGraph(const Graph& graph,
                                              std::span<const BackendIndex> backendOf,
                                              size_t backendCount);

}  // namespace halyard::engine
