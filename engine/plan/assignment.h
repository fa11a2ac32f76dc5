// SPDX-License-Identifier: Apache-2.0
//
// Assignment: which backend takes each node of a graph. The one thing that preparing a model and
// asking whether it is supported have to agree on, so both call analyze().

#pragma once

#include <memory>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/constant_copies.h"
#include "engine/graph/graph.h"
#include "engine/plan/placement.h"

namespace halyard::engine {

// Verifies the graph, infers its shapes and asks the backends about every node, in order of
// preference. Fails as verifyAndInfer() does; a node that no backend takes is no failure here
// (AnalyzedGraph::placed).
Result<AnalyzedGraph> analyze(Graph graph, const BackendList& backends, ConstantCopies& copies,
                              const Checkpoint& checkpoint, const PlacementRules& rules = {});
Result<AnalyzedGraph> analyze(Graph graph, const BackendList& backends,
                              const std::shared_ptr<Budget>& memory,
                              const Checkpoint& checkpoint = {}, const PlacementRules& rules = {});

}  // namespace halyard::engine
