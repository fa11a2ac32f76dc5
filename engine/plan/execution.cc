// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/aligned_buffer.h"
#include "engine/base/memory_budget.h"
#include "engine/graph/shape_inference.h"
#include "engine/plan/bindings.h"
#include "engine/plan/program.h"
#include "engine/plan/program_state.h"

namespace halyard::engine {
namespace {

using Clock = std::chrono::steady_clock;

// The address of tensors without elements, which are never read or written.
alignas(kTensorAlignment) std::byte nothing[kTensorAlignment];

// A buffer that only grows, so that runs of the same shapes allocate once.
class ReusedBuffer {
  public:
    // `role` is for the message.
    Result<std::byte*> get(size_t bytes, const std::shared_ptr<MemoryBudget>& memory,
                           std::string_view role) {
        if (bytes == 0) {
            return nothing;
        }
        if (bytes > mBuffer.size()) {
            mBuffer = AlignedBuffer();  // the old bytes go before the new ones come
            Result<AlignedBuffer> buffer = AlignedBuffer::allocate(bytes, kTensorAlignment, memory);
            if (!buffer.ok()) {
                return buffer.status().withContext(role);
            }
            mBuffer = std::move(buffer).value();
        }
        return mBuffer.data();
    }

  private:
    AlignedBuffer mBuffer;
};

// A slot's type and memory in the run at hand.
struct BoundSlot {
    const TensorType* type = nullptr;  // the plan's, or `foundType`
    TensorType foundType;              // where only the run tells the shape
    size_t bytes = 0;                  // 0 while the shape is unknown
    std::byte* data = nullptr;         // null while there is no memory
    bool inCallersMemory = false;
    ReusedBuffer own;  // for a graph input or output that can't be used in place, or of found shape

    bool placed() const { return data != nullptr; }
};

}  // namespace

struct Execution::State {
    explicit State(std::shared_ptr<const Program> theProgram)
        : program(std::move(theProgram)),
          schedule(program->mState->schedule),
          memory(program->mState->memory),
          inputShapes(schedule.inputs.size()),
          slots(schedule.slots.size()),
          savedOutputs(schedule.outputs.size()),
          overlaps(schedule.outputs.size()),
          overlapFinder(schedule.inputs.size(), schedule.outputs.size()) {
        arguments.threads = program->mState->threads.get();
        arguments.memory = memory;
        arguments.expired = [this] { return deadline.has_value() && Clock::now() >= *deadline; };
    }

    Status run(ExecutionReport& report);
    void bindTypes();
    Status bindMemory();
    Status place(SlotId id);
    Status settleOutputs(ExecutionReport& report, bool finished);
    Status runStep(size_t index, std::chrono::nanoseconds* deviceTime);
    Result<std::shared_ptr<const ShapedPiece>> specialize(const Step& step);
    Result<TensorView> allocateOutput(const Step& step, size_t index, const Shape& shape);
    Status foundShape(SlotId id, const Shape& shape);
    Status copyOutputs();
    Result<std::byte*> arenaMemory() {
        return arena.get(plan->arenaBytes, memory, "the arena of an execution");
    }
    Result<std::byte*> savedOutput(size_t index) {
        return savedOutputs[index].get(slots[schedule.outputs[index]].bytes, memory,
                                       "the copy of a graph output");
    }

    const std::shared_ptr<const Program> program;
    const Schedule& schedule;
    const std::shared_ptr<MemoryBudget> memory;  // null: not limited

    // The run at hand. The spans are the caller's.
    std::span<const InputBinding> inputs;
    std::span<const OutputBinding> outputs;
    Deadline deadline;
    std::shared_ptr<const ShapedPlan> plan;

