// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "engine/graph/graph.h"
#include "tests/fuzz/seeded_choices.h"

namespace halyard::fuzz {

// Changes the graph in one to four places: single fields of tensors and nodes, extents and types
// wherever they stand, what nodes read and write. The result may be valid or not.
void mutate(engine::Graph& graph, SeededChoices& choices);

// Lets constants that hold the same bytes, or a part of what another holds, lie in the same memory,
// in graphs inside as well. How many there are.
size_t shareConstants(engine::Graph& graph);

}  // namespace halyard::fuzz
