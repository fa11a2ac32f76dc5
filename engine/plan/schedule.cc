// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/schedule.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/checksum.h"
#include "engine/graph/constant_copies.h"
#include "engine/graph/verifier.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/partition.h"

namespace halyard::engine {
namespace {

// As many sets of shapes as a step remembers within one set of graph input shapes.
constexpr size_t kSpecializationsPerStep = 8;

// Which slots there are of each tensor.
class SlotTable {
  public:
    explicit SlotTable(size_t tensorCount) : mOnHost(tensorCount, kNoSlot) {}

    // kNoSlot if there is none.
    SlotId find(TensorId tensor, HomeId home) const {
        if (home == kHost) {
            return mOnHost[tensor];
        }
        const auto found = mOnDevices.find({tensor, home});
        return found == mOnDevices.end() ? kNoSlot : found->second;
    }
    // On any device.
    SlotId findOnDevice(TensorId tensor) const {
        const auto found = mOnDevices.lower_bound({tensor, 0});
        return found == mOnDevices.end() || found->first.first != tensor ? kNoSlot : found->second;
    }
    SlotId add(TensorId tensor, HomeId home) {
        const SlotId slot = mSlots.size();
        (home == kHost ? mOnHost[tensor] : mOnDevices[{tensor, home}]) = slot;
        Slot& added = mSlots.emplace_back();
        added.tensor = tensor;
        added.home = home;
        return slot;
    }

    Slot& operator[](SlotId slot) { return mSlots[slot]; }
    std::vector<Slot> take() { return std::move(mSlots); }

  private:
    std::vector<SlotId> mOnHost;  // per tensor
    std::map<std::pair<TensorId, HomeId>, SlotId> mOnDevices;
    std::vector<Slot> mSlots;
};

// As much of a constant's begin and end tells most from each other.
constexpr size_t kEnd = 256;
// Bytes that are compared at once.
constexpr size_t kComparedBytes = size_t{1} << 20;

Result<bool> areEqual(std::span<const uint8_t> a, std::span<const uint8_t> b,
                      const Checkpoint& checkpoint) {
    for (size_t at = 0; at < a.size(); at += kComparedBytes) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while constants were compared"));
        if (std::memcmp(a.data() + at, b.data() + at, std::min(kComparedBytes, a.size() - at)) !=
            0) {
            return false;
        }
    }
    return true;
}

// Lets constants that hold the same bytes lie in the same memory, so that what is made of them is
// made once: converters write one as often as it is read, and a bias of zeros for each layer that
// has none. Each is compared with one other at most, the last that is as long and begins and ends
// alike, so that this takes no longer than reading them.
Status shareConstants(Graph& graph, const Checkpoint& checkpoint) {
    struct Kind {
        size_t size = 0;
        size_t alignment = 0;
        bool shared = false;  // a client may write to it
        uint64_t ends = 0;
        auto operator<=>(const Kind&) const = default;
    };
    std::map<Kind, const ConstantData*> last;
    for (TensorId id = 0; id < graph.tensors().size(); ++id) {
        const ConstantData& constant = graph.tensor(id).constant;
        const std::span<const uint8_t> bytes = constant.bytes;
        if (constant.owner == nullptr || bytes.empty()) {
            continue;
        }
        Checksum ends;
        ends.add(bytes.first(std::min(bytes.size(), kEnd)));
        ends.add(bytes.last(std::min(bytes.size(), kEnd)));
        const ConstantData*& alike = last[{.size = bytes.size(),
                                           .alignment = elementSize(graph.tensor(id).type.type),
                                           .shared = constant.shared,
                                           .ends = ends.value()}];
        bool isSame = false;
        if (alike != nullptr && alike->bytes.data() != bytes.data()) {
            HALYARD_ASSIGN_OR_RETURN(isSame, areEqual(alike->bytes, bytes, checkpoint));
        }
        if (isSame) {
            graph.replaceConstant(id, *alike);
        } else {
            alike = &graph.tensor(id).constant;
        }
    }
    return {};
}

class ScheduleCompiler {
  public:
    ScheduleCompiler(std::shared_ptr<Graph> graph, const Assignment& assignment,
                     ScheduleArguments& arguments)
        : mGraph(std::move(graph)),
          mAssignment(assignment),
          mArguments(arguments),
          mIsControl(controlTensors(*mGraph)),
          mSlots(mGraph->tensors().size()),
          mFirstNested(mGraph->nodes().size(), 0) {
        size_t nested = 0;
        for (NodeId id = 0; id < mGraph->nodes().size(); ++id) {
            mFirstNested[id] = nested;
            nested += nestedGraphs(mGraph->node(id)).size();
        }
    }

