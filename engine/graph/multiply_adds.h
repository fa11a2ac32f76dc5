// SPDX-License-Identifier: Apache-2.0
//
// How much arithmetic a node is: what its time is compared with a machine's peak by.

#pragma once

#include <cstdint>

#include "engine/graph/graph.h"

namespace halyard::engine {

// The multiply-adds of one run of a node. 0 for kinds that do less than one per weight
// (elementwise, moving, pooling), for If and While, and where a shape is not fully known.
uint64_t multiplyAdds(const Graph& graph, const Node& node);

}  // namespace halyard::engine
