// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/support.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "driver/ops/graph_builder.h"
#include "engine/graph/graph.h"
#include "engine/plan/program.h"

namespace halyard::driver {
namespace {

// No computed tensor may outgrow the memory of an execution, wherever it comes to lie.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
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
        for (const engine::NestedGraph* nested : engine::nestedGraphs(node)) {
            if (const Status sizes = checkSizes(*nested->graph, memory); !sizes.ok()) {
                return sizes.withContext(node.label);
            }
        }
    }
    return {};
}

// Bytes of all tensors side by side.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
uint64_t totalBytes(const engine::Graph& graph) {
    uint64_t bytes = 0;
    for (const engine::Tensor& tensor : graph.tensors()) {
        if (tensor.type.shape.isFullyKnown()) {
            const Result<size_t> size = tensor.type.byteSize();
            bytes += size.ok() ? *size : 0;
        }
    }
    for (const engine::Node& node : graph.nodes()) {
        for (const engine::NestedGraph* nested : engine::nestedGraphs(node)) {
            bytes += totalBytes(*nested->graph);
        }
    }
    return bytes;
}

// Whether the graph's plan fits the memory. Only the plan itself tells, and making it is as much
// work as preparing, so it is made only where tensors are extraordinarily large: where all of them
// side by side might outgrow it, with room for what backends add. They may unpack constants into
// the arena.
Status checkPlan(const DeviceState& state, engine::AnalyzedGraph analyzed) {
    constexpr uint64_t kMargin = 4;
    if (totalBytes(analyzed.graph) <= state.memory->limit() / kMargin) {
        return {};
    }
    return engine::Program::build(std::move(analyzed), state.backendList,
                                  {.threads = state.threads, .memory = state.memory})
            .status();
}

Result<engine::AnalyzedGraph> analyzeGraph(const DeviceState& state, engine::Graph graph,
                                           const Checkpoint& checkpoint = {}) {
    HALYARD_ASSIGN_OR_RETURN(
            engine::AnalyzedGraph analyzed,
            engine::analyze(std::move(graph), state.backendList, state.memory, checkpoint));
    HALYARD_RETURN_IF_ERROR(checkSizes(analyzed.graph, *state.memory));
    HALYARD_RETURN_IF_ERROR(analyzed.placed());
    return analyzed;
}

// Whether one operation alone prepares.
Status checkOperation(const DeviceState& state, ModelLowering& lowering, size_t index) {
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, lowering.operation(index));
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed, analyzeGraph(state, std::move(graph)));
    return checkPlan(state, std::move(analyzed));
}

// Whether the whole model prepares, given that each of its operations does.
Status checkWhole(const DeviceState& state, ModelLowering& lowering) {
    HALYARD_RETURN_IF_ERROR(lowering.constants().mapped());
    HALYARD_ASSIGN_OR_RETURN(engine::Graph graph, lowering.whole());
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed, analyzeGraph(state, std::move(graph)));
    return checkPlan(state, std::move(analyzed));
}

}  // namespace

Result<engine::AnalyzedGraph> analyzeModel(const DeviceState& state, const Model& model,
                                           const Constants& constants,
                                           const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(constants.mapped());
    ModelLowering lowering(model, constants, state.options.unsupportedOperations, checkpoint);
    Result<engine::Graph> graph = lowering.whole();
    Result<engine::AnalyzedGraph> analyzed =
            graph.ok() ? analyzeGraph(state, std::move(*graph), checkpoint) : graph.status();
    HALYARD_RETURN_IF_ERROR(checkpoint.check("while the model was analysed"));
    if (analyzed.status().code() == StatusCode::INVALID_ARGUMENT) {
        return unsupported(std::string(analyzed.status().message()));
    }
    return analyzed;
}

std::vector<bool> supportedOperations(const DeviceState& state, const Model& model) {
    const Constants constants(model, state.memory);
    ModelLowering lowering(model, constants, state.options.unsupportedOperations);
    const size_t count = model.main.operations.size();
    std::vector<bool> supported(count);
    for (size_t i = 0; i < count; ++i) {
        supported[i] = checkOperation(state, lowering, i).ok();
    }
    if (std::ranges::find(supported, false) != supported.end()) {
        return supported;
    }
    // Operations that work alone may contradict each other in shapes, or take too much memory
    // together, which only the whole shows.
    return std::vector<bool>(count, checkWhole(state, lowering).ok());
}

}  // namespace halyard::driver
