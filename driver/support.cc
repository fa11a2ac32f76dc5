// SPDX-License-Identifier: Apache-2.0

#include "driver/support.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "driver/ops/lowering.h"
#include "engine/graph/shape_inference.h"
#include "engine/plan/program.h"

namespace halyard::driver {
namespace {

// Whether the options leave the operation on.
Status checkAllowed(const DeviceState& state, const Model& model, size_t index) {
    const Operation& operation = model.main.operations[index];
    if (state.options.unsupportedOperations.contains(operation.type)) {
        return unsupported(labelOf(operation, index) + " is turned off by option -u");
    }
    return {};
}

// The backends' answer for every node of a graph whose shapes are inferred.
Status checkPlacement(const engine::Graph& graph, const engine::BackendList& backends) {
    for (const engine::NodePlacement& node : engine::assignBackends(graph, backends)) {
        if (node.backend.empty()) {
            std::string reasons;
            for (const engine::NodePlacement::Refusal& refusal : node.refusals) {
                reasons += "; " + refusal.backend + " " + refusal.reason;
            }
            return unsupported(node.label + ": no backend takes it" + reasons);
        }
    }
    return {};
}

// No computed tensor may outgrow the memory of an execution, wherever it comes to lie.
Status checkSizes(const engine::Graph& graph, const MemoryBudget& memory) {
    for (const engine::Node& node : graph.nodes()) {
        for (const engine::TensorId id : node.outputs) {
            const engine::TensorType& type = graph.tensor(id).type;
            if (!type.shape.isFullyKnown()) {
                continue;
            }
            const Result<size_t> bytes = type.byteSize();
            if (!bytes.ok()) {
                return bytes.status().withContext(node.label);
            }
            if (const Status admitted = memory.admits(*bytes); !admitted.ok()) {
                return admitted.withContext(node.label + ": its output " + type.toString());
            }
        }
    }
    return {};
}

// Whether a plan might outgrow the memory: whether all tensors side by side would, with room for
// what backends add. They may unpack constants into the arena.
bool mayOutgrow(const engine::Graph& graph, const MemoryBudget& memory) {
    constexpr uint64_t kMargin = 4;
    uint64_t bytes = 0;
    for (const engine::Tensor& tensor : graph.tensors()) {
        if (tensor.type.shape.isFullyKnown()) {
            const Result<size_t> size = tensor.type.byteSize();
            bytes += size.ok() ? *size : 0;
        }
    }
    return bytes > memory.limit() / kMargin;
}

// Whether the graph's plan fits the memory. Only the plan itself tells, and making it is as much
// work as preparing, so it is made only where tensors are extraordinarily large.
Status checkPlan(const DeviceState& state, engine::Graph graph) {
    if (!mayOutgrow(graph, *state.memory)) {
        return {};
    }
    return engine::Program::build(std::move(graph), state.backendList, state.threads, state.memory)
            .status();
}

// lowerSupported for one operation alone.
Status checkOperation(const DeviceState& state, const Model& model, const Constants& constants,
                      size_t index) {
    HALYARD_RETURN_IF_ERROR(checkAllowed(state, model, index));
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, lowerOperation(model, constants, index));
    HALYARD_RETURN_IF_ERROR(engine::inferGraphShapes(graph));
    HALYARD_RETURN_IF_ERROR(checkSizes(graph, *state.memory));
    HALYARD_RETURN_IF_ERROR(checkPlacement(graph, state.backendList));
    return checkPlan(state, std::move(graph));
}

// Whether the whole model prepares, given that each of its operations does.
Status checkWhole(const DeviceState& state, const Model& model, const Constants& constants) {
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, lowerSupported(state, model, constants));
    return checkPlan(state, std::move(graph));
}

}  // namespace

Result<engine::Graph> lowerSupported(const DeviceState& state, const Model& model,
                                     const Constants& constants) {
    HALYARD_RETURN_IF_ERROR(constants.mapped());
    for (size_t i = 0; i < model.main.operations.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkAllowed(state, model, i));
    }
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, lowerModel(model, constants));
    HALYARD_RETURN_IF_ERROR(engine::inferGraphShapes(graph));
    HALYARD_RETURN_IF_ERROR(checkSizes(graph, *state.memory));
    HALYARD_RETURN_IF_ERROR(checkPlacement(graph, state.backendList));
    return graph;
}

Result<std::vector<bool>> supportedOperations(const DeviceState& state, const Model& model) {
    const Constants constants(model, state.memory);
    const size_t count = model.main.operations.size();
    std::vector<bool> supported(count);
    for (size_t i = 0; i < count; ++i) {
        const Status status = checkOperation(state, model, constants, i);
        if (status.code() == StatusCode::INVALID_ARGUMENT) {
            return status;
        }
        supported[i] = status.ok();
    }
    if (std::ranges::find(supported, false) != supported.end()) {
        return supported;
    }
    // Operations that work alone may contradict each other in shapes, or take too much memory
    // together, which only the whole shows.
    const Status whole = checkWhole(state, model, constants);
    if (whole.code() == StatusCode::INVALID_ARGUMENT) {
        return whole;
    }
    return std::vector<bool>(count, whole.ok());
}

}  // namespace halyard::driver
