// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/island.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/log.h"
#include "engine/base/thread_pool.h"
#include "engine/compile/compile.h"
#include "engine/graph/serialization.h"
#include "importers/tflite/importer.h"
#include "litert/vendor/bytecode.h"
#include "litert/vendor/processor.h"

namespace halyard::vendor {
namespace {

bool isUnknown(int32_t extent) {
    return extent < 0;
}

// `outer`: the subgraph's tensors as LiteRT counts inputs or outputs; `inner`: those of the graph.
std::vector<BytecodePort> portsOf(const tflite::Subgraph& subgraph, std::span<const int32_t> outer,
                                  std::span<const int32_t> inner) {
    std::vector<BytecodePort> ports;
    for (const int32_t tensor : outer) {
        const tflite::Tensor& each = subgraph.tensors[tensor];
        const auto found = std::ranges::find(inner, tensor);
        // Where an extent is not known LiteRT begins with 1.
        std::vector<int32_t> shape = each.shape;
        std::ranges::replace_if(shape, isUnknown, 1);
        ports.push_back({.name = each.name,
                         .elementType = static_cast<int32_t>(each.type),
                         .shape = std::move(shape),
                         .place = found == inner.end()
                                          ? BytecodePort::kUnused
                                          : static_cast<uint32_t>(found - inner.begin())});
    }
    return ports;
}

Result<tflite::ImportedGraph> import(const tflite::Model& model) {
    const tflite::Subgraph& subgraph = model.subgraphs.front();
    HALYARD_ASSIGN_OR_RETURN(const tflite::Importer importer,
                             tflite::Importer::create(model, 0, {.controlFlow = false}));
    std::vector<uint32_t> operators(subgraph.operators.size());
    std::iota(operators.begin(), operators.end(), 0U);
    return importer.build(operators, subgraph.inputs, subgraph.outputs);
}

// All of a graph but the shapes that follow from its inputs'.
std::vector<uint8_t> withoutShapes(engine::Graph graph) {
    for (engine::TensorId id = 0; id < graph.tensors().size(); ++id) {
        engine::Tensor& tensor = graph.mutableTensor(id);
        if (!tensor.isConstant()) {
            tensor.type.shape = engine::Shape::unknownRank();
        }
    }
    return engine::serialize(graph);
}

// Nodes and constants of a graph may follow from extents: the parts of a SPLIT_V, say. An axis is
// open where another extent leads to the same. One that is not known is: the importer took it so.
void openAxes(const tflite::Model& model, const engine::Graph& graph, bool isResizable,
              std::vector<BytecodePort>& ports) {
    const std::vector<uint8_t> expected =
            isResizable ? withoutShapes(graph) : std::vector<uint8_t>();
    tflite::Model other = model;
    const std::vector<int32_t>& inputs = model.subgraphs.front().inputs;
    for (size_t i = 0; i < ports.size(); ++i) {
        std::vector<int32_t>& shape = other.subgraphs.front().tensors[inputs[i]].shape;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
            const int32_t extent = shape[axis];
            bool isOpen = isUnknown(extent);
            if (!isOpen && isResizable && extent < std::numeric_limits<int32_t>::max()) {
                ++shape[axis];
                const Result<tflite::ImportedGraph> found = import(other);
                isOpen = found.ok() && withoutShapes(found->graph) == expected;
                shape[axis] = extent;
            }
            ports[i].open |= isOpen ? 1U << axis : 0U;
        }
    }
}

}  // namespace

Result<AlignedBuffer> compileIsland(const tflite::Model& model, const std::string& processor,
                                    const Options& options) {
    HALYARD_RETURN_IF_ERROR(checkName(processor));
    const tflite::Subgraph& subgraph = model.subgraphs.front();
    HALYARD_ASSIGN_OR_RETURN(tflite::ImportedGraph imported, import(model));
    if (imported.inputs.size() > subgraph.inputs.size() ||
        imported.outputs.size() > subgraph.outputs.size()) {
        return internalError("an island reads or writes what is neither its input nor its output");
    }
    BytecodeInfo info = {.processor = processor,
                         .threads = static_cast<uint32_t>(threadCountOf(options)),
                         .operators = static_cast<uint32_t>(subgraph.operators.size()),
                         .fastMath = options.fastMath,
                         .reason = {},
                         .inputs = portsOf(subgraph, subgraph.inputs, imported.inputs),
                         .outputs = portsOf(subgraph, subgraph.outputs, imported.outputs)};
    openAxes(model, imported.graph, options.resizable, info.inputs);
    info.resizable = std::ranges::any_of(info.inputs,
                                         [](const BytecodePort& port) { return port.open != 0; });
    Result<std::unique_ptr<const engine::Backend>> tuned = openProcessor(processor);
    if (!tuned.ok() && tuned.status().code() != StatusCode::UNSUPPORTED) {
        return tuned.status();
    }
    if (!tuned.ok() || info.resizable) {
        info.reason = tuned.ok() ? "its inputs may get other shapes"
                                 : "constants for " + processor + " can't be packed here: " +
                                           std::string(tuned.status().message());
        log(tuned.ok() ? LogLevel::INFO : LogLevel::WARNING,
            "the model is compiled when it is loaded: " + info.reason);
        return bytecodeOf(info, imported.graph);
    }
    info.isProgram = true;
    const std::unique_ptr<const engine::Backend> reference = engine::makeCpuRef();
    const engine::CompileSettings settings = {
            .build = {.threads = std::make_shared<ThreadPool>(info.threads),
                      .compile = {.fastMath = options.fastMath}}};
    HALYARD_ASSIGN_OR_RETURN(
            const std::shared_ptr<const engine::Program> program,
            engine::compile(std::move(imported.graph), {tuned->get(), reference.get()}, settings));
    return bytecodeOf(info, *program);
}

}  // namespace halyard::vendor