    Result<Schedule> compile() {
        if (mArguments.numbers != nullptr) {
            HALYARD_RETURN_IF_ERROR(shareConstants(*mGraph, mArguments.checkpoint));
            mArguments.numbers->number(*mGraph);
        }
        for (const TensorId input : mGraph->inputs()) {
            mSchedule.inputs.push_back(write(input, kHost));
        }
        for (const AssignedPartition& assigned :
             partitionGraph(*mGraph, mAssignment.backendOf, mArguments.backends.size())) {
            HALYARD_RETURN_IF_ERROR(mArguments.checkpoint.check("while the graph was compiled"));
            HALYARD_RETURN_IF_ERROR(assigned.backend != kPlanner ? compilePartition(assigned)
                                                                 : compileControlFlow(assigned));
        }
        for (size_t i = 0; i < mGraph->outputs().size(); ++i) {
            const SlotId slot = read(mGraph->outputs()[i], kHost);
            mSchedule.outputs.push_back(slot);
            if (!mSlots[slot].output.has_value()) {
                mSlots[slot].output = i;
            }
        }
        mSchedule.slots = mSlots.take();
        mSchedule.placementOf = mAssignment.placementOf;
        mSchedule.graph = std::move(mGraph);
        mSchedule.plans = std::make_unique<ShapeCache<ShapedPlan>>(Schedule::kCachedPlans);
        return std::move(mSchedule);
    }

  private:
    // The slot that a tensor comes into being in.
    SlotId write(TensorId tensor, HomeId home) {
        SlotId slot = mSlots.find(tensor, home);
        if (slot == kNoSlot) {
            slot = mSlots.add(tensor, home);
            mSlots[slot].isControl = home == kHost && mIsControl[tensor];
        }
        return slot;
    }

    // The slot that the next step reads a tensor from in that memory. Where there is none yet, the
    // tensor is copied there, once for all that read it later.
    SlotId read(TensorId tensor, HomeId home) {
        if (const SlotId slot = mSlots.find(tensor, home); slot != kNoSlot) {
            return slot;
        }
        SlotId from = kNoSlot;
        if (home != kHost) {
            from = read(tensor, kHost);
        } else {
            from = mSlots.findOnDevice(tensor);
            if (from == kNoSlot) {
                return write(tensor, kHost);  // a constant
            }
        }
        const SlotId to = write(tensor, home);
        DeviceMemory* const device = mSchedule.devices[home == kHost ? mSlots[from].home : home];
        Step copy;
        copy.work =
                CopyStep{.device = device,
                         .name = (home == kHost ? "from " : "to ") + std::string(device->name())};
        copy.inputs = {from};
        copy.outputs = {to};
        append(std::move(copy));
        return to;
    }

    void append(Step step) {
        const size_t index = mSchedule.steps.size();
        const bool copies = std::holds_alternative<CopyStep>(step.work);
        for (const SlotId input : step.inputs) {
            if (input != kNoSlot) {
                mSlots[input].lastReadBy = index;
                mSlots[input].isOnlyCopied = mSlots[input].isOnlyCopied && copies;
            }
        }
        for (const SlotId output : step.outputs) {
            mSlots[output].writtenBy = index;
        }
        mSchedule.steps.push_back(std::move(step));
    }

    HomeId homeOf(const Backend& backend) {
        DeviceMemory* const memory = backend.memory();
        if (memory == nullptr) {
            return kHost;
        }
        const auto found = std::ranges::find(mSchedule.devices, memory);
        const auto home = static_cast<HomeId>(found - mSchedule.devices.begin());
        if (found == mSchedule.devices.end()) {
            mSchedule.devices.push_back(memory);
        }
        return home;
    }

    // Control inputs that the partition reads from the host's memory.
    std::set<TensorId> controlInputsOf(const Partition& partition, const Backend& backend) const {
        std::set<TensorId> control;
        for (const NodeId id : partition.nodes) {
            const Node& node = mGraph->node(id);
            const NodeSignature signature = signatureOf(node.descriptor);
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                if (signature.isControlInput(i) && !backend.readsInMemory(*mGraph, id, i)) {
                    control.insert(node.inputs[i]);
                }
            }
        }
        return control;
    }

    void notePartition(const Partition& partition) {
        for (const NodeId node : partition.nodes) {
            mArguments.placement[mAssignment.placementOf[node]].partition = mArguments.partitions;
        }
        ++mArguments.partitions;
    }

