// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/shaped_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"
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

class ShapePlanner {
  public:
    ShapePlanner(const Schedule& schedule, const Checkpoint& checkpoint,
                 std::optional<size_t>* failed)
        : mSchedule(schedule),
          mCheckpoint(checkpoint),
          mFailed(failed),
          mPlan(std::make_shared<ShapedPlan>()) {}

    Result<std::shared_ptr<const ShapedPlan>> plan(std::span<const MaybeShape> inputShapes) {
        HALYARD_RETURN_IF_ERROR(planSlots(inputShapes));
        for (const Step& step : mSchedule.steps) {
            HALYARD_RETURN_IF_ERROR(mCheckpoint.check("while shapes were planned"));
            PlannedStep& planned = mPlan->steps.emplace_back();
            if (std::holds_alternative<CopyStep>(step.work)) {
                HALYARD_RETURN_IF_ERROR(planCopy(step));
                continue;
            }
            if (!inputsKnown(step)) {
                continue;
            }
            HALYARD_RETURN_IF_ERROR(std::holds_alternative<PartitionStep>(step.work)
                                            ? planPartition(step, planned)
                                            : planInside(step));
        }
        HALYARD_RETURN_IF_ERROR(planMemory());
        return std::shared_ptr<const ShapedPlan>(std::move(mPlan));
    }

  private:
    Status planSlots(std::span<const MaybeShape> inputShapes) {
        for (SlotId id = 0; id < mSchedule.slots.size(); ++id) {
            PlannedSlot& slot = mPlan->slots.emplace_back();
            slot.type = mSchedule.graphType(id);
            HALYARD_RETURN_IF_ERROR(refineShape(slot, slot.type.shape));
        }
        for (size_t i = 0; i < inputShapes.size(); ++i) {
            PlannedSlot& slot = mPlan->slots[mSchedule.inputs[i]];
            slot.present = inputShapes[i].has_value();
            if (slot.present) {
                HALYARD_RETURN_IF_ERROR(refineShape(slot, *inputShapes[i])
                                                .withContext("graph input " + std::to_string(i)));
            }
        }
        for (size_t i = 0; i < mSchedule.outputs.size(); ++i) {
            if (!mPlan->slots[mSchedule.outputs[i]].present) {
                return invalidArgument("graph output " + std::to_string(i) +
                                       " is a graph input that is left out");
            }
        }
        return {};
    }

    bool inputsKnown(const Step& step) const {
        return std::ranges::all_of(step.inputs, [&](SlotId id) {
            return id == kNoSlot || !mPlan->slots[id].present ||
                   mPlan->slots[id].type.shape.isFullyKnown();
        });
    }

    // Specialises a partition and carries the shapes on.
    Status planPartition(const Step& step, PlannedStep& planned) {
        mTypes.clear();
        for (const SlotId id : step.inputs) {
            mTypes.push_back(mPlan->slots[id].present ? &mPlan->slots[id].type : nullptr);
        }
        Result<std::shared_ptr<const SpecializedPartition>> shaped =
                specializeStep(mSchedule, step, mTypes, mCheckpoint);
        if (!shaped.ok()) {
            if (mFailed != nullptr) {
                *mFailed = std::get_if<PartitionStep>(&step.work)->partition;
            }
            return shaped.status();
        }
        planned.shaped = std::move(shaped).value();
        planned.workspaceBytes = planned.shaped->workspaceBytes();
        planned.device = std::get_if<PartitionStep>(&step.work)->home;
        planned.deviceWorkspaceBytes = planned.shaped->deviceWorkspaceBytes();
        mPlan->deviceTableBytes += planned.shaped->deviceTableBytes();
        for (size_t i = 0; i < step.outputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(refineShape(mPlan->slots[step.outputs[i]],
                                                planned.shaped->outputTypes()[i].shape));
        }
        return {};
    }

    // Plans the graphs inside, whose caches then have what a run will ask for. Only values tell
    // which of them a run takes: one that can't be planned for these shapes fails there, and only
    // if it is taken.
    Status planInside(const Step& step) const {
        std::vector<MaybeShape> shapes;
        for (const SlotId id : step.inputs) {
            const bool present = id != kNoSlot && mPlan->slots[id].present;
            shapes.push_back(present ? MaybeShape(mPlan->slots[id].type.shape) : std::nullopt);
        }
        std::span<const MaybeShape> values = shapes;
        const Schedule* first = nullptr;
        const Schedule* second = nullptr;
        if (const auto* branch = std::get_if<IfStep>(&step.work)) {
            values = values.subspan(1);
            first = branch->then.get();
            second = branch->otherwise.get();
        } else {
            const auto& loop = *std::get_if<WhileStep>(&step.work);
            first = loop.condition.get();
            second = loop.body.get();
        }
        for (const Schedule* inside : {first, second}) {
            const Status planned = planFor(*inside, values, mCheckpoint, mFailed).status();
            if (planned.code() == StatusCode::INTERNAL ||
                planned.code() == StatusCode::DEADLINE_EXCEEDED) {
                return planned.withContext(step.label);
            }
        }
        return {};
    }

