// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// A partition as a graph of its own, whose inputs and outputs are the partition's, in order.
// Constants are shared with the graph that it was cut from.
Result<Graph> partitionGraph(const Graph& graph, const Partition& partition);

// The partition that one node is. Inputs that it reads twice are listed once.
Partition partitionOf(const Graph& graph, NodeId node);

}  // namespace halyard::engine
