// SPDX-License-Identifier: Apache-2.0
//
// ShapedPlan: a schedule for one set of graph input shapes: every step specialised, every tensor
// given its place. Steps behind an output whose shape depends on data stay open until a run gets
// there.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/schedule.h"

namespace halyard::engine {

struct PlannedSlot {
    TensorType type;   // of the graph, with what the shapes of the inputs add
    size_t bytes = 0;  // 0 while the shape is not fully known
    // None for graph inputs and outputs and for constants, which lie with the caller or the graph,
    // and for tensors of unknown size.
    std::optional<size_t> arenaOffset;
};

struct PlannedStep {
    std::shared_ptr<const ShapedPiece> shaped;  // null: a run decides the shapes of its inputs
    size_t workspaceOffset = 0;                 // in the arena
    size_t workspaceBytes = 0;
};

// Immutable, shared by executions.
struct ShapedPlan {
    std::vector<PlannedSlot> slots;  // as Schedule::slots
    std::vector<PlannedStep> steps;  // as Schedule::steps
    size_t arenaBytes = 0;
};

// `inputShapes`, one per graph input, may be partly unknown only where nothing reads the input.
// INVALID_ARGUMENT if they contradict the graph; otherwise what the backends say about them.
Result<std::shared_ptr<const ShapedPlan>> planShapes(const Schedule& schedule,
                                                     std::span<const Shape> inputShapes);

}  // namespace halyard::engine
