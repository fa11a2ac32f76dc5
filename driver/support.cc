// SPDX-License-Identifier: Apache-2.0

#include "driver/support.h"

#include <algorithm>
#include <string>

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

// lowerSupported for one operation alone.
Status checkOperation(const DeviceState& state, const Model& model, const Constants& constants,
                      size_t index) {
    HALYARD_RETURN_IF_ERROR(checkAllowed(state, model, index));
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, lowerOperation(model, constants, index));
    HALYARD_RETURN_IF_ERROR(engine::inferGraphShapes(graph));
    return checkPlacement(graph, state.backendList);
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
    HALYARD_RETURN_IF_ERROR(checkPlacement(graph, state.backendList));
    return graph;
}

Result<std::vector<bool>> supportedOperations(const DeviceState& state, const Model& model) {
    const Constants constants(model);
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
    // Operations that work alone may contradict each other in shapes, which only the whole shows.
    const Status whole = lowerSupported(state, model, constants).status();
    if (whole.code() == StatusCode::INVALID_ARGUMENT) {
        return whole;
    }
    return std::vector<bool>(count, whole.ok());
}

}  // namespace halyard::driver
