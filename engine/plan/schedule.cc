// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/schedule.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/graph/verifier.h"
#include "engine/plan/partition.h"
#include "engine/plan/shaped_plan.h"

namespace halyard::engine {
namespace {

// As many sets of shapes as a step remembers within one set of graph input shapes.
constexpr size_t kSpecializationsPerStep = 8;

class SlotTable {
  public:
    explicit SlotTable(size_t tensorCount) : mSlotOf(tensorCount, kNoSlot) {}

    SlotId slotOf(TensorId tensor) {
        SlotId& slot = mSlotOf[tensor];
        if (slot == kNoSlot) {
            slot = mSlots.size();
            mSlots.emplace_back().tensor = tensor;
        }
        return slot;
    }

    Slot& operator[](SlotId slot) { return mSlots[slot]; }
    std::vector<Slot> take() { return std::move(mSlots); }

  private:
    std::vector<SlotId> mSlotOf;
    std::vector<Slot> mSlots;
};

class ScheduleCompiler {
  public:
    ScheduleCompiler(std::shared_ptr<Graph> graph, const Assignment& assignment,
                     ScheduleArguments& arguments)
        : mGraph(std::move(graph)),
          mAssignment(assignment),
          mArguments(arguments),
          mSlots(mGraph->tensors().size()),
          mFirstNested(mGraph->nodes().size(), 0) {
        size_t nested = 0;
        for (NodeId id = 0; id < mGraph->nodes().size(); ++id) {
            mFirstNested[id] = nested;
            nested += nestedGraphs(mGraph->node(id)).size();
        }
    }

    Result<Schedule> compile() {
        Schedule schedule;
        for (const TensorId input : mGraph->inputs()) {
            schedule.inputs.push_back(mSlots.slotOf(input));
        }
        for (const AssignedPiece& assigned :
             partition(*mGraph, mAssignment.backendOf, mArguments.backends.size())) {
            HALYARD_RETURN_IF_ERROR(mArguments.checkpoint.check("while the graph was compiled"));
            const size_t index = schedule.steps.size();
            Step& step = schedule.steps.emplace_back();
            HALYARD_RETURN_IF_ERROR(assigned.backend != kPlanner
                                            ? compilePiece(assigned, step)
                                            : compileControlFlow(assigned, step));
            for (const SlotId input : step.inputs) {
                if (input != kNoSlot) {
                    mSlots[input].lastReadBy = index;
                }
            }
            for (const SlotId output : step.outputs) {
                mSlots[output].writtenBy = index;
            }
        }
        for (size_t i = 0; i < mGraph->outputs().size(); ++i) {
            const SlotId slot = mSlots.slotOf(mGraph->outputs()[i]);
            schedule.outputs.push_back(slot);
            if (!mSlots[slot].output.has_value()) {
                mSlots[slot].output = i;
            }
        }
        schedule.slots = mSlots.take();
        const std::vector<bool> steering = steeringTensors(*mGraph);
        for (Slot& slot : schedule.slots) {
            slot.steers = steering[slot.tensor];
        }
        schedule.placementOf = mAssignment.placementOf;
        schedule.graph = std::move(mGraph);
        schedule.plans = std::make_unique<ShapeCache<ShapedPlan>>(Schedule::kCachedPlans);
        return schedule;
    }

  private:
    void notePiece(const Piece& piece) {
        for (const NodeId node : piece.nodes) {
            mArguments.placement[mAssignment.placementOf[node]].piece = mArguments.pieces;
        }
        ++mArguments.pieces;
    }

    Status compilePiece(const AssignedPiece& assigned, Step& step) {
        const Backend& backend = *mArguments.backends[assigned.backend];
        notePiece(assigned.piece);
        Result<std::unique_ptr<const CompiledPiece>> compiled =
                backend.compile({.graph = mGraph,
                                 .piece = assigned.piece,
                                 .constants = mArguments.constants,
                                 .memory = mArguments.memory,
                                 .threads = mArguments.threads,
                                 .checkpoint = mArguments.checkpoint,
                                 .options = mArguments.options});
        if (!compiled.ok()) {
            return compiled.status().withContext(backend.name());
        }
        auto& piece = step.work.emplace<PieceStep>();
        piece.backend = backend.name();
        piece.compiled = std::move(compiled).value();
        for (size_t i = 0; i < assigned.piece.nodes.size(); ++i) {
            const size_t placement = mAssignment.placementOf[assigned.piece.nodes[i]];
            mArguments.placement[placement].kernel = piece.compiled->kernelOf(i);
        }
        piece.specializations = std::make_unique<ShapeCache<ShapedPiece>>(kSpecializationsPerStep);
        for (const TensorId input : assigned.piece.inputs) {
            step.inputs.push_back(mSlots.slotOf(input));
        }
        for (const TensorId output : assigned.piece.outputs) {
            step.outputs.push_back(mSlots.slotOf(output));
        }
        return {};
    }

