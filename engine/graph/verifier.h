// SPDX-License-Identifier: Apache-2.0
//
// The verifier: what must hold of every graph before anything else looks at it. It runs when a
// graph enters the planner, and after each pass in debug builds and tests.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// INVALID_ARGUMENT names the tensor, or the node by its label, and the rule it breaks:
//   - tensor ids are in range; only inputs of nodes may be kNoTensor;
//   - graph inputs are distinct and not constant;
//   - a node has a kind, reads only constants, graph inputs and what earlier nodes wrote, and
//   writes
//     tensors that are neither constant nor input nor written before;
//   - graph outputs (which may repeat, and may be constants or inputs) are computed;
//   - constants have fully known shapes and as many bytes as the type says, aligned to the element;
//   - quantisation is as the type asks: a positive finite scale and a zero point that an element
//   can
//     hold; per channel, one such scale for each index of a dimension;
//   - shapes and types follow from one another by every node's inferShapes.
// Takes time linear in the size of the graph.
Status verify(const Graph& graph);

}  // namespace halyard::engine
