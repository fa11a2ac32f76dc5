// SPDX-License-Identifier: Apache-2.0
//
// How a ScheduleRun uses blocks of devices that its caller binds: partitions of the same device
// read and write them where they lie; what the host or another device has to do with them is
// copied.

#include <string>
#include <utility>
#include <variant>

#include "engine/plan/schedule_run.h"

namespace halyard::engine {
namespace {

// Allocates nothing where nothing has failed.
Status inContext(const Status& status, const char* what, const DeviceMemory& memory) {
    return status.ok() ? status : status.withContext(what + std::string(memory.name()));
}

}  // namespace

void ScheduleRun::linkOutputs() {
    mNextSame.assign(mSchedule.outputs.size(), kNoOutput);
    mOutputOf.assign(mSchedule.slots.size(), kNoOutput);
    std::vector<size_t> last(mSchedule.slots.size(), kNoOutput);
    for (size_t i = 0; i < mSchedule.outputs.size(); ++i) {
        const SlotId id = mSchedule.outputs[i];
        if (const size_t before = std::exchange(last[id], i); before != kNoOutput) {
            mNextSame[before] = i;
        }
    }
    for (const Step& step : mSchedule.steps) {
        if (!std::holds_alternative<CopyStep>(step.work)) {
            continue;
        }
        const Slot& to = mSchedule.slots[step.outputs.front()];
        if (to.home == kHost && to.output.has_value()) {
            mOutputOf[step.inputs.front()] = *to.output;
        }
    }
}

// The block that a device may write a slot of known size to, where a graph output that it is has
// one there; null: none.
const DeviceBytes* ScheduleRun::deviceTargetOf(SlotId id) const {
    const size_t bytes = mSlots[id].bytes;
    for (size_t i = mOutputOf[id]; bytes > 0 && i != kNoOutput; i = mNextSame[i]) {
        const RunOutput& output = mOutputs[i];
        if (output.present && output.device.memory == mSchedule.devices[mSchedule.slots[id].home] &&
            output.device.bytes >= bytes && mOverlaps[i] == 0) {
            return &output.device;
        }
    }
    return nullptr;
}

// Whether a slot of the host's that a copy from a device would write is of no use there.
bool ScheduleRun::staysOnDevice(SlotId id) const {
    const Slot& slot = mSchedule.slots[id];
    const auto* const copy = slot.writtenBy == kNoStep
                                     ? nullptr
                                     : std::get_if<CopyStep>(&mSchedule.steps[slot.writtenBy].work);
    if (slot.home != kHost || copy == nullptr || slot.lastReadBy != kNoStep ||
        !slot.output.has_value()) {
        return false;
    }
    for (size_t i = *slot.output; i != kNoOutput; i = mNextSame[i]) {
        if (mOutputs[i].present && mOutputs[i].device.memory != copy->device) {
            return false;
        }
    }
    return true;
}

// Brings a graph input from where it lies on a device to the host, unless it is there already.
Status ScheduleRun::fetch(SlotId id) {
    BoundSlot& slot = mSlots[id];
    if (slot.data != nullptr) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(slot.data,
                             bufferBytes(slot.own, slot.bytes, "the copy of a graph input"));
    if (slot.bytes == 0) {
        return {};
    }
    ++mContext->copies;
    mContext->copiedBytes += slot.bytes;
    DeviceMemory& memory = *slot.onDevice->memory;
    return inContext(
            memory.copyOut({slot.data, slot.bytes}, slot.onDevice->place, mContext->checkpoint),
            "copying a graph input from ", memory);
}

// Of a graph output that is bound to a block of a device, unless it was written there.
Status ScheduleRun::bringToDevice(size_t output) {
    const SlotId id = mSchedule.outputs[output];
    BoundSlot& slot = mSlots[id];
    const DeviceBytes& target = mOutputs[output].device;
    if (slot.bytes == 0) {
        return {};
    }
    const size_t writer = mSchedule.slots[id].writtenBy;
    if (writer != kNoStep && std::holds_alternative<CopyStep>(mSchedule.steps[writer].work)) {
        const SlotId there = mSchedule.steps[writer].inputs.front();
        const DevicePlace& source = mSlots[there].device;
        if (mSchedule.devices[mSchedule.slots[there].home] == target.memory) {
            if (source.buffer == target.place.buffer && source.offset == target.place.offset) {
                return {};
            }
            mContext->bindingBytes += slot.bytes;
            HALYARD_RETURN_IF_ERROR(mContext->queues.finish());
            return target.memory->copyWithin(target.place, source, slot.bytes,
                                             mContext->checkpoint);
        }
    }
    if (slot.onDevice != nullptr) {
        HALYARD_RETURN_IF_ERROR(fetch(id));
    }
    // A device may still read what lies there.
    HALYARD_RETURN_IF_ERROR(mContext->queues.finish());
    ++mContext->copies;
    mContext->copiedBytes += slot.bytes;
    return inContext(
            target.memory->copyIn(target.place, {slot.data, slot.bytes}, mContext->checkpoint),
            "copying a graph output to ", *target.memory);
}

}  // namespace halyard::engine
