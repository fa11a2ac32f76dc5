// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/memory_requirements.h"

#include <variant>

#include "engine/plan/schedule.h"

namespace halyard::engine {
namespace {

MemoryRequirements of(const Schedule& schedule, SlotId id, DeviceMemory* device) {
    return {.alignment = elementSize(schedule.graphType(id).type),
            .device = device,
            .deviceAlignment = device == nullptr ? 1 : device->alignment()};
}

}  // namespace

MemoryRequirements requirementsOfInput(const Schedule& schedule, size_t index) {
    const SlotId id = schedule.inputs[index];
    const Slot& slot = schedule.slots[id];
    const bool isRead = slot.lastReadBy != kNoStep;
    DeviceMemory* device = nullptr;
    bool isOnOneDevice = isRead && slot.isOnlyCopied && !slot.output.has_value();
    for (const Step& step : schedule.steps) {
        const auto* const copy = std::get_if<CopyStep>(&step.work);
        if (copy == nullptr || step.inputs.front() != id) {
            continue;
        }
        isOnOneDevice = isOnOneDevice && (device == nullptr || device == copy->device);
        device = copy->device;
    }
    MemoryRequirements requirements = of(schedule, id, isOnOneDevice ? device : nullptr);
    requirements.isFreeOnHost = device == nullptr;
    requirements.isFreeWhereShared = device == nullptr && !slot.isControl;
    return requirements;
}

MemoryRequirements requirementsOfOutput(const Schedule& schedule, size_t index) {
    const SlotId id = schedule.outputs[index];
    const Slot& slot = schedule.slots[id];
    // Graph inputs, constants and what is an output before are copied wherever they go.
    if (slot.writtenBy == kNoStep || slot.output != index) {
        return of(schedule, id, nullptr);
    }
    const Step& step = schedule.steps[slot.writtenBy];
    if (const auto* const copy = std::get_if<CopyStep>(&step.work)) {
        return of(schedule, id, copy->device);
    }
    MemoryRequirements requirements = of(schedule, id, nullptr);
    // The graphs of an If write to memory of their own where they find the shape.
    requirements.isFreeOnHost = !slot.isControl && (!std::holds_alternative<IfStep>(step.work) ||
                                                    schedule.graphType(id).shape.isFullyKnown());
    requirements.isFreeWhereShared = requirements.isFreeOnHost;
    return requirements;
}

}  // namespace halyard::engine