    // Memory, kept from run to run.
    std::vector<Shape> inputShapes;
    std::vector<BoundSlot> slots;
    // For outputs that lie in caller's memory at risk, while the others are brought there.
    std::vector<ReusedBuffer> savedOutputs;
    std::vector<uint8_t> overlaps;
    OverlapFinder overlapFinder;
    ReusedBuffer arena;
    ReusedBuffer workspace;  // of steps that the plan left open
    std::vector<ConstTensorView> inputViews;
    std::vector<TensorView> outputViews;
    RunArguments arguments;
};

// Gives memory to a computed slot whose type is known: the caller's where it can be used as it is,
// the arena where the plan says so, the slot's own otherwise.
Status Execution::State::place(SlotId id) {
    BoundSlot& slot = slots[id];
    HALYARD_ASSIGN_OR_RETURN(slot.bytes, slot.type->byteSize());
    slot.inCallersMemory = false;
    if (const std::optional<size_t> index = schedule.slots[id].output; index.has_value()) {
        const OutputBinding& output = outputs[*index];
        if (slot.bytes > 0 && output.present && overlaps[*index] == 0 &&
            output.bytes.size() >= slot.bytes && isAligned(output.bytes.data(), slot.type->type)) {
            slot.data = reinterpret_cast<std::byte*>(output.bytes.data());
            slot.inCallersMemory = true;
            return {};
        }
    } else if (const PlannedSlot& planned = plan->slots[id]; planned.arenaOffset.has_value()) {
        HALYARD_ASSIGN_OR_RETURN(std::byte* const base, arenaMemory());
        slot.data = slot.bytes == 0 ? nothing : base + *planned.arenaOffset;
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(slot.data,
                             slot.own.get(slot.bytes, memory, "a tensor outside the arena"));
    return {};
}

// Starts from what the plan knows.
void Execution::State::bindTypes() {
    for (SlotId id = 0; id < slots.size(); ++id) {
        BoundSlot& slot = slots[id];
        slot.type = &plan->slots[id].type;
        slot.bytes = plan->slots[id].bytes;
        slot.data = nullptr;
        slot.inCallersMemory = false;
    }
}

// Gives memory to every slot whose shape the plan knows, and brings in the inputs.
Status Execution::State::bindMemory() {
    overlapFinder.find(inputs, outputs, overlaps);
    for (SlotId id = 0; id < slots.size(); ++id) {
        BoundSlot& slot = slots[id];
        const Tensor& tensor = schedule.graph->tensor(schedule.slots[id].tensor);
        if (tensor.isConstant()) {
            // Constants are only ever copied from.
            slot.data = reinterpret_cast<std::byte*>(
                    const_cast<uint8_t*>(tensor.constant.bytes.data()));
        } else if (schedule.slots[id].writtenBy != kNoStep && slot.type->shape.isFullyKnown()) {
            HALYARD_RETURN_IF_ERROR(place(id));
        }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        BoundSlot& slot = slots[schedule.inputs[i]];
        if (!inputs[i].present) {
            continue;
        }
        if (slot.bytes > 0 && isAligned(inputs[i].bytes.data(), slot.type->type)) {
            slot.data = reinterpret_cast<std::byte*>(const_cast<uint8_t*>(inputs[i].bytes.data()));
            slot.inCallersMemory = true;
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(slot.data,
                                 slot.own.get(slot.bytes, memory, "the copy of a graph input"));
        if (slot.bytes > 0) {
            std::memcpy(slot.data, inputs[i].bytes.data(), slot.bytes);
        }
    }
    return {};
}

// Tells the report and checks against the bindings what is known of the outputs by now. An output
// that is too small is an error once no shape is missing, or once the run has finished.
Status Execution::State::settleOutputs(ExecutionReport& report, bool finished) {
    bool allKnown = true;
    bool allSufficient = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
        const BoundSlot& slot = slots[schedule.outputs[i]];
        report.outputs[i].shape = slot.type->shape;
        allKnown = allKnown && slot.type->shape.isFullyKnown();
        if (!outputs[i].present) {
            continue;
        }
        Result<Shape> agreed = mergeShapes(outputs[i].shape, slot.type->shape);
        if (!agreed.ok()) {
            return agreed.status().withContext("graph output " + std::to_string(i));
        }
        report.outputs[i].sufficient = outputs[i].bytes.size() >= slot.bytes;
        allSufficient = allSufficient && report.outputs[i].sufficient;
    }
    if (allSufficient || !(allKnown || finished)) {
        return {};
    }
    std::string message = "too small:";
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!report.outputs[i].sufficient) {
            message += " graph output " + std::to_string(i) + " takes " +
                       std::to_string(slots[schedule.outputs[i]].bytes) + " bytes but " +
                       std::to_string(outputs[i].bytes.size()) + " are bound;";
        }
    }
    message.pop_back();
    return {StatusCode::OUTPUT_TOO_SMALL, std::move(message)};
}

