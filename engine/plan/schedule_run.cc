// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/schedule_run.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

using Clock = std::chrono::steady_clock;

// The address of tensors without elements, which are never read or written.
alignas(kTensorAlignment) std::byte nothing[kTensorAlignment];

}  // namespace

ScheduleRun::ScheduleRun(const Schedule& schedule)
    : mSchedule(schedule),
      mInputShapes(schedule.inputs.size()),
      mSlots(schedule.slots.size()),
      mSteps(schedule.steps.size()),
      mSavedOutputs(schedule.outputs.size()),
      mOverlaps(schedule.outputs.size()),
      mOverlapFinder(schedule.inputs.size(), schedule.outputs.size()),
      mDeviceArenas(schedule.devices.size()),
      mDeviceWorkspaces(schedule.devices.size()) {
    linkOutputs();
}

ScheduleRun::~ScheduleRun() = default;

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
Status ScheduleRun::makeStates(const PartitionResources& resources, DeviceQueues& queues) {
    for (DeviceMemory* const device : mSchedule.devices) {
        HALYARD_ASSIGN_OR_RETURN(DeviceQueue* const queue, queues.of(*device));
        mQueues.push_back(queue);
    }
    for (size_t i = 0; i < mSteps.size(); ++i) {
        const Step& step = mSchedule.steps[i];
        StepState& state = mSteps[i];
        if (const auto* partition = std::get_if<PartitionStep>(&step.work)) {
            HALYARD_RETURN_IF_ERROR(
                    resources.checkpoint.check("while an execution was made ready"));
            Result<std::unique_ptr<PartitionState>> made =
                    partition->compiled->makeState(resources.of(partition->backend));
            if (!made.ok()) {
                return made.status().withContext(partition->backend);
            }
            state.partition = std::move(made).value();
        } else if (const auto* branch = std::get_if<IfStep>(&step.work)) {
            state.first = std::make_unique<ScheduleRun>(*branch->then);
            state.second = std::make_unique<ScheduleRun>(*branch->otherwise);
        } else if (const auto* loop = std::get_if<WhileStep>(&step.work)) {
            state.first = std::make_unique<ScheduleRun>(*loop->condition);
            state.second = std::make_unique<ScheduleRun>(*loop->body);
        }
        for (ScheduleRun* const inside : {state.first.get(), state.second.get()}) {
            if (inside != nullptr) {
                HALYARD_RETURN_IF_ERROR(
                        inside->makeStates(resources, queues).withContext(step.label));
            }
        }
    }
    return {};
}

Result<std::byte*> ScheduleRun::bufferBytes(ReusedBuffer& buffer, size_t bytes,
                                            std::string_view role) const {
    if (bytes == 0) {
        return nothing;
    }
    return buffer.get(bytes, kTensorAlignment, mContext->memory, role);
}

// Gives memory to a computed slot whose type is known: the caller's where it can be used as it is,
// the arena where the plan says so, the slot's own otherwise.
Status ScheduleRun::place(SlotId id) {
    BoundSlot& slot = mSlots[id];
    HALYARD_ASSIGN_OR_RETURN(slot.bytes, slot.type->byteSize());
    slot.inCallersMemory = false;
    if (mSchedule.slots[id].home != kHost) {
        return placeOnDevice(id);
    }
    if (const std::optional<size_t> index = mSchedule.slots[id].output; index.has_value()) {
        const RunOutput& output = mOutputs[*index];
        if (staysOnDevice(id)) {
            return {};
        }
        if (output.buffer != nullptr) {
            HALYARD_ASSIGN_OR_RETURN(slot.data,
                                     bufferBytes(*output.buffer, slot.bytes, "a result"));
            return {};
        }
        if (slot.bytes > 0 && output.present && output.device.memory == nullptr &&
            (mOverlaps[*index] == 0 || asksFor(*index)) && !mSchedule.slots[id].isControl) {
            HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, memoryFor(*index));
            if (bytes.size() >= slot.bytes && isAligned(bytes.data(), slot.type->type)) {
                slot.data = reinterpret_cast<std::byte*>(bytes.data());
                slot.inCallersMemory = true;
                return {};
            }
        }
    } else if (const PlannedSlot& planned = mPlan->slots[id]; planned.arenaOffset.has_value()) {
        HALYARD_ASSIGN_OR_RETURN(std::byte* const base, arenaMemory());
        slot.data = slot.bytes == 0 ? nothing : base + *planned.arenaOffset;
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(slot.data,
                             bufferBytes(slot.own, slot.bytes, "a tensor outside the arena"));
    return {};
}

