// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/shaped_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/graph/shape_inference.h"
#include "engine/plan/arena.h"

namespace halyard::engine {
namespace {

// Adds what is now known of a slot's shape. No backend sees a size that can't be addressed.
Status refineShape(PlannedSlot& slot, const Shape& shape) {
    HALYARD_ASSIGN_OR_RETURN(slot.type.shape, mergeShapes(slot.type.shape, shape));
    if (slot.type.shape.isFullyKnown()) {
        HALYARD_ASSIGN_OR_RETURN(slot.bytes, slot.type.byteSize());
    }
    return {};
}

// Specialises the steps in order and carries the shapes from one to the next.
Status planSteps(const Schedule& schedule, ShapedPlan& plan) {
    for (const Step& step : schedule.steps) {
        PlannedStep& planned = plan.steps.emplace_back();
        std::vector<TensorType> inputs;
        for (const SlotId slot : step.inputs) {
            inputs.push_back(plan.slots[slot].type);
        }
        if (!std::ranges::all_of(
                    inputs, [](const TensorType& type) { return type.shape.isFullyKnown(); })) {
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(planned.shaped, specializeStep(schedule, step, inputs));
        planned.workspaceBytes = planned.shaped->workspaceBytes();
        for (size_t i = 0; i < step.outputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(refineShape(plan.slots[step.outputs[i]],
                                                planned.shaped->outputTypes()[i].shape));
        }
    }
    return {};
}

Status planMemory(const Schedule& schedule, ShapedPlan& plan) {
    std::vector<ArenaBlock> blocks;
    std::vector<SlotId> slotOfBlock;
    for (SlotId id = 0; id < plan.slots.size(); ++id) {
        const PlannedSlot& planned = plan.slots[id];
        const Slot& slot = schedule.slots[id];
        if (planned.type.shape.isFullyKnown() && slot.writtenBy != kNoStep &&
            !slot.output.has_value()) {
            blocks.push_back({.bytes = planned.bytes,
                              .firstStep = slot.writtenBy,
                              .lastStep = slot.lastReadBy});
            slotOfBlock.push_back(id);
        }
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        blocks.push_back({.bytes = plan.steps[i].workspaceBytes, .firstStep = i, .lastStep = i});
    }
    HALYARD_ASSIGN_OR_RETURN(const ArenaPlan arena, planArena(blocks));
    for (size_t i = 0; i < slotOfBlock.size(); ++i) {
        plan.slots[slotOfBlock[i]].arenaOffset = arena.offsets[i];
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        plan.steps[i].workspaceOffset = arena.offsets[slotOfBlock.size() + i];
    }
    plan.arenaBytes = arena.bytes;
    return {};
}

}  // namespace

Result<std::shared_ptr<const ShapedPlan>> planShapes(const Schedule& schedule,
                                                     std::span<const Shape> inputShapes) {
    auto plan = std::make_shared<ShapedPlan>();
    for (SlotId id = 0; id < schedule.slots.size(); ++id) {
        PlannedSlot& slot = plan->slots.emplace_back();
        slot.type = schedule.graphType(id);
        HALYARD_RETURN_IF_ERROR(refineShape(slot, slot.type.shape));
    }
    for (size_t i = 0; i < inputShapes.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(refineShape(plan->slots[schedule.inputs[i]], inputShapes[i])
                                        .withContext("graph input " + std::to_string(i)));
    }
    HALYARD_RETURN_IF_ERROR(planSteps(schedule, *plan));
    HALYARD_RETURN_IF_ERROR(planMemory(schedule, *plan));
    return std::shared_ptr<const ShapedPlan>(std::move(plan));
}

}  // namespace halyard::engine