Status Execution::State::foundShape(SlotId id, const Shape& shape) {
    BoundSlot& slot = slots[id];
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

// For a step that the plan left open: its inputs have been computed by now.
Result<std::shared_ptr<const ShapedPiece>> Execution::State::specialize(const Step& step) {
    std::vector<TensorType> types;
    std::vector<Shape> shapes;
    for (const SlotId id : step.inputs) {
        types.push_back(*slots[id].type);
        shapes.push_back(slots[id].type->shape);
    }
    std::shared_ptr<const ShapedPiece> shaped = step.specializations->find(shapes);
    if (shaped == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(shaped, specializeStep(schedule, step, types));
        shaped = step.specializations->insert(shapes, std::move(shaped));
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        const SlotId id = step.outputs[i];
        HALYARD_RETURN_IF_ERROR(foundShape(id, shaped->outputTypes()[i].shape));
        if (!slots[id].placed() && slots[id].type->shape.isFullyKnown()) {
            HALYARD_RETURN_IF_ERROR(place(id));
        }
    }
    return shaped;
}

Result<TensorView> Execution::State::allocateOutput(const Step& step, size_t index,
                                                    const Shape& shape) {
    if (index >= step.outputs.size() || !shape.isFullyKnown()) {
        return internalError(std::string(step.backend) + " asks for output " +
                             std::to_string(index) + " of shape " + shape.toString() +
                             " of a piece with " + std::to_string(step.outputs.size()));
    }
    const SlotId id = step.outputs[index];
    Status agreed = foundShape(id, shape);
    if (const std::optional<size_t> output = schedule.slots[id].output;
        agreed.ok() && output.has_value() && outputs[*output].present) {
        agreed = mergeShapes(outputs[*output].shape, shape).status();
    }
    if (!agreed.ok()) {
        return agreed.withContext("output " + std::to_string(index) + " of a piece");
    }
    if (!slots[id].placed()) {
        HALYARD_RETURN_IF_ERROR(place(id));
    }
    outputViews[index] = {.type = slots[id].type, .data = slots[id].data};
    return outputViews[index];
}

Status Execution::State::runStep(size_t index, std::chrono::nanoseconds* deviceTime) {
    const Step& step = schedule.steps[index];
    const PlannedStep& planned = plan->steps[index];
    std::shared_ptr<const ShapedPiece> found;
    const ShapedPiece* shaped = planned.shaped.get();
    std::byte* scratch = nullptr;
    if (shaped != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(scratch, arenaMemory());
        arguments.workspace = {scratch + planned.workspaceOffset, planned.workspaceBytes};
    } else {
        HALYARD_ASSIGN_OR_RETURN(found, specialize(step));
        shaped = found.get();
        HALYARD_ASSIGN_OR_RETURN(scratch, workspace.get(shaped->workspaceBytes(), memory,
                                                        "the workspace of a piece"));
        arguments.workspace = {scratch, shaped->workspaceBytes()};
    }

    inputViews.clear();
    for (const SlotId id : step.inputs) {
        inputViews.push_back({.type = slots[id].type, .data = slots[id].data});
    }
    outputViews.clear();
    bool allKnown = true;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        // What the graph knows of a shape does not count where the backend has yet to find it.
        const TensorType& type = shaped->outputTypes()[i];
        const bool known = type.shape.isFullyKnown();
        outputViews.push_back(
                {.type = &type, .data = known ? slots[step.outputs[i]].data : nullptr});
        allKnown = allKnown && known;
    }
    arguments.inputs = inputViews;
    arguments.outputs = outputViews;
    arguments.allocateOutput = nullptr;
    if (!allKnown) {
        arguments.allocateOutput = [this, &step](size_t output, const Shape& shape) {
            return allocateOutput(step, output, shape);
        };
    }

    const Clock::time_point begin = Clock::now();
    const Status status = shaped->run(arguments);
    *deviceTime += Clock::now() - begin;
    if (!status.ok()) {
        return status.withContext(step.backend);
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (outputViews[i].data == nullptr) {
            return internalError(std::string(step.backend) + " computed no output " +
                                 std::to_string(i) + " of a piece");
        }
    }
    return {};
}