    Status compilePartition(const AssignedPartition& assigned) {
        const Backend& backend = *mArguments.backends[assigned.backend];
        notePartition(assigned.partition);
        Result<std::unique_ptr<CompiledPartition>> compiled =
                backend.compile({.graph = mGraph,
                                 .partition = assigned.partition,
                                 .constants = mArguments.constants,
                                 .memory = mArguments.memory,
                                 .threads = mArguments.threads,
                                 .checkpoint = mArguments.checkpoint,
                                 .options = mArguments.options,
                                 .blobs = mArguments.blobs.of(backend.name())});
        if (!compiled.ok()) {
            mArguments.failed = mArguments.partitions - 1;
            return compiled.status().withContext(backend.name());
        }
        if (*compiled == nullptr) {
            mArguments.failed = mArguments.partitions - 1;
            return internalError(std::string(backend.name()) +
                                 " compiled nothing, and says that all went well");
        }
        const HomeId home = homeOf(backend);
        PartitionStep partition;
        partition.backend = backend.name();
        partition.partition = mArguments.partitions - 1;
        partition.home = home;
        partition.compiled = std::move(compiled).value();
        for (size_t i = 0; i < assigned.partition.nodes.size(); ++i) {
            const size_t placement = mAssignment.placementOf[assigned.partition.nodes[i]];
            mArguments.placement[placement].kernel = partition.compiled->kernelOf(i);
            mArguments.placement[placement].lostForms = partition.compiled->lostFormsOf(i);
        }
        partition.specializations =
                std::make_unique<ShapeCache<SpecializedPartition>>(kSpecializationsPerStep);
        Step step;
        step.work = std::move(partition);
        const std::set<TensorId> control =
                home == kHost ? std::set<TensorId>() : controlInputsOf(assigned.partition, backend);
        for (const TensorId input : assigned.partition.inputs) {
            step.inputs.push_back(read(input, control.contains(input) ? kHost : home));
        }
        for (const TensorId output : assigned.partition.outputs) {
            step.outputs.push_back(write(output, home));
        }
        append(std::move(step));
        return {};
    }

    Status compileControlFlow(const AssignedPartition& assigned) {
        notePartition(assigned.partition);
        const NodeId id = assigned.partition.nodes.front();
        Node& node = mGraph->mutableNode(id);
        const std::vector<NestedGraph*> nested = nestedGraphs(node);
        std::vector<std::unique_ptr<Schedule>> schedules;
        for (size_t i = 0; i < nested.size(); ++i) {
            HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph,
                                     copyOfNested(*nested[i]->graph, mArguments.memory));
            Result<Schedule> inside = compileSchedule(
                    std::move(graph), mAssignment.nested[mFirstNested[id] + i], mArguments);
            if (!inside.ok()) {
                return failureOf(node, inside.status());
            }
            // The node's own would keep the constants that are packed away in the schedule's.
            nested[i]->graph = inside->graph;
            schedules.push_back(std::make_unique<Schedule>(std::move(inside).value()));
        }
        Step step;
        step.label = node.label;
        if (std::holds_alternative<If>(node.descriptor)) {
            step.work =
                    IfStep{.then = std::move(schedules[0]), .otherwise = std::move(schedules[1])};
        } else {
            step.work = WhileStep{.condition = std::move(schedules[0]),
                                  .body = std::move(schedules[1])};
        }
        for (const TensorId input : node.inputs) {
            step.inputs.push_back(input == kNoTensor ? kNoSlot : read(input, kHost));
        }
        for (const TensorId output : node.outputs) {
            step.outputs.push_back(write(output, kHost));
        }
        append(std::move(step));
        return {};
    }

    std::shared_ptr<Graph> mGraph;
    const Assignment& mAssignment;
    ScheduleArguments& mArguments;
    const std::vector<bool> mIsControl;  // per tensor
    SlotTable mSlots;
    std::vector<size_t> mFirstNested;  // per node: its first in Assignment::nested
    Schedule mSchedule;
};

}  // namespace

Result<Schedule> compileSchedule(std::shared_ptr<Graph> graph, const Assignment& assignment,
                                 ScheduleArguments& arguments) {
    return ScheduleCompiler(std::move(graph), assignment, arguments).compile();
}

size_t Schedule::computedBy(SlotId slot) const {
    size_t step = slots[slot].writtenBy;
    while (step != kNoStep && std::holds_alternative<CopyStep>(steps[step].work)) {
        step = slots[steps[step].inputs.front()].writtenBy;
    }
    return step;
}

