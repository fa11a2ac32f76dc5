// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/checked_math.h"
#include "engine/base/log.h"
#include "engine/graph/verifier.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/fallback.h"
#include "engine/plan/program_manifest.h"
#include "engine/plan/program_state.h"
#include "engine/plan/shaped_plan.h"

namespace halyard::engine {
namespace {

// Whether a run may leave out one of the graph's inputs: what the others are for may depend on it.
bool mayBeRunWithout(const Graph& graph) {
    const auto isInput = [&](TensorId id) {
        return std::ranges::find(graph.inputs(), id) != graph.inputs().end();
    };
    return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
        const NodeSignature signature = signatureOf(node.descriptor);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if ((signature.input(i)->traits & kOmittable) != 0 && isInput(node.inputs[i])) {
                return true;
            }
        }
        return false;
    });
}

size_t sumOf(std::span<const size_t> bytes) {
    size_t sum = 0;
    for (const size_t each : bytes) {
        sum = checkedAdd(sum, each).value_or(std::numeric_limits<size_t>::max());
    }
    return sum;
}

// Whether an execution could ever have its memory.
Status admitArenas(const ShapedPlan& plan, const std::shared_ptr<Budget>& memory,
                   const std::shared_ptr<Budget>& deviceMemory) {
    if (memory != nullptr) {
        HALYARD_RETURN_IF_ERROR(memory->admits(plan.arenaBytes));
    }
    return deviceMemory == nullptr ? Status() : deviceMemory->admits(sumOf(plan.deviceArenaBytes));
}

// How people find a tensor: by its name, or what writes it.
std::string describeTensor(const Graph& graph, TensorId id) {
    if (!graph.tensor(id).name.empty()) {
        return graph.tensor(id).name;
    }
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        if (graph.inputs()[i] == id) {
            return "graph input " + std::to_string(i);
        }
    }
    for (const Node& node : graph.nodes()) {
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i] == id) {
                return "output " + std::to_string(i) + " of " + node.label;
            }
        }
    }
    return "a constant";
}

// Whether another backend may do better. What is short of memory or time would be short of it
// again, and what is wrong with the graph is wrong everywhere.
bool isOfTheBackend(const Status& failure) {
    return failure.code() == StatusCode::INTERNAL || failure.code() == StatusCode::UNSUPPORTED ||
           failure.code() == StatusCode::UNAVAILABLE;
}

// Whether a backend comes behind one that nodes are placed on.
bool hasWhereToMove(const AnalyzedGraph& analyzed, const BackendList& backends) {
    return std::ranges::any_of(analyzed.placement, [&](const NodePlacement& node) {
        return node.backend != kPlannerName && node.backend != backends.back()->name();
    });
}

// Of a backend that builds none, as one whose device is lost, not each is tried.
constexpr size_t kMostFailedPartitions = 3;

// Of a node whose partition was not come to.
constexpr size_t kNotReached = std::numeric_limits<size_t>::max();

template <typename Fits>
std::vector<size_t> placementsThat(std::span<const NodePlacement> placements, Fits fits) {
    std::vector<size_t> found;
    for (size_t i = 0; i < placements.size(); ++i) {
        if (fits(placements[i])) {
            found.push_back(i);
        }
    }
    return found;
}

// Once most of the constants that lie in a client's memory are packed, copies the rest: a scale or
// an addend would keep as much memory mapped, and charged to the client, as all the weights beside
// it. `before`: bytes of those constants before they were packed.
Status letGoOfClientMemory(ProgramState& state, size_t before, const Checkpoint& checkpoint) {
    constexpr size_t kSmallPart = 16;
    if (sharedConstantBytes(state.schedule) > before / kSmallPart) {
        return {};
    }
    const Status copied = copySharedConstants(state.schedule, state.memory, checkpoint);
    // Without room for copies they are read where they lie.
    return copied.code() == StatusCode::RESOURCE_EXHAUSTED ? Status() : copied;
}

}  // namespace

