// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <random>

#include "engine/graph/graph.h"

namespace halyard::fuzz {

// Changes the graph in one to four places: single fields of tensors and nodes, extents and types
// wherever they stand, what nodes read and write. The result may be valid or not.
void mutate(engine::Graph& graph, std::mt19937& random);

}  // namespace halyard::fuzz
