// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/graph/graph.h"
#include "tests/fuzz/seeded_choices.h"

namespace halyard::fuzz {

// Changes the graph in one to four places: single fields of tensors and nodes, extents and types
// wherever they stand, what nodes read and write. The result may be valid or not.
void mutate(engine::Graph& graph, SeededChoices& choices);

}  // namespace halyard::fuzz