    Status compileControlFlow(const AssignedPiece& assigned, Step& step) {
        notePiece(assigned.piece);
        const NodeId id = assigned.piece.nodes.front();
        const Node& node = mGraph->node(id);
        const std::vector<const NestedGraph*> nested = nestedGraphs(node);
        std::vector<std::unique_ptr<Schedule>> schedules;
        for (size_t i = 0; i < nested.size(); ++i) {
            Result<Schedule> inside =
                    compileSchedule(std::make_shared<Graph>(*nested[i]->graph),
                                    mAssignment.nested[mFirstNested[id] + i], mArguments);
            if (!inside.ok()) {
                return inside.status().withContext(node.label);
            }
            schedules.push_back(std::make_unique<Schedule>(std::move(inside).value()));
        }
        step.label = node.label;
        if (std::holds_alternative<If>(node.descriptor)) {
            auto& branch = step.work.emplace<IfStep>();
            branch.then = std::move(schedules[0]);
            branch.otherwise = std::move(schedules[1]);
        } else {
            auto& loop = step.work.emplace<WhileStep>();
            loop.condition = std::move(schedules[0]);
            loop.body = std::move(schedules[1]);
        }
        for (const TensorId input : node.inputs) {
            step.inputs.push_back(input == kNoTensor ? kNoSlot : mSlots.slotOf(input));
        }
        for (const TensorId output : node.outputs) {
            step.outputs.push_back(mSlots.slotOf(output));
        }
        return {};
    }

    std::shared_ptr<Graph> mGraph;
    const Assignment& mAssignment;
    ScheduleArguments& mArguments;
    SlotTable mSlots;
    std::vector<size_t> mFirstNested;  // per node: its first in Assignment::nested
};

}  // namespace

Result<Schedule> compileSchedule(std::shared_ptr<Graph> graph, const Assignment& assignment,
                                 ScheduleArguments& arguments) {
    return ScheduleCompiler(std::move(graph), assignment, arguments).compile();
}

Result<std::shared_ptr<const ShapedPlan>> Schedule::planFor(std::span<const MaybeShape> inputShapes,
                                                            const Checkpoint& checkpoint) const {
    if (staticPlan != nullptr && std::ranges::all_of(inputShapes, [](const MaybeShape& shape) {
            return shape.has_value();
        })) {
        return staticPlan;
    }
    std::shared_ptr<const ShapedPlan> plan = plans->find(inputShapes);
    if (plan == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(plan, planShapes(*this, inputShapes, checkpoint));
        plan = plans->insert(inputShapes, std::move(plan));
    }
    return plan;
}

void releasePackedConstants(Schedule& schedule) {
    Graph& graph = *schedule.graph;
    // Reads of each tensor, less those that no longer take place.
    std::vector<int64_t> readers(graph.tensors().size(), 0);
    for (const Node& node : graph.nodes()) {
        for (const TensorId input : node.inputs) {
            if (input != kNoTensor) {
                ++readers[input];
            }
        }
    }
    for (const Slot& slot : schedule.slots) {
        ++readers[slot.tensor];
    }
    std::vector<TensorId> packed;
    for (Step& step : schedule.steps) {
        if (auto* piece = std::get_if<PieceStep>(&step.work)) {
            for (const TensorId id : piece->compiled->packed()) {
                --readers[id];
                packed.push_back(id);
            }
        } else if (auto* branch = std::get_if<IfStep>(&step.work)) {
            releasePackedConstants(*branch->then);
            releasePackedConstants(*branch->otherwise);
        } else if (auto* loop = std::get_if<WhileStep>(&step.work)) {
            releasePackedConstants(*loop->condition);
            releasePackedConstants(*loop->body);
        }
    }
    for (const TensorId id : packed) {
        if (readers[id] <= 0) {
            graph.replaceConstant(id, {});
        }
    }
}

Result<std::shared_ptr<const ShapedPiece>> specializeStep(const Schedule& schedule,
                                                          const Step& step,
                                                          std::span<const TensorType* const> inputs,
                                                          const Checkpoint& checkpoint) {
    const PieceStep& piece = *std::get_if<PieceStep>(&step.work);
    Result<std::unique_ptr<const ShapedPiece>> specialized =
            piece.compiled->specialize(inputs, checkpoint);
    if (!specialized.ok()) {
        return specialized.status().withContext(piece.backend);
    }
    std::shared_ptr<const ShapedPiece> shaped = std::move(specialized).value();
    const std::span<const TensorType> outputs = shaped->outputTypes();
    if (outputs.size() != step.outputs.size()) {
        return internalError(std::string(piece.backend) + " reports " +
                             std::to_string(outputs.size()) + " outputs for a piece with " +
                             std::to_string(step.outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const TensorType& expected = schedule.graphType(step.outputs[i]);
        if (outputs[i].type != expected.type) {
            return internalError(std::string(piece.backend) + " makes output " + std::to_string(i) +
                                 " of a piece " + outputs[i].toString() + " where the graph has " +
                                 expected.toString());
        }
    }
    return shaped;
}

}  // namespace halyard::engine
