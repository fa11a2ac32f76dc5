// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/program.h"

#include <algorithm>
#include <utility>

#include "engine/plan/constant_store.h"
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

}  // namespace

Result<std::shared_ptr<const Program>> Program::build(AnalyzedGraph analyzed,
                                                      const BackendList& backends,
                                                      const BuildOptions& options) {
    HALYARD_RETURN_IF_ERROR(analyzed.placed());
    auto state = std::make_unique<State>();
    state->memory = options.memory;
    state->threads = options.threads != nullptr ? options.threads : std::make_shared<ThreadPool>(1);
    state->placement = std::move(analyzed.placement);

    const auto graph = std::make_shared<Graph>(std::move(analyzed.graph));
    ConstantStore constants;
    ScheduleArguments arguments = {.backends = backends,
                                   .constants = constants,
                                   .memory = state->memory,
                                   .threads = state->threads.get(),
                                   .checkpoint = options.checkpoint,
                                   .options = options.compile,
                                   .placement = state->placement};
    HALYARD_ASSIGN_OR_RETURN(state->schedule,
                             compileSchedule(graph, analyzed.assignment, arguments));
    state->pieceCount = arguments.pieces;
    HALYARD_ASSIGN_OR_RETURN(state->constants, constants.fill(state->memory, options.checkpoint));
    releasePackedConstants(state->schedule);

    std::vector<MaybeShape> inputShapes;
    for (const TensorId input : graph->inputs()) {
        inputShapes.emplace_back(graph->tensor(input).type.shape);
    }
    if (std::ranges::all_of(inputShapes,
                            [](const MaybeShape& shape) { return shape->isFullyKnown(); })) {
        Result<std::shared_ptr<const ShapedPlan>> plan =
                planShapes(state->schedule, inputShapes, options.checkpoint);
        if (plan.ok()) {
            state->schedule.staticPlan = std::move(plan).value();
        } else if (plan.status().code() != StatusCode::INVALID_ARGUMENT ||
                   !mayBeRunWithout(*graph)) {
            return plan.status();
        }
        if (state->memory != nullptr && state->schedule.staticPlan != nullptr) {
            HALYARD_RETURN_IF_ERROR(state->memory->admits(state->schedule.staticPlan->arenaBytes)
                                            .withContext("the arena of an execution"));
        }
    }
    return std::shared_ptr<const Program>(new Program(std::move(state)));
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

size_t Program::pieceCount() const {
    return mState->pieceCount;
}

uint64_t Program::bytesBetweenPieces() const {
    uint64_t bytes = 0;
    forEachSchedule(mState->schedule, [&](const Schedule& schedule) {
        for (const Step& step : schedule.steps) {
            for (const SlotId input : step.inputs) {
                if (input == kNoSlot || schedule.slots[input].writtenBy == kNoStep) {
                    continue;
                }
                const Result<size_t> size = schedule.graphType(input).byteSize();
                bytes += size.ok() ? *size : 0;
            }
        }
    });
    return bytes;
}

size_t Program::constantBytes() const {
    return mState->constants.size();
}

size_t Program::arenaBytes() const {
    return mState->schedule.staticPlan == nullptr ? 0 : mState->schedule.staticPlan->arenaBytes;
}

}  // namespace halyard::engine
