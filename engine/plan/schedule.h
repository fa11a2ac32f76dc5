// SPDX-License-Identifier: Apache-2.0
//
// Schedule: a graph cut into pieces and compiled, with the tensors that cross between them. It
// knows no shapes beyond those of the graph; ShapedPlan adds the rest.

#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/memory_budget.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/partition.h"
#include "engine/plan/program.h"
#include "engine/plan/shape_cache.h"

namespace halyard::engine {

// Index into Schedule::slots.
using SlotId = size_t;

// Stands for "no piece of the schedule".
inline constexpr size_t kNoStep = std::numeric_limits<size_t>::max();

// A tensor that crosses between pieces or to the caller. Only these get memory from the planner;
// what stays inside a piece is its backend's business.
struct Slot {
    TensorId tensor = kNoTensor;
    size_t writtenBy = kNoStep;   // index of a step; none for graph inputs and constants
    size_t lastReadBy = kNoStep;  // none if only the caller reads it
    // The first graph output that is this tensor; the tensor is written straight into it where
    // that is possible.
    std::optional<size_t> output;
};

// A piece in its place in the order.
struct Step {
    std::string_view backend;
    std::unique_ptr<const CompiledPiece> compiled;
    Reservation constants;        // what `compiled` holds
    std::vector<SlotId> inputs;   // as Piece::inputs
    std::vector<SlotId> outputs;  // as Piece::outputs
    // For a step whose input shapes only a run can tell.
    std::unique_ptr<ShapeCache<ShapedPiece>> specializations;
};

// Immutable but for the caches, and thread-safe.
struct Schedule {
    std::shared_ptr<const Graph> graph;
    std::vector<Slot> slots;
    std::vector<Step> steps;
    std::vector<SlotId> inputs;   // of the graph inputs
    std::vector<SlotId> outputs;  // of the graph outputs

    const TensorType& graphType(SlotId slot) const {
        return graph->tensor(slots[slot].tensor).type;
    }
};

// Compiles the pieces. `graph` is verified; its shapes are inferred. RESOURCE_EXHAUSTED if
// `memory`, which may be null, has no room for what the backends then hold.
Result<Schedule> compileSchedule(std::shared_ptr<const Graph> graph,
                                 const std::vector<AssignedPiece>& pieces,
                                 const BackendList& backends,
                                 const std::shared_ptr<MemoryBudget>& memory);

// Specialises a step and checks what the backend says: as many outputs as the piece has, of the
// types the graph has.
Result<std::shared_ptr<const ShapedPiece>> specializeStep(const Schedule& schedule,
                                                          const Step& step,
                                                          std::span<const TensorType> inputs);

}  // namespace halyard::engine