Status ScheduleRun::placeOnDevice(SlotId id) {
    BoundSlot& slot = mSlots[id];
    const HomeId home = mSchedule.slots[id].home;
    if (const DeviceBytes* const target = deviceTargetOf(id)) {
        slot.device = target->place;
        return {};
    }
    if (const PlannedSlot& planned = mPlan->slots[id]; planned.arenaOffset.has_value()) {
        HALYARD_ASSIGN_OR_RETURN(DeviceBuffer* const arena, arenaOn(home));
        slot.device = {.buffer = arena, .offset = *planned.arenaOffset};
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(
            DeviceBuffer* const own,
            slot.ownOnDevice.get(*mSchedule.devices[home], *mQueues[home],
                                 std::max<size_t>(slot.bytes, 1), mContext->deviceMemory,
                                 "a tensor outside the arena"));
    slot.device = {.buffer = own, .offset = 0};
    return {};
}

// Starts from what the plan knows.
void ScheduleRun::bindTypes() {
    for (SlotId id = 0; id < mSlots.size(); ++id) {
        BoundSlot& slot = mSlots[id];
        slot.type = mPlan->slots[id].present ? &mPlan->slots[id].type : nullptr;
        slot.bytes = mPlan->slots[id].bytes;
        slot.data = nullptr;
        slot.device = {};
        slot.inCallersMemory = false;
        slot.onDevice = nullptr;
    }
}

// Gives memory to every slot whose shape the plan knows, and brings in the inputs.
Status ScheduleRun::bindMemory() {
    for (SlotId id = 0; id < mSlots.size(); ++id) {
        BoundSlot& slot = mSlots[id];
        const Tensor& tensor = mSchedule.graph->tensor(mSchedule.slots[id].tensor);
        if (slot.type == nullptr) {
            continue;
        }
        if (tensor.isConstant() && mSchedule.slots[id].writtenBy == kNoStep) {
            // Constants are only ever read.
            slot.data = reinterpret_cast<std::byte*>(
                    const_cast<uint8_t*>(tensor.constant.bytes.data()));
        } else if (mSchedule.slots[id].writtenBy != kNoStep && slot.type->shape.isFullyKnown()) {
            HALYARD_RETURN_IF_ERROR(place(id));
        }
    }
    for (size_t i = 0; i < mInputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(bindInput(i));
    }
    return {};
}

Status ScheduleRun::foundShape(SlotId id, const Shape& shape) {
    BoundSlot& slot = mSlots[id];
    HALYARD_ASSIGN_OR_RETURN(const Shape merged, mergeShapes(slot.type->shape, shape));
    if (merged == slot.type->shape) {
        return {};
    }
    if (slot.type != &slot.foundType) {
        slot.foundType = *slot.type;
        slot.type = &slot.foundType;
    }
    slot.foundType.shape = merged;
    return {};
}

// ---- Partitions ---------------------------------------------------------------------------------

// For the outputs of one partition.
class ScheduleRun::PartitionAllocator : public OutputAllocator {
  public:
    PartitionAllocator(ScheduleRun& run, const Step& step) : mRun(run), mStep(step) {}

    Result<TensorView> allocate(size_t index, const Shape& shape) override {
        if (index >= mStep.outputs.size() || !shape.isFullyKnown()) {
            return internalError("a backend asks for output " + std::to_string(index) +
                                 " of shape " + shape.toString() + " of a partition with " +
                                 std::to_string(mStep.outputs.size()));
        }
        const SlotId id = mStep.outputs[index];
        Status agreed = mRun.foundShape(id, shape);
        if (const std::optional<size_t> output = mRun.mSchedule.slots[id].output;
            agreed.ok() && output.has_value() && mRun.mOutputs[*output].present) {
            agreed = mergeShapes(mRun.mOutputs[*output].shape, shape).status();
        }
        if (!agreed.ok()) {
            return agreed.withContext("output " + std::to_string(index) + " of a partition");
        }
        if (!mRun.mSlots[id].placed()) {
            HALYARD_RETURN_IF_ERROR(mRun.place(id));
        }
        const BoundSlot& slot = mRun.mSlots[id];
        mRun.mOutputViews[index] = {.type = slot.type,
                                    .data = slot.data,
                                    .device = slot.device.buffer,
                                    .offset = slot.device.offset};
        return mRun.mOutputViews[index];
    }

  private:
    ScheduleRun& mRun;
    const Step& mStep;
};

// For a partition that the plan left open: its inputs have been computed by now.
Result<std::shared_ptr<const SpecializedPartition>> ScheduleRun::specialize(const Step& step) {
    mTypes.clear();
    mShapes.clear();
    for (const SlotId id : step.inputs) {
        mTypes.push_back(mSlots[id].type);
        mShapes.push_back(mSlots[id].type == nullptr ? MaybeShape()
                                                     : MaybeShape(mSlots[id].type->shape));
    }
    ShapeCache<SpecializedPartition>& cache =
            *std::get_if<PartitionStep>(&step.work)->specializations;
    std::shared_ptr<const SpecializedPartition> shaped = cache.find(mShapes);
    if (shaped == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(shaped,
                                 specializeStep(mSchedule, step, mTypes, mContext->checkpoint));
        shaped = cache.insert(mShapes, std::move(shaped));
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        const SlotId id = step.outputs[i];
        HALYARD_RETURN_IF_ERROR(foundShape(id, shaped->outputTypes()[i].shape));
        if (!mSlots[id].placed() && mSlots[id].type->shape.isFullyKnown()) {
            HALYARD_RETURN_IF_ERROR(place(id));
        }
    }
    return shaped;
}

Status ScheduleRun::runPartition(size_t index) {
    const Step& step = mSchedule.steps[index];
    const PartitionStep& partition = *std::get_if<PartitionStep>(&step.work);
    const PlannedStep& planned = mPlan->steps[index];
    RunArguments arguments;
    std::shared_ptr<const SpecializedPartition> found;
    const SpecializedPartition* shaped = planned.shaped.get();
    if (shaped != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(std::byte* const base, arenaMemory());
        arguments.workspace = {base + planned.workspaceOffset, planned.workspaceBytes};
        if (planned.deviceWorkspaceBytes > 0) {
            HALYARD_ASSIGN_OR_RETURN(arguments.deviceWorkspace.buffer, arenaOn(partition.home));
            arguments.deviceWorkspace.offset = planned.deviceWorkspaceOffset;
        }
    } else {
        HALYARD_ASSIGN_OR_RETURN(found, specialize(step));
        shaped = found.get();
        HALYARD_ASSIGN_OR_RETURN(
                std::byte* const base,
                bufferBytes(mWorkspace, shaped->workspaceBytes(), "the workspace of a partition"));
        arguments.workspace = {base, shaped->workspaceBytes()};
        if (shaped->deviceWorkspaceBytes() > 0) {
            HALYARD_ASSIGN_OR_RETURN(
                    arguments.deviceWorkspace.buffer,
                    mDeviceWorkspaces[partition.home].get(
                            *mSchedule.devices[partition.home], *mQueues[partition.home],
                            shaped->deviceWorkspaceBytes(), mContext->deviceMemory,
                            "the workspace of a partition"));
        }
    }

    mInputViews.clear();
    for (const SlotId id : step.inputs) {
        mInputViews.push_back(viewOf(id));
    }
    mOutputViews.clear();
    PartitionAllocator allocator(*this, step);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        // The graph's own shape does not count where the backend has yet to find it.
        const TensorType& type = shaped->outputTypes()[i];
        const bool known = type.shape.isFullyKnown();
        TensorView& view = mOutputViews.emplace_back();
        view.type = &type;
        if (known) {
            const BoundSlot& slot = mSlots[step.outputs[i]];
            view.data = slot.data;
            view.device = slot.device.buffer;
            view.offset = slot.device.offset;
        } else {
            arguments.allocator = &allocator;
        }
    }
    arguments.inputs = mInputViews;
    arguments.outputs = mOutputViews;
    arguments.constants = mContext->constants;
    arguments.state = mSteps[index].partition.get();
    arguments.threads = mContext->threads;
    arguments.checkpoint = mContext->checkpoint;
    arguments.memory = mContext->memory;
    arguments.deviceMemory = mContext->deviceMemory;
    arguments.trace = mContext->trace;
    arguments.track = partition.backend;

    if (partition.home != kHost) {
        mContext->threads->giveBack();
        arguments.queue = mQueues[partition.home];
    }
    TracedWork traced(mContext->trace, {.kind = Trace::Kind::PARTITION,
                                        .name = partition.backend,
                                        .track = partition.backend});
    const Clock::time_point begin = Clock::now();
    Status status = shaped->run(arguments);
    // An open partition may not outlive this call; times are those of what is done.
    if (arguments.queue != nullptr && (found != nullptr || mContext->trace != nullptr)) {
        const Status finished = arguments.queue->finish();
        status = status.ok() ? finished : status;
    }
    mContext->deviceTime += Clock::now() - begin;
    if (!status.ok()) {
        return status.withContext(partition.backend);
    }
    traced.end([] { return 0; });
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (!mOutputViews[i].placed()) {
            return internalError(std::string(partition.backend) + " computed no output " +
                                 std::to_string(i) + " of a partition");
        }
    }
    return {};
}

