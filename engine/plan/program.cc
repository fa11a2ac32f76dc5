// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/program.h"

#include <algorithm>
#include <utility>

#include "engine/graph/shape_inference.h"
#include "engine/graph/verifier.h"
#include "engine/plan/partition.h"
#include "engine/plan/program_state.h"

namespace halyard::engine {
namespace {

Status refused(const NodePlacement& placement) {
    std::string message = placement.label + ": no backend takes this " + placement.kind;
    const char* separator = ": ";
    for (const NodePlacement::Refusal& refusal : placement.refusals) {
        message.append(separator).append(refusal.backend).append(" ").append(refusal.reason);
        separator = "; ";
    }
    return unsupported(std::move(message));
}

}  // namespace

Result<std::shared_ptr<const ShapedPlan>> Program::State::planFor(
        std::span<const Shape> inputShapes) {
    if (staticPlan != nullptr) {
        return staticPlan;
    }
    std::shared_ptr<const ShapedPlan> plan = plans.find(inputShapes);
    if (plan == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(plan, planShapes(schedule, inputShapes));
        plan = plans.insert(inputShapes, std::move(plan));
    }
    return plan;
}

Result<std::shared_ptr<const Program>> Program::build(Graph graph, const BackendList& backends,
                                                      std::shared_ptr<ThreadPool> threads,
                                                      std::shared_ptr<MemoryBudget> memory) {
    HALYARD_RETURN_IF_ERROR(verify(graph));
    HALYARD_RETURN_IF_ERROR(inferGraphShapes(graph));

    auto state = std::make_unique<State>();
    state->memory = std::move(memory);
    state->threads = threads != nullptr ? std::move(threads) : std::make_shared<ThreadPool>(1);
    state->placement = assignBackends(graph, backends);
    std::vector<BackendIndex> backendOf;
    for (const NodePlacement& placement : state->placement) {
        if (placement.backend.empty()) {
            return refused(placement);
        }
        // Every backend before the one that took the node has refused it.
        backendOf.push_back(placement.refusals.size());
    }
    const std::vector<AssignedPiece> pieces = partition(graph, backendOf, backends.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
        for (const NodeId node : pieces[i].piece.nodes) {
            state->placement[node].piece = i;
        }
    }

    const auto shared = std::make_shared<const Graph>(std::move(graph));
    HALYARD_ASSIGN_OR_RETURN(state->schedule,
                             compileSchedule(shared, pieces, backends, state->memory));
    std::vector<Shape> inputShapes;
    for (const TensorId input : shared->inputs()) {
        inputShapes.push_back(shared->tensor(input).type.shape);
    }
    if (std::ranges::all_of(inputShapes, &Shape::isFullyKnown)) {
        HALYARD_ASSIGN_OR_RETURN(state->staticPlan, planShapes(state->schedule, inputShapes));
        if (state->memory != nullptr) {
            HALYARD_RETURN_IF_ERROR(state->memory->admits(state->staticPlan->arenaBytes)
                                            .withContext("the arena of an execution"));
        }
    }
    return std::shared_ptr<const Program>(new Program(std::move(state)));
}

Program::Program(std::unique_ptr<State> state) : mState(std::move(state)) {}

Program::~Program() = default;

const Graph& Program::graph() const {
    return *mState->schedule.graph;
}

std::span<const NodePlacement> Program::placement() const {
    return mState->placement;
}

size_t Program::pieceCount() const {
    return mState->schedule.steps.size();
}

size_t Program::constantBytes() const {
    size_t bytes = 0;
    for (const Step& step : mState->schedule.steps) {
        bytes += step.compiled->constantBytes();
    }
    return bytes;
}

size_t Program::arenaBytes() const {
    return mState->staticPlan == nullptr ? 0 : mState->staticPlan->arenaBytes;
}

}  // namespace halyard::engine