namespace {

// Calls visit(schedule) for the schedules inside a step.
template <typename Visit>
void forEachInside(const Step& step, Visit visit) {
    if (const auto* branch = std::get_if<IfStep>(&step.work)) {
        visit(*branch->then);
        visit(*branch->otherwise);
    } else if (const auto* loop = std::get_if<WhileStep>(&step.work)) {
        visit(*loop->condition);
        visit(*loop->body);
    }
}

// Per tensor: how often it is read for its elements, by nodes that have not packed them and
// between steps.
std::vector<int64_t> readersOf(const Schedule& schedule) {
    std::vector<int64_t> readers(schedule.graph->tensors().size(), 0);
    for (const Node& node : schedule.graph->nodes()) {
        for (const TensorId input : node.inputs) {
            if (input != kNoTensor) {
                ++readers[input];
            }
        }
    }
    for (const Slot& slot : schedule.slots) {
        ++readers[slot.tensor];
    }
    for (const Step& step : schedule.steps) {
        if (const auto* partition = std::get_if<PartitionStep>(&step.work)) {
            for (const TensorId id : partition->compiled->packed()) {
                --readers[id];
            }
        }
    }
    return readers;
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
void releasePackedConstants(Schedule& schedule) {
    const std::vector<int64_t> readers = readersOf(schedule);
    const std::vector<bool> isControl = controlTensors(*schedule.graph);
    for (const Step& step : schedule.steps) {
        if (const auto* partition = std::get_if<PartitionStep>(&step.work)) {
            for (const TensorId id : partition->compiled->packed()) {
                if (readers[id] <= 0 && !isControl[id]) {
                    schedule.graph->packAway(id);
                }
            }
        }
        forEachInside(step, [](Schedule& inside) { releasePackedConstants(inside); });
    }
}

size_t sharedConstantBytes(const Schedule& schedule) {
    std::set<std::pair<const uint8_t*, size_t>> places;
    forEachSchedule(schedule, [&](const Schedule& each) {
        for (const Tensor& tensor : each.graph->tensors()) {
            if (tensor.constant.shared) {
                places.emplace(tensor.constant.bytes.data(), tensor.constant.bytes.size());
            }
        }
    });
    size_t bytes = 0;
    for (const auto& [data, size] : places) {
        bytes = checkedAdd(bytes, size).value_or(std::numeric_limits<size_t>::max());
    }
    return bytes;
}

Status copySharedConstants(Schedule& schedule, const std::shared_ptr<Budget>& memory,
                           const Checkpoint& checkpoint) {
    ConstantCopies copies(memory, checkpoint);
    Status status;
    forEachSchedule(schedule, [&](const Schedule& each) {
        Graph& graph = *each.graph;
        for (TensorId id = 0; id < graph.tensors().size() && status.ok(); ++id) {
            if (!graph.tensor(id).constant.shared) {
                continue;
            }
            Result<ConstantData> copy = copies.of(graph.tensor(id).constant);
            status = copy.status();
            if (copy.ok()) {
                graph.replaceConstant(id, std::move(*copy));
            }
        }
    });
    return status;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
Status checkPackedConstants(const Schedule& schedule) {
    const std::vector<int64_t> readers = readersOf(schedule);
    for (TensorId id = 0; id < readers.size(); ++id) {
        if (schedule.graph->tensor(id).isPackedAway() && readers[id] > 0) {
            return unsupported("constant " + std::to_string(id) +
                               " was packed away, and a node is to read its elements");
        }
    }
    Status status;
    for (const Step& step : schedule.steps) {
        forEachInside(step, [&](const Schedule& inside) {
            status = status.ok() ? checkPackedConstants(inside) : status;
        });
    }
    return status;
}

Status finishPartitions(const Schedule& schedule, const PartitionResources& resources,
                        std::optional<size_t>& failed) {
    Status status;
    forEachSchedule(schedule, [&](const Schedule& each) {
        for (const Step& step : each.steps) {
            const auto* partition = std::get_if<PartitionStep>(&step.work);
            if (partition == nullptr || !status.ok()) {
                continue;
            }
            status = resources.checkpoint.check("while partitions were made ready");
            if (status.ok()) {
                status = partition->compiled->finish(resources.of(partition->backend))
                                 .withContext(partition->backend);
                if (!status.ok()) {
                    failed = partition->partition;
                }
            }
        }
    });
    return status;
}

Result<std::shared_ptr<const SpecializedPartition>> specializeStep(
        const Schedule& schedule, const Step& step, std::span<const TensorType* const> inputs,
        const Checkpoint& checkpoint) {
    const PartitionStep& partition = *std::get_if<PartitionStep>(&step.work);
    Result<std::unique_ptr<const SpecializedPartition>> specialized =
            partition.compiled->specialize(inputs, checkpoint);
    if (!specialized.ok()) {
        return specialized.status().withContext(partition.backend);
    }
    std::shared_ptr<const SpecializedPartition> shaped = std::move(specialized).value();
    const std::span<const TensorType> outputs = shaped->outputTypes();
    if (outputs.size() != step.outputs.size()) {
        return internalError(std::string(partition.backend) + " reports " +
                             std::to_string(outputs.size()) + " outputs for a partition with " +
                             std::to_string(step.outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const TensorType& expected = schedule.graphType(step.outputs[i]);
        if (outputs[i].type != expected.type) {
            return internalError(std::string(partition.backend) + " makes output " +
                                 std::to_string(i) + " of a partition " + outputs[i].toString() +
                                 " where the graph has " + expected.toString());
        }
    }
    return shaped;
}

}  // namespace halyard::engine
