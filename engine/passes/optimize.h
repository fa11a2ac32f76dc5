// SPDX-License-Identifier: Apache-2.0
//
// The graph optimiser: passes that make a graph of fewer and cheaper nodes that computes the same.
// Quantised results stay as they are, bit for bit; FLOAT32 and FLOAT16 results change by the
// rounding of multiplications that were folded into weights and of what was spelled out in several
// nodes, and not at all where that is asked for; where less precision is asked for, by the rounding
// to that. What a NaN or an infinity in weights does to elements of a padding is not kept.

#pragma once

#include <memory>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/optimize_options.h"

namespace halyard::engine {

// Runs the passes over a verified graph whose shapes are inferred; so is the result. Says whether
// any pass changed it; after a failure it is part-way. Graphs inside nodes are optimised, too.
// Every node of the result names the operations it stems from, and every operation that left none
// has a fate (Graph::vanished).
//
// The passes run in turn until none finds anything, a few rounds at most, each in near-linear time.
// New constants are reserved from `memory` (null: not limited) for as long as they are used; where
// there is no room for one, what it was for is left as it is. What is folded into constants takes a
// few times the memory of the graph's own constants at most. Fails with what the checkpoint says;
// with INTERNAL, naming the pass, where a pass breaks a rule of the verifier's, which is a defect;
// and with RESOURCE_EXHAUSTED where there is no room for the verifier's copies or for the lists of
// numbers that new nodes have as control inputs.
Result<bool> optimize(Graph& graph, const OptimizeOptions& options = {},
                      const std::shared_ptr<Budget>& memory = nullptr,
                      const Checkpoint& checkpoint = {});

}  // namespace halyard::engine
