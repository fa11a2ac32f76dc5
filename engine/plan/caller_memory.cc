// SPDX-License-Identifier: Apache-2.0
//
// How a ScheduleRun reads and writes what its caller has bound: in place where it can be, through a
// copy elsewhere; on the host, or in the memory of a device.

#include <string>
#include <string_view>
#include <utility>

#include "engine/graph/shape_inference.h"
#include "engine/plan/schedule_run.h"

namespace halyard::engine {
namespace {

constexpr std::string_view kCopyingOutputs = "while graph outputs were copied";

}  // namespace

Status ScheduleRun::bindInput(size_t index) {
    const InputBinding& input = mInputs[index];
    BoundSlot& slot = mSlots[mSchedule.inputs[index]];
    if (!input.present) {
        return {};
    }
    if (input.device.memory != nullptr) {
        slot.onDevice = &input.device;
        const Slot& planned = mSchedule.slots[mSchedule.inputs[index]];
        return planned.isOnlyCopied && !planned.output.has_value() ? Status()
                                                                   : fetch(mSchedule.inputs[index]);
    }
    const bool atRisk = mSchedule.slots[mSchedule.inputs[index]].isControl && !input.isPrivate;
    const bool fits = mSchedule.slots[mSchedule.inputs[index]].isOnlyCopied ||
                      isAligned(input.bytes.data(), slot.type->type);
    if (slot.bytes > 0 && !atRisk && fits) {
        slot.data = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(input.bytes.data()));
        slot.inCallersMemory = true;
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(slot.data,
                             bufferBytes(slot.own, slot.bytes, "the copy of a graph input"));
    mContext->bindingBytes += mOutermost ? slot.bytes : 0;
    return copyInChunks(slot.data, input.bytes.data(), slot.bytes, mContext->checkpoint,
                        "while a graph input was copied");
}

// Tells the reports and checks against the bindings what is known of the outputs by now. An output
// that is too small is an error once no shape is missing, or once the run has finished.
Status ScheduleRun::settleOutputs(std::span<OutputReport> reports, bool finished) {
    bool allKnown = true;
    bool allSufficient = true;
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        const BoundSlot& slot = mSlots[mSchedule.outputs[i]];
        reports[i] = {.shape = slot.type->shape};
        allKnown = allKnown && slot.type->shape.isFullyKnown();
        if (!mOutputs[i].present) {
            continue;
        }
        Result<Shape> agreed = mergeShapes(mOutputs[i].shape, slot.type->shape);
        if (!agreed.ok()) {
            return agreed.status().withContext("graph output " + std::to_string(i));
        }
        reports[i].sufficient =
                mOutputs[i].buffer != nullptr || asksFor(i) || mOutputs[i].size() >= slot.bytes;
        allSufficient = allSufficient && reports[i].sufficient;
    }
    return allSufficient || !(allKnown || finished) ? Status() : describeShortOutputs(reports);
}

Status ScheduleRun::describeShortOutputs(std::span<const OutputReport> reports) const {
    std::string message = "too small:";
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        if (!reports[i].sufficient) {
            message += " graph output " + std::to_string(i) + " takes " +
                       std::to_string(mSlots[mSchedule.outputs[i]].bytes) + " bytes but " +
                       std::to_string(mOutputs[i].size()) + " are bound;";
        }
    }
    message.pop_back();
    return {StatusCode::OUTPUT_TOO_SMALL, std::move(message)};
}

// Whether an output of known size gets other memory than what is bound to it.
bool ScheduleRun::asksFor(size_t output) const {
    const RunOutput& binding = mOutputs[output];
    return mOutermost && mContext->outputMemory != nullptr && binding.device.memory == nullptr &&
           binding.bytes.size() < mSlots[mSchedule.outputs[output]].bytes;
}

// The memory of an output of known size: the caller has bound it or, where that is too small and
// the run may ask for more, gives it now.
Result<std::span<uint8_t>> ScheduleRun::memoryFor(size_t output) {
    RunOutput& binding = mOutputs[output];
    const BoundSlot& slot = mSlots[mSchedule.outputs[output]];
    if (!asksFor(output)) {
        return binding.bytes;
    }
    const size_t alignment = elementSize(slot.type->type);
    const Result<std::span<uint8_t>> given =
            mContext->outputMemory->allocate(output, slot.type->shape, slot.bytes, alignment);
    Status status = given.status();
    if (status.ok()) {
        status = checkGiven(*given, slot.bytes, alignment);
    }
    binding.bytes = {};
    if (status.ok()) {
        status = checkDisjoint(*given, mInputs, mOutputs);
    }
    if (!status.ok()) {
        return status.withContext("graph output " + std::to_string(output));
    }
    binding.bytes = *given;
    mOverlaps[output] = 0;
    return binding.bytes;
}

// Where an output has to be in the end.
Result<std::byte*> ScheduleRun::targetOf(size_t output) {
    const RunOutput& binding = mOutputs[output];
    if (binding.buffer != nullptr) {
        return bufferBytes(*binding.buffer, mSlots[mSchedule.outputs[output]].bytes, "a result");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, memoryFor(output));
    return reinterpret_cast<std::byte*>(bytes.data());
}

// Brings the outputs that were not written in place to the caller.
Status ScheduleRun::copyOutputs() {
    // First what overlaps nothing: writing it destroys nothing that is still to be read. Meanwhile
    // graph inputs that go to an output at risk are saved.
    const auto copy = [&](std::byte* to, size_t i) {
        const BoundSlot& slot = mSlots[mSchedule.outputs[i]];
        mContext->bindingBytes += mOutermost ? slot.bytes : 0;
        return copyInChunks(to, slot.data, slot.bytes, mContext->checkpoint, kCopyingOutputs);
    };
    const auto saved = [&](size_t i) {
        return bufferBytes(mSavedOutputs[i], mSlots[mSchedule.outputs[i]].bytes,
                           "the copy of a graph output");
    };
    const auto isOnHost = [&](size_t i) {
        return mOutputs[i].present && mOutputs[i].device.memory == nullptr;
    };
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        const BoundSlot& slot = mSlots[mSchedule.outputs[i]];
        if (!isOnHost(i) || slot.bytes == 0) {
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(std::byte* const target, targetOf(i));
        if (slot.data == target) {
            continue;
        }
        if (mOverlaps[i] == 0) {
            HALYARD_RETURN_IF_ERROR(copy(target, i));
        } else if (slot.inCallersMemory) {
            HALYARD_ASSIGN_OR_RETURN(std::byte* const place, saved(i));
            HALYARD_RETURN_IF_ERROR(copy(place, i));
        }
    }
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        const BoundSlot& slot = mSlots[mSchedule.outputs[i]];
        if (!isOnHost(i) || slot.bytes == 0 || mOverlaps[i] == 0) {
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(std::byte* const target, targetOf(i));
        if (slot.data == target) {
            continue;
        }
        const std::byte* source = slot.data;
        if (slot.inCallersMemory) {
            HALYARD_ASSIGN_OR_RETURN(source, saved(i));
        }
        mContext->bindingBytes += mOutermost ? slot.bytes : 0;
        HALYARD_RETURN_IF_ERROR(
                copyInChunks(target, source, slot.bytes, mContext->checkpoint, kCopyingOutputs));
    }
    return {};
}

}  // namespace halyard::engine