Result<std::shared_ptr<const Program>> Program::build(AnalyzedGraph analyzed,
                                                      const BackendList& backends,
                                                      const BuildOptions& options) {
    HALYARD_RETURN_IF_ERROR(analyzed.placed());
    HALYARD_RETURN_IF_ERROR(checkElements(analyzed.graph));
    std::map<std::string, size_t> failures;  // by backend
    // The analysed graph shares the elements of its constants, but not what graphs inside take:
    // where that is too much, it is not kept for partitions that would have to move.
    bool keepsGraph = options.movesPartitions && hasWhereToMove(analyzed, backends);
    const bool holdsGraphs = std::ranges::any_of(
            analyzed.graph.nodes(), [](const Node& node) { return !nestedGraphs(node).empty(); });
    while (true) {
        auto state = std::make_unique<State>(options);
        state->compiled = keepsGraph ? std::make_shared<Graph>(analyzed.graph)
                                     : std::make_shared<Graph>(std::move(analyzed.graph));
        std::optional<size_t> failed;
        const Status built = buildOnce(*state, analyzed, backends, options, failed);
        if (built.ok()) {
            state->assignment = std::move(analyzed.assignment);
            return std::shared_ptr<const Program>(new Program(std::move(state)));
        }
        if (keepsGraph && holdsGraphs && built.code() == StatusCode::RESOURCE_EXHAUSTED) {
            keepsGraph = false;
            continue;
        }
        if (!keepsGraph || !failed.has_value() || !isOfTheBackend(built)) {
            return built;
        }
        std::vector<size_t> placements = placementsThat(
                state->placement,
                [&](const NodePlacement& node) { return node.partition == *failed; });
        const std::string backend = state->placement[placements.front()].backend;
        if (++failures[backend] > kMostFailedPartitions) {
            placements = placementsThat(state->placement, [&](const NodePlacement& node) {
                return node.backend == backend;
            });
        }
        const std::string reason = "did not build its partition: " + std::string(built.message());
        if (!moveOn(analyzed, backends, placements, reason)) {
            return built;
        }
        log(LogLevel::WARNING,
            "what " + backend + " did not build goes to the next backend: " + built.toString());
    }
}

Status Program::buildOnce(State& state, const AnalyzedGraph& analyzed, const BackendList& backends,
                          const BuildOptions& options, std::optional<size_t>& failed) {
    state.backends = identitiesOf(backends);
    state.placement = analyzed.placement;
    for (NodePlacement& placement : state.placement) {
        placement.partition = kNotReached;
    }
    ConstantNumbers numbers;
    ConstantStore constants;
    ScheduleArguments arguments = {.backends = backends,
                                   .constants = constants,
                                   .numbers = &numbers,
                                   .memory = state.memory,
                                   .threads = state.threads.get(),
                                   .checkpoint = options.checkpoint,
                                   .options = options.compile,
                                   .blobs = Blobs(state.blobs, {}),
                                   .placement = state.placement};
    Result<Schedule> schedule =
            compileSchedule(std::move(state.compiled), analyzed.assignment, arguments);
    failed = arguments.failed;
    HALYARD_RETURN_IF_ERROR(schedule.status());
    state.schedule = std::move(schedule).value();
    state.partitionCount = arguments.partitions;
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer block, constants.fill(state.memory, options.checkpoint));
    const auto owner = std::make_shared<const AlignedBuffer>(std::move(block));
    state.constants = {.owner = owner, .view = owner->bytes()};
    state.packed = constants.takeContents();
    state.constantsFilled = state.packed.places.size();
    const size_t shared = sharedConstantBytes(state.schedule);
    releasePackedConstants(state.schedule);
    HALYARD_RETURN_IF_ERROR(letGoOfClientMemory(state, shared, options.checkpoint));
    return plan(state, options.checkpoint, failed);
}

// Everything after the constants are in their places.
Status Program::plan(State& state, const Checkpoint& checkpoint, std::optional<size_t>& failed) {
    HALYARD_RETURN_IF_ERROR(finishPartitions(state.schedule, state.resources(checkpoint), failed));
    const Graph& graph = *state.schedule.graph;
    std::vector<MaybeShape> inputShapes;
    for (const TensorId input : graph.inputs()) {
        inputShapes.emplace_back(graph.tensor(input).type.shape);
    }
    if (std::ranges::all_of(inputShapes,
                            [](const MaybeShape& shape) { return shape->isFullyKnown(); })) {
        Result<std::shared_ptr<const ShapedPlan>> plan =
                planShapes(state.schedule, inputShapes, checkpoint, &failed);
        if (plan.ok()) {
            state.schedule.staticPlan = std::move(plan).value();
        } else if (plan.status().code() != StatusCode::INVALID_ARGUMENT ||
                   !mayBeRunWithout(graph)) {
            return plan.status();
        }
        if (state.schedule.staticPlan != nullptr) {
            HALYARD_RETURN_IF_ERROR(
                    admitArenas(*state.schedule.staticPlan, state.memory, state.deviceMemory)
                            .withContext("the arena of an execution"));
        }
    }
    return {};
}

