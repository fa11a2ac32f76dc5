// SPDX-License-Identifier: Apache-2.0
//
// ShapedPlan: a schedule for one set of graph input shapes: every partition specialised, every
// tensor given its place. Steps behind an output whose shape is found by running stay open until a
// run gets there.

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
    TensorType type;      // of the graph, with what the shapes of the inputs add
    bool present = true;  // false: a graph input that was left out
    size_t bytes = 0;     // 0 while the shape is not fully known
    // In the arena of its home. None for graph inputs and outputs and for constants, which lie with
    // the caller or the graph, and for tensors of unknown size.
    std::optional<size_t> arenaOffset;
};

struct PlannedStep {
    // Null: a run decides the shapes of its inputs, or it is no partition.
    std::shared_ptr<const SpecializedPartition> shaped;
    size_t workspaceOffset = 0;  // in the arena
    size_t workspaceBytes = 0;
    HomeId device = kHost;  // that the partition has a workspace on, too
    size_t deviceWorkspaceOffset = 0;
    size_t deviceWorkspaceBytes = 0;
};

// Immutable, shared by executions.
struct ShapedPlan {
    std::vector<PlannedSlot> slots;  // as Schedule::slots
    std::vector<PlannedStep> steps;  // as Schedule::steps
    size_t arenaBytes = 0;
    std::vector<size_t> deviceArenaBytes;  // as Schedule::devices
    size_t deviceTableBytes = 0;           // that its partitions hold on devices
};

// `inputShapes`, one per graph input, are fully known or absent. INVALID_ARGUMENT if they
// contradict the graph, or if a node can't do without an absent one; otherwise what the backends
// say about them. Graphs inside an If or While are planned, too, where the shapes of its inputs are
// known; what keeps one of them from being planned is an error of the run that takes it. `failed`
// (null: not asked for) receives the number of the partition that a backend did not specialise.
Result<std::shared_ptr<const ShapedPlan>> planShapes(const Schedule& schedule,
                                                     std::span<const MaybeShape> inputShapes,
                                                     const Checkpoint& checkpoint,
                                                     std::optional<size_t>* failed = nullptr);

// The same plan, kept with the schedule: does not allocate for shapes it has planned for.
Result<std::shared_ptr<const ShapedPlan>> planFor(const Schedule& schedule,
                                                  std::span<const MaybeShape> inputShapes,
                                                  const Checkpoint& checkpoint,
                                                  std::optional<size_t>* failed = nullptr);

}  // namespace halyard::engine
