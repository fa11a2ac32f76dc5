// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/schedule.h"

#include <string>
#include <utility>

namespace halyard::engine {
namespace {

// As many sets of shapes as a step remembers within one set of graph input shapes.
constexpr size_t kSpecializationsPerStep = 8;

class SlotTable {
  public:
    explicit SlotTable(size_t tensorCount) : mSlotOf(tensorCount, kNone) {}

    SlotId slotOf(TensorId tensor) {
        SlotId& slot = mSlotOf[tensor];
        if (slot == kNone) {
            slot = mSlots.size();
            mSlots.emplace_back().tensor = tensor;
        }
        return slot;
    }

    Slot& operator[](SlotId slot) { return mSlots[slot]; }
    std::vector<Slot> take() { return std::move(mSlots); }

  private:
    static constexpr SlotId kNone = std::numeric_limits<SlotId>::max();
    std::vector<SlotId> mSlotOf;
    std::vector<Slot> mSlots;
};

}  // namespace

Result<Schedule> compileSchedule(std::shared_ptr<const Graph> graph,
                                 const std::vector<AssignedPiece>& pieces,
                                 const BackendList& backends,
                                 const std::shared_ptr<MemoryBudget>& memory) {
    Schedule schedule;
    SlotTable slots(graph->tensors().size());
    for (const TensorId input : graph->inputs()) {
        schedule.inputs.push_back(slots.slotOf(input));
    }
    for (const auto& [backendIndex, piece] : pieces) {
        const Backend& backend = *backends[backendIndex];
        Result<std::unique_ptr<const CompiledPiece>> compiled = backend.compile(graph, piece);
        if (!compiled.ok()) {
            return compiled.status().withContext(backend.name());
        }
        Step step;
        step.backend = backend.name();
        step.compiled = std::move(compiled).value();
        Result<Reservation> constants = Reservation::create(memory, step.compiled->constantBytes());
        if (!constants.ok()) {
            return constants.status().withContext("the constants of " + std::string(step.backend));
        }
        step.constants = std::move(constants).value();
        step.specializations = std::make_unique<ShapeCache<ShapedPiece>>(kSpecializationsPerStep);
        const size_t index = schedule.steps.size();
        for (const TensorId input : piece.inputs) {
            step.inputs.push_back(slots.slotOf(input));
            slots[step.inputs.back()].lastReadBy = index;
        }
        for (const TensorId output : piece.outputs) {
            step.outputs.push_back(slots.slotOf(output));
            slots[step.outputs.back()].writtenBy = index;
        }
        schedule.steps.push_back(std::move(step));
    }
    for (size_t i = 0; i < graph->outputs().size(); ++i) {
        const SlotId slot = slots.slotOf(graph->outputs()[i]);
        schedule.outputs.push_back(slot);
        if (!slots[slot].output.has_value()) {
            slots[slot].output = i;
        }
    }
    schedule.slots = slots.take();
    schedule.graph = std::move(graph);
    return schedule;
}

Result<std::shared_ptr<const ShapedPiece>> specializeStep(const Schedule& schedule,
                                                          const Step& step,
                                                          std::span<const TensorType> inputs) {
    Result<std::unique_ptr<const ShapedPiece>> specialized = step.compiled->specialize(inputs);
    if (!specialized.ok()) {
        return specialized.status().withContext(step.backend);
    }
    std::shared_ptr<const ShapedPiece> shaped = std::move(specialized).value();
    const std::span<const TensorType> outputs = shaped->outputTypes();
    if (outputs.size() != step.outputs.size()) {
        return internalError(std::string(step.backend) + " reports " +
                             std::to_string(outputs.size()) + " outputs for a piece with " +
                             std::to_string(step.outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const TensorType& expected = schedule.graphType(step.outputs[i]);
        if (outputs[i].type != expected.type) {
            return internalError(std::string(step.backend) + " makes output " + std::to_string(i) +
                                 " of a piece " + outputs[i].toString() + " where the graph has " +
                                 expected.toString());
        }
    }
    return shaped;
}

}  // namespace halyard::engine