Result<std::shared_ptr<const Program>> Program::build(Graph graph, const BackendList& backends,
                                                      std::shared_ptr<ThreadPool> threads,
                                                      std::shared_ptr<Budget> memory) {
    HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed, analyze(std::move(graph), backends, memory));
    return build(std::move(analyzed), backends,
                 {.threads = std::move(threads), .memory = std::move(memory)});
}

Program::Program(std::unique_ptr<State> state) : mState(std::move(state)) {}

Program::~Program() = default;

const Graph& Program::graph() const {
    return *mState->schedule.graph;
}

std::span<const NodePlacement> Program::placement() const {
    return mState->placement;
}

void Program::forEachNode(const VisitNode& visit) const {
    forEachSchedule(mState->schedule, [&](const Schedule& schedule) {
        for (NodeId id = 0; id < schedule.graph->nodes().size(); ++id) {
            visit(*schedule.graph, schedule.graph->node(id), schedule.placementOf[id]);
        }
    });
}

size_t Program::partitionCount() const {
    return mState->partitionCount;
}

uint64_t Program::bytesBetweenPartitions() const {
    uint64_t bytes = 0;
    forEachSchedule(mState->schedule, [&](const Schedule& schedule) {
        for (const Step& step : schedule.steps) {
            if (std::holds_alternative<CopyStep>(step.work)) {
                continue;
            }
            for (const SlotId input : step.inputs) {
                if (input == kNoSlot || schedule.computedBy(input) == kNoStep) {
                    continue;
                }
                const Result<size_t> size = schedule.graphType(input).byteSize();
                bytes += size.ok() ? *size : 0;
            }
        }
    });
    return bytes;
}

MemoryRequirements Program::inputMemory(size_t index) const {
    return requirementsOfInput(mState->schedule, index);
}

MemoryRequirements Program::outputMemory(size_t index) const {
    return requirementsOfOutput(mState->schedule, index);
}

size_t Program::constantBytes() const {
    return mState->constants.size();
}

std::vector<Program::Copy> Program::copies() const {
    std::vector<Copy> copies;
    forEachSchedule(mState->schedule, [&](const Schedule& schedule) {
        const auto nameOf = [&](SlotId slot) {
            const HomeId home = schedule.slots[slot].home;
            return home == kHost ? std::string("host")
                                 : std::string(schedule.devices[home]->name());
        };
        for (const Step& step : schedule.steps) {
            if (!std::holds_alternative<CopyStep>(step.work)) {
                continue;
            }
            const SlotId from = step.inputs.front();
            const Result<size_t> size = schedule.graphType(from).byteSize();
            copies.push_back(
                    {.tensor = describeTensor(*schedule.graph, schedule.slots[from].tensor),
                     .from = nameOf(from),
                     .to = nameOf(step.outputs.front()),
                     .bytes = size.ok() ? *size : 0});
        }
    });
    return copies;
}

size_t Program::deviceArenaBytes() const {
    const ShapedPlan* plan = mState->schedule.staticPlan.get();
    return plan == nullptr ? 0 : sumOf(plan->deviceArenaBytes);
}

size_t Program::deviceConstantBytes() const {
    size_t bytes = 0;
    forEachSchedule(mState->schedule, [&](const Schedule& schedule) {
        for (const Step& step : schedule.steps) {
            if (const auto* partition = std::get_if<PartitionStep>(&step.work)) {
                bytes += partition->compiled->deviceConstantBytes();
            }
        }
    });
    return bytes;
}

size_t Program::constantsFilled() const {
    return mState->constantsFilled;
}

size_t Program::arenaBytes() const {
    return mState->schedule.staticPlan == nullptr ? 0 : mState->schedule.staticPlan->arenaBytes;
}

}  // namespace halyard::engine