Status ScheduleRun::runCopy(const Step& step, const CopyStep& copy) {
    const SlotId to = step.outputs.front();
    const BoundSlot& source = mSlots[step.inputs.front()];
    BoundSlot& target = mSlots[to];
    if (source.type == nullptr) {
        return {};  // left out
    }
    HALYARD_RETURN_IF_ERROR(foundShape(to, source.type->shape));
    const Slot& slot = mSchedule.slots[to];
    if (source.onDevice != nullptr) {
        if (source.onDevice->memory == copy.device) {
            target.device = source.onDevice->place;
            return {};
        }
        HALYARD_RETURN_IF_ERROR(fetch(step.inputs.front()));
    }
    if (!target.placed()) {
        HALYARD_RETURN_IF_ERROR(place(to));
    }
    if (target.bytes == 0) {
        return {};
    }
    if (staysOnDevice(to)) {
        mIsReading = true;  // it is there when the run ends
        return {};
    }
    mContext->threads->giveBack();
    TracedWork traced(mContext->trace,
                      {.kind = Trace::Kind::COPY, .name = copy.name, .track = copy.device->name()});
    DeviceQueue& queue =
            *mQueues[slot.home == kHost ? mSchedule.slots[step.inputs.front()].home : slot.home];
    const Clock::time_point begin = Clock::now();
    Status status;
    if (slot.home == kHost) {
        mIsReading = true;
        status = queue.beginCopyOut({target.data, target.bytes}, source.device,
                                    mContext->checkpoint);
        mContext->deviceTime += Clock::now() - begin;  // it may wait for what the device computes
    } else {
        status = queue.copyIn(target.device, {source.data, target.bytes}, mContext->checkpoint);
    }
    if (status.ok() && mContext->trace != nullptr) {
        status = queue.finish();  // times are those of what is done
    }
    if (!status.ok()) {
        return status.withContext("copying " + copy.name);
    }
    ++mContext->copies;
    mContext->copiedBytes += target.bytes;
    traced.end([&] { return target.bytes; });
    return {};
}

