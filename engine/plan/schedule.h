// SPDX-License-Identifier: Apache-2.0
//
// Schedule: a graph cut into steps and compiled, with the tensors that cross between them. A step
// is a partition, which a backend runs, an If or While, with the schedules of the graphs inside, or
// a copy from one memory to another. It knows no shapes beyond those of the graph; ShapedPlan adds
// the rest.

#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/budget.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/placement.h"
#include "engine/plan/shape_cache.h"

namespace halyard::engine {

struct Schedule;
struct ShapedPlan;

// Index into Schedule::slots.
using SlotId = size_t;

// Stands for an input that was left out in the graph.
inline constexpr SlotId kNoSlot = std::numeric_limits<SlotId>::max();

// Stands for "no step of the schedule".
inline constexpr size_t kNoStep = std::numeric_limits<size_t>::max();

// Index into Schedule::devices.
using HomeId = size_t;

// Stands for the memory of the host.
inline constexpr HomeId kHost = std::numeric_limits<HomeId>::max();

// A tensor that crosses between steps or to the caller, in one memory. One that steps read in
// several has a slot in each. Only these get memory from the planner; what stays inside a partition
// is its backend's business.
struct Slot {
    TensorId tensor = kNoTensor;
    HomeId home = kHost;
    size_t writtenBy = kNoStep;   // index of a step; none for graph inputs and constants
    size_t lastReadBy = kNoStep;  // none if only the caller reads it
    // The first graph output that is this tensor; the tensor is written straight into it where
    // that is possible.
    std::optional<size_t> output;
    // A control input: never lies in memory that another process can write to.
    bool isControl = false;
    // Only copies read it, which may do so wherever it lies.
    bool isOnlyCopied = true;
};

struct PartitionStep {
    std::string_view backend;
    size_t partition = 0;  // its number, as NodePlacement has it
    HomeId home = kHost;   // of its tensors, but for its control inputs
    std::unique_ptr<CompiledPartition> compiled;
    // For input shapes that only a run can tell.
    std::unique_ptr<ShapeCache<SpecializedPartition>> specializations;
};

struct IfStep {
    std::unique_ptr<Schedule> then;
    std::unique_ptr<Schedule> otherwise;
};

struct WhileStep {
    std::unique_ptr<Schedule> condition;
    std::unique_ptr<Schedule> body;
};

// Brings its input to the home of its output. No device reaches into another: between two of them
// the host's memory is the way.
struct CopyStep {
    DeviceMemory* device = nullptr;  // that has a part in it
    std::string name;                // "to Mali", "from Mali"
};

// A step in its place in the order.
struct Step {
    std::variant<PartitionStep, IfStep, WhileStep, CopyStep> work;
    std::vector<SlotId> inputs;   // as Partition::inputs; of an If or While all that it reads
    std::vector<SlotId> outputs;  // as Partition::outputs; of an If or While all that it writes
    std::string_view label;       // of the If or While
};

// Immutable but for the caches, and thread-safe.
struct Schedule {
    // As many sets of input shapes as a schedule keeps plans for.
    static constexpr size_t kCachedPlans = 16;

    // Mutable only while compiling: constants that were packed lose their elements.
    std::shared_ptr<Graph> graph;
    std::vector<DeviceMemory*> devices;  // that slots have their homes in
    std::vector<Slot> slots;
    std::vector<Step> steps;
    std::vector<size_t> placementOf;                // per node: its index in the placement
    std::vector<SlotId> inputs;                     // of the graph inputs
    std::vector<SlotId> outputs;                    // of the graph outputs
    std::shared_ptr<const ShapedPlan> staticPlan;   // null if the inputs' shapes are not all known
    std::unique_ptr<ShapeCache<ShapedPlan>> plans;  // for inputs of other shapes, or absent

    const TensorType& graphType(SlotId slot) const {
        return graph->tensor(slots[slot].tensor).type;
    }
    // The step that computed what is in a slot, however often it was copied; kNoStep for graph
    // inputs and constants.
    size_t computedBy(SlotId slot) const;
};

// Arguments of compiling, beyond the graph.
struct ScheduleArguments {
    const BackendList& backends;
    ConstantStore& constants;
    ConstantNumbers* numbers = nullptr;  // null: constants have their identities already
    std::shared_ptr<Budget> memory;      // null: not limited
    ThreadPool* threads = nullptr;
    Checkpoint checkpoint = {};
    CompileOptions options = {};
    Blobs blobs = {};                       // of all backends
    std::vector<NodePlacement>& placement;  // is told the partitions
    size_t partitions = 0;                  // so far, over all graphs
    std::optional<size_t> failed = {};  // is told the partition that its backend did not compile
};

// Cuts and compiles an analysed graph and those inside it. Fails as the backends do.
Result<Schedule> compileSchedule(std::shared_ptr<Graph> graph, const Assignment& assignment,
                                 ScheduleArguments& arguments);

// Calls visit(schedule) for a schedule and those inside it.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
template <typename Visit>
void forEachSchedule(const Schedule& schedule, const Visit& visit) {
    visit(schedule);
    for (const Step& step : schedule.steps) {
        if (const auto* branch = std::get_if<IfStep>(&step.work)) {
            forEachSchedule(*branch->then, visit);
            forEachSchedule(*branch->otherwise, visit);
        } else if (const auto* loop = std::get_if<WhileStep>(&step.work)) {
            forEachSchedule(*loop->condition, visit);
            forEachSchedule(*loop->body, visit);
        }
    }
}

// Lets go of the elements of constants that every partition reading them has packed, here and in
// nested schedules, but for control inputs, which shapes follow from. To
// be called once the store is filled.
void releasePackedConstants(Schedule& schedule);

// Bytes of constants in memory that a client may write to, here and in nested schedules, each
// counted once wherever it is read.
size_t sharedConstantBytes(const Schedule& schedule);

// Copies all constants in such memory, reserved from `memory` (null: not limited), so that nothing
// keeps it any longer. To be called before anything reads. Fails as ConstantCopies does; some may
// be copied then.
Status copySharedConstants(Schedule& schedule, const std::shared_ptr<Budget>& memory,
                           const Checkpoint& checkpoint);

// Has every partition of a schedule and of those inside it finish. Fails as the first backend does,
// and tells `failed` of which partition.
Status finishPartitions(const Schedule& schedule, const PartitionResources& resources,
                        std::optional<size_t>& failed);

// Whether all that reads a constant without elements has packed it: UNSUPPORTED where a partition
// does not pack today what it packed when the program was saved. To be called before anything
// reads.
Status checkPackedConstants(const Schedule& schedule);

// Specialises a partition and checks what the backend says: as many outputs as the partition has,
// of the types the graph has.
Result<std::shared_ptr<const SpecializedPartition>> specializeStep(
        const Schedule& schedule, const Step& step, std::span<const TensorType* const> inputs,
        const Checkpoint& checkpoint);

}  // namespace halyard::engine