// Brings the outputs that were not written in place to the caller.
Status Execution::State::copyOutputs() {
    // First what overlaps nothing: writing it destroys nothing that is still to be read. Meanwhile
    // graph inputs that go to an output at risk are saved.
    for (size_t i = 0; i < outputs.size(); ++i) {
        BoundSlot& slot = slots[schedule.outputs[i]];
        auto* const target = reinterpret_cast<std::byte*>(outputs[i].bytes.data());
        if (!outputs[i].present || slot.bytes == 0 || slot.data == target) {
            continue;
        }
        if (overlaps[i] == 0) {
            std::memcpy(target, slot.data, slot.bytes);
        } else if (slot.inCallersMemory) {
            HALYARD_ASSIGN_OR_RETURN(std::byte* const copy, savedOutput(i));
            std::memcpy(copy, slot.data, slot.bytes);
        }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const BoundSlot& slot = slots[schedule.outputs[i]];
        auto* const target = reinterpret_cast<std::byte*>(outputs[i].bytes.data());
        if (!outputs[i].present || slot.bytes == 0 || slot.data == target || overlaps[i] == 0) {
            continue;
        }
        const std::byte* source = slot.data;
        if (slot.inCallersMemory) {
            HALYARD_ASSIGN_OR_RETURN(source, savedOutput(i));
        }
        std::memcpy(target, source, slot.bytes);
    }
    return {};
}

Status Execution::State::run(ExecutionReport& report) {
    HALYARD_RETURN_IF_ERROR(checkInputs(schedule, inputs, inputShapes));
    if (outputs.size() != schedule.outputs.size()) {
        return invalidArgument(std::to_string(outputs.size()) +
                               " outputs are bound to a graph with " +
                               std::to_string(schedule.outputs.size()));
    }
    HALYARD_ASSIGN_OR_RETURN(plan, program->mState->planFor(inputShapes));
    report.outputs.resize(outputs.size());
    report.arenaBytes = plan->arenaBytes;
    bindTypes();
    HALYARD_RETURN_IF_ERROR(settleOutputs(report, false));
    HALYARD_RETURN_IF_ERROR(bindMemory());
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
        if (arguments.expired()) {
            return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed before piece " +
                                                           std::to_string(i) + " of " +
                                                           std::to_string(schedule.steps.size())};
        }
        HALYARD_RETURN_IF_ERROR(runStep(i, &report.deviceTime));
    }
    HALYARD_RETURN_IF_ERROR(settleOutputs(report, true));
    return copyOutputs();
}

Execution::Execution(std::shared_ptr<const Program> program)
    : mState(std::make_unique<State>(std::move(program))) {}

Execution::~Execution() = default;

Status Execution::run(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
                      const Deadline& deadline, ExecutionReport* report) {
    ExecutionReport unread;
    ExecutionReport& result = report != nullptr ? *report : unread;
    result.outputs.clear();
    result.deviceTime = {};
    result.arenaBytes = 0;
    mState->inputs = inputs;
    mState->outputs = outputs;
    mState->deadline = deadline;
    Status status = mState->run(result);
    mState->inputs = {};
    mState->outputs = {};
    return status;
}

}  // namespace halyard::engine