Status ScheduleRun::finishReads() {
    if (!std::exchange(mIsReading, false)) {
        return {};
    }
    const Clock::time_point begin = Clock::now();
    const Status finished = mContext->queues.finish();
    mContext->deviceTime += Clock::now() - begin;
    HALYARD_RETURN_IF_ERROR(finished);
    return mContext->checkpoint.check("while results were copied");
}

Status ScheduleRun::runStep(size_t index) {
    const Step& step = mSchedule.steps[index];
    const auto* const copy = std::get_if<CopyStep>(&step.work);
    const bool reads = copy != nullptr && mSchedule.slots[step.outputs.front()].home == kHost;
    if (!reads) {
        HALYARD_RETURN_IF_ERROR(finishReads());
    }
    if (copy != nullptr) {
        return runCopy(step, *copy);
    }
    if (std::holds_alternative<IfStep>(step.work)) {
        return runIf(step, mSteps[index]).withContext(step.label);
    }
    if (const auto* loop = std::get_if<WhileStep>(&step.work)) {
        return runWhile(step, *loop, mSteps[index]).withContext(step.label);
    }
    return runPartition(index);
}

Status ScheduleRun::run(std::span<const InputBinding> inputs, std::span<RunOutput> outputs,
                        bool outermost, RunContext& context, std::span<OutputReport> reports) {
    mInputs = inputs;
    mOutputs = outputs;
    mContext = &context;
    mOutermost = outermost;
    HALYARD_RETURN_IF_ERROR(checkInputs(mSchedule, inputs, mInputShapes));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const ShapedPlan> plan,
                             planFor(mSchedule, mInputShapes, context.checkpoint));
    if (plan != mPlan) {
        // Devices may still be at work on an earlier round of a loop, with what the plan has there.
        HALYARD_RETURN_IF_ERROR(context.queues.finish());
        mPlan = std::move(plan);
    }
    bindTypes();
    HALYARD_RETURN_IF_ERROR(settleOutputs(reports, false));
    if (outermost) {
        mOverlapFinder.find(inputs, outputs, mOverlaps);
    }
    HALYARD_RETURN_IF_ERROR(bindMemory());
    for (size_t i = 0; i < mSchedule.steps.size(); ++i) {
        if (context.checkpoint.expired()) {
            return context.checkpoint.check("before partition " + std::to_string(i) + " of " +
                                            std::to_string(mSchedule.steps.size()));
        }
        HALYARD_RETURN_IF_ERROR(runStep(i));
    }
    HALYARD_RETURN_IF_ERROR(finishReads());
    HALYARD_RETURN_IF_ERROR(settleOutputs(reports, true));
    HALYARD_RETURN_IF_ERROR(copyOutputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].present && outputs[i].device.memory != nullptr) {
            HALYARD_RETURN_IF_ERROR(bringToDevice(i));
        }
    }
    return {};
}

ConstTensorView ScheduleRun::output(size_t index) const {
    const BoundSlot& slot = mSlots[mSchedule.outputs[index]];
    return {.type = slot.type, .data = slot.data};
}

}  // namespace halyard::engine
