// SPDX-License-Identifier: Apache-2.0
//
// The leader of a step: the node that the step's others are fused with.

#pragma once

#include <cstddef>
#include <span>

#include "engine/graph/graph.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine::gpu {

// Whether a node only moves elements, which a node that reads them can do by where it looks.
bool onlyMoves(const Node& node);

// The index of a step's leader: of the first node that does more than move elements.
size_t leaderOf(std::span<const LocalNode> nodes);

}  // namespace halyard::engine::gpu
