// SPDX-License-Identifier: Apache-2.0
//
// The verifier: what must hold of every graph before anything else looks at it, and what can be
// known of its shapes. It runs once when a graph enters the planner, and after each pass in debug
// builds and tests.

#pragma once

#include <memory>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/constant_copies.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// Graphs inside graphs, at most.
inline constexpr size_t kMaxNesting = 16;
// Nodes of all graphs inside a graph, each counted as often as it is referred to.
inline constexpr size_t kMaxNestedNodes = size_t{1} << 17;

// Verifies the graph and every graph inside it, and propagates shapes through them, in place: known
// extents win over unknown ones. Control inputs that are constants and that a client can write to
// are copied first, so that what is checked here is what runs.
//
// INVALID_ARGUMENT names the tensor, or the node by its label, and the rule it breaks:
//   - tensor ids are in range; only inputs of nodes may be kNoTensor;
//   - graph inputs are distinct and not constant;
//   - a node has a kind, reads constants, graph inputs and what earlier nodes wrote, and writes
//     tensors that are neither constant nor input nor written before;
//   - graph outputs (which may repeat, and may be constants or inputs) are computed;
//   - constants have fully known shapes and as many bytes as the type says, aligned to the
//     element, but for those that were packed away, which are not control inputs;
//   - quantisation is as the type asks: a positive finite scale and a zero point that an
//     element can hold; per channel, one such scale for each index of a dimension;
//   - types and shapes follow from one another by every node's inferShapes.
// UNSUPPORTED: graphs nested deeper or larger than the limits. RESOURCE_EXHAUSTED: no room for the
// copies of constants and of the graphs inside. The checkpoint's status, once it is time to stop.
// Takes time linear in the size of the graph.
Status verifyAndInfer(Graph& graph, ConstantCopies& copies, const Checkpoint& checkpoint);
// With copies of its own, reserved from `memory`, if there is one.
Status verifyAndInfer(Graph& graph, const std::shared_ptr<Budget>& memory = nullptr,
                      const Checkpoint& checkpoint = {});

// A copy of a graph inside another, with what it and its schedule take reserved as long as it
// lives.
Result<std::shared_ptr<Graph>> copyOfNested(const Graph& original,
                                            const std::shared_ptr<Budget>& memory);

// Whether every constant of the graph and of those inside has its elements: INVALID_ARGUMENT where
// a program has packed one away, so that only that program's store has what it needs.
Status checkElements(const Graph& graph);

// Per tensor: whether a node that reads it, in this graph or in one inside, has it as a control
// input. The planner never gives such a tensor memory that a client can write.
std::vector<bool> controlTensors(const Graph& graph);

}  // namespace halyard::engine
