// SPDX-License-Identifier: Apache-2.0
//
// How a ScheduleRun runs an If or a While: by runs of the schedules inside, which it keeps.

#include <string>
#include <utility>

#include "engine/graph/shape_inference.h"
#include "engine/plan/schedule_run.h"

namespace halyard::engine {
namespace {

// The one element of a BOOL8 tensor, in memory that only this run writes to.
Result<bool> isTrue(const ConstTensorView& condition) {
    if (!condition.present()) {
        return invalidArgument("the condition is left out");
    }
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, condition.shape().elementCount());
    if (count != 1) {
        return invalidArgument("the condition has the shape " + condition.shape().toString() +
                               ", not one element");
    }
    return *condition.as<uint8_t>() != 0;
}

std::string milliseconds(std::chrono::nanoseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

void ScheduleRun::bindNested(std::span<const SlotId> values, StepState& state) {
    state.inputs.clear();
    for (const SlotId id : values) {
        const ConstTensorView view = viewOf(id);
        InputBinding& binding = state.inputs.emplace_back();
        binding.present = view.present();
        if (view.present()) {
            binding.bytes = {view.as<uint8_t>(), mSlots[id].bytes};
            binding.shape = view.shape();
            binding.isPrivate = !mSlots[id].inCallersMemory;
        }
    }
}

// Copies a result of a graph inside to where the node's output belongs.
Status ScheduleRun::takeResult(SlotId id, const ConstTensorView& result) {
    HALYARD_RETURN_IF_ERROR(foundShape(id, result.shape()));
    BoundSlot& slot = mSlots[id];
    if (!slot.placed()) {
        HALYARD_RETURN_IF_ERROR(place(id));
    }
    if (slot.data == result.data) {
        return {};
    }
    return copyInChunks(slot.data, result.data, slot.bytes, mContext->checkpoint,
                        "while a result was copied");
}

Status ScheduleRun::runIf(const Step& step, StepState& state) {
    bindNested(std::span(step.inputs).subspan(1), state);
    HALYARD_ASSIGN_OR_RETURN(const bool taken, isTrue(viewOf(step.inputs.front())));
    ScheduleRun& run = taken ? *state.first : *state.second;
    // Straight to where the output belongs, if it has a place by now.
    state.outputs.clear();
    for (const SlotId id : step.outputs) {
        BoundSlot& slot = mSlots[id];
        RunOutput& output = state.outputs.emplace_back();
        output.shape = slot.type->shape;
        if (slot.placed()) {
            output.bytes = {reinterpret_cast<uint8_t*>(slot.data), slot.bytes};
        } else {
            output.buffer = &slot.own;
        }
    }
    state.reports.resize(step.outputs.size());
    HALYARD_RETURN_IF_ERROR(run.run(state.inputs, state.outputs, false, *mContext, state.reports)
                                    .withContext(taken ? "then" : "else"));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        BoundSlot& slot = mSlots[step.outputs[i]];
        if (slot.placed()) {
            continue;  // it has been written there
        }
        HALYARD_RETURN_IF_ERROR(foundShape(step.outputs[i], state.reports[i].shape));
        HALYARD_ASSIGN_OR_RETURN(slot.bytes, slot.type->byteSize());
        HALYARD_ASSIGN_OR_RETURN(slot.data, bufferBytes(slot.own, slot.bytes, "a result"));
    }
    return {};
}

Result<bool> ScheduleRun::holds(StepState& state) {
    RunOutput output;
    output.buffer = &state.verdict;
    OutputReport report;
    HALYARD_RETURN_IF_ERROR(
            state.first->run(state.inputs, {&output, 1}, false, *mContext, {&report, 1})
                    .withContext("condition"));
    return isTrue(state.first->output(0));
}

// One round: the body's results become the first of its inputs.
Status ScheduleRun::runBody(const WhileStep& loop, StepState& state, size_t round) {
    std::vector<ReusedBuffer>& values = state.values[round % 2];
    values.resize(loop.body->outputs.size());
    state.outputs.clear();
    for (ReusedBuffer& value : values) {
        state.outputs.emplace_back().buffer = &value;
    }
    state.reports.resize(values.size());
    HALYARD_RETURN_IF_ERROR(
            state.second->run(state.inputs, state.outputs, false, *mContext, state.reports)
                    .withContext("body"));
    for (size_t i = 0; i < values.size(); ++i) {
        const ConstTensorView result = state.second->output(i);
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, result.type->byteSize());
        HALYARD_ASSIGN_OR_RETURN(std::byte* const data, bufferBytes(values[i], bytes, "a result"));
        state.inputs[i] = {.bytes = {reinterpret_cast<const uint8_t*>(data), bytes},
                           .shape = result.shape(),
                           .present = true,
                           .isPrivate = true};
    }
    return {};
}

Status ScheduleRun::runWhile(const Step& step, const WhileStep& loop, StepState& state) {
    bindNested(step.inputs, state);
    const Checkpoint outer = mContext->checkpoint;
    mContext->checkpoint = outer.before(std::chrono::steady_clock::now() + mContext->loopTimeout);
    Status status;
    for (size_t round = 0; status.ok(); ++round) {
        Result<bool> goesOn = holds(state);
        if (!goesOn.ok()) {
            status = goesOn.status();
        } else if (!*goesOn) {
            break;
        } else {
            status = runBody(loop, state, round);
        }
        if (status.ok()) {
            status = mContext->checkpoint.check("after round " + std::to_string(round));
        }
    }
    const bool loopTimedOut = status.code() == StatusCode::DEADLINE_EXCEEDED && !outer.expired();
    mContext->checkpoint = outer;
    if (loopTimedOut) {
        return {StatusCode::DEADLINE_EXCEEDED,
                "the loop took more than " + milliseconds(mContext->loopTimeout) + " ms"};
    }
    HALYARD_RETURN_IF_ERROR(status);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        // The values lie in buffers of this step, or where the node found them.
        const InputBinding& value = state.inputs[i];
        if (!value.present) {
            return invalidArgument("value " + std::to_string(i) + " is left out");
        }
        TensorType type = *mSlots[step.outputs[i]].type;
        type.shape = value.shape;
        HALYARD_RETURN_IF_ERROR(
                takeResult(step.outputs[i], {.type = &type, .data = value.bytes.data()}));
    }
    return {};
}

}  // namespace halyard::engine