    // Marks what is brought to another memory, as far as the plan knows it.
    Status planCopy(const Step& step) {
        const PlannedSlot& from = mPlan->slots[step.inputs.front()];
        PlannedSlot& to = mPlan->slots[step.outputs.front()];
        to.present = from.present;
        return from.present ? refineShape(to, from.type.shape) : Status();
    }

    Status planMemory() {
        HALYARD_ASSIGN_OR_RETURN(mPlan->arenaBytes, planArenaOf(kHost));
        for (HomeId home = 0; home < mSchedule.devices.size(); ++home) {
            HALYARD_ASSIGN_OR_RETURN(const size_t bytes, planArenaOf(home));
            mPlan->deviceArenaBytes.push_back(bytes);
        }
        return {};
    }

    // Gives its place to what lies in one memory. Returns how many bytes that takes.
    Result<size_t> planArenaOf(HomeId home) {
        const bool onHost = home == kHost;
        // Offsets are sums of sizes. On a device even what has no elements has a place.
        const size_t alignment = onHost ? 1 : mSchedule.devices[home]->alignment();
        std::vector<ArenaBlock> blocks;
        std::vector<size_t*> offsets;  // of each block
        const auto add = [&](size_t bytes, size_t first, size_t last, size_t& offset) {
            const std::optional<size_t> aligned =
                    checkedAlignUp(onHost ? bytes : std::max<size_t>(bytes, 1), alignment);
            blocks.push_back(
                    {.bytes = aligned.value_or(bytes), .firstStep = first, .lastStep = last});
            offsets.push_back(&offset);
        };
        for (SlotId id = 0; id < mPlan->slots.size(); ++id) {
            PlannedSlot& planned = mPlan->slots[id];
            const Slot& slot = mSchedule.slots[id];
            if (slot.home == home && planned.present && planned.type.shape.isFullyKnown() &&
                slot.writtenBy != kNoStep && !slot.output.has_value()) {
                // A tensor without readers is written all the same.
                const size_t last = slot.lastReadBy == kNoStep ? slot.writtenBy : slot.lastReadBy;
                add(planned.bytes, slot.writtenBy, last, planned.arenaOffset.emplace(0));
            }
        }
        for (size_t i = 0; i < mPlan->steps.size(); ++i) {
            PlannedStep& step = mPlan->steps[i];
            if (onHost) {
                add(step.workspaceBytes, i, i, step.workspaceOffset);
            } else if (step.device == home && step.deviceWorkspaceBytes > 0) {
                add(step.deviceWorkspaceBytes, i, i, step.deviceWorkspaceOffset);
            }
        }
        HALYARD_ASSIGN_OR_RETURN(const ArenaPlan arena, planArena(blocks));
        for (size_t i = 0; i < offsets.size(); ++i) {
            *offsets[i] = arena.offsets[i];
        }
        return arena.bytes;
    }

    const Schedule& mSchedule;
    const Checkpoint& mCheckpoint;
    std::optional<size_t>* const mFailed;  // null: not asked for
    std::shared_ptr<ShapedPlan> mPlan;
    std::vector<const TensorType*> mTypes;  // of the partition at hand
};

}  // namespace

Result<std::shared_ptr<const ShapedPlan>> planShapes(const Schedule& schedule,
                                                     std::span<const MaybeShape> inputShapes,
                                                     const Checkpoint& checkpoint,
                                                     std::optional<size_t>* failed) {
    return ShapePlanner(schedule, checkpoint, failed).plan(inputShapes);
}

Result<std::shared_ptr<const ShapedPlan>> planFor(const Schedule& schedule,
                                                  std::span<const MaybeShape> inputShapes,
                                                  const Checkpoint& checkpoint,
                                                  std::optional<size_t>* failed) {
    if (schedule.staticPlan != nullptr &&
        std::ranges::all_of(inputShapes,
                            [](const MaybeShape& shape) { return shape.has_value(); })) {
        return schedule.staticPlan;
    }
    std::shared_ptr<const ShapedPlan> plan = schedule.plans->find(inputShapes);
    if (plan == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(plan, planShapes(schedule, inputShapes, checkpoint, failed));
        plan = schedule.plans->insert(inputShapes, std::move(plan));
    }
    return plan;
}

}  // namespace halyard::engine
