// SPDX-License-Identifier: Apache-2.0
//
// Fallback: nodes that a preferred backend would run leave it for a less preferred one, so that the
// graph is cut into fewer or larger partitions, or because the backend did not build them.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/plan/placement.h"

namespace halyard::engine {

// Moves all nodes of a partition at once, each to the next backend behind its own that takes it:
// first partitions of fewer nodes than rules.minNodesPerPartition, then the smallest ones until
// there are no more than rules.maxPartitions of backends (If and While do not count). A partition
// stays where one of its nodes has nowhere to go, so that limits may be missed, but never does a
// node lose its backend: what was placed is placed. The placement says of each node why it left.
// Takes near-linear time in the size of the graph; fails only with what the checkpoint says.
Status applyPartitionLimits(AnalyzedGraph& analyzed, const BackendList& backends,
                            const PlacementRules& rules, const Checkpoint& checkpoint);

// Moves nodes, by their places in AnalyzedGraph::placement, ascending, each to the next backend
// behind its own that takes it, with `reason` in the placement. False, and nothing is moved, where
// one of them has nowhere to go.
bool moveOn(AnalyzedGraph& analyzed, const BackendList& backends,
            std::span<const size_t> placements, const std::string& reason);

}  // namespace halyard::engine
