// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/island.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/log.h"
#include "engine/base/thread_pool.h"
#include "engine/compile/compile.h"
#include "importers/tflite/importer.h"
#include "importers/tflite/operators.h"
#include "litert/vendor/bytecode.h"
#include "litert/vendor/processor.h"

namespace halyard::vendor {
namespace {

bool isUnknown(int32_t extent) {
    return extent < 0;
}

bool hasUnknownInputs(const tflite::Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.inputs, [&](int32_t tensor) {
        return std::ranges::any_of(subgraph.tensors[tensor].shape, isUnknown);
    });
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

// Whether nothing has been computed of the inputs' shapes that would be wrong of others.
bool keepsItsShapes(const tflite::Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operators, [](const tflite::Operator& op) {
        return op.code == static_cast<int32_t>(tflite::OperatorCode::SHAPE);
    });
}

}  // namespace

Result<AlignedBuffer> compileIsland(const tflite::Model& model, const std::string& processor,
                                    const Options& options) {
    HALYARD_RETURN_IF_ERROR(checkName(processor));
    const tflite::Subgraph& subgraph = model.subgraphs.front();
    HALYARD_ASSIGN_OR_RETURN(const tflite::Importer importer,
                             tflite::Importer::create(model, 0, {.controlFlow = false}));
    std::vector<uint32_t> operators(subgraph.operators.size());
    std::iota(operators.begin(), operators.end(), 0U);
    HALYARD_ASSIGN_OR_RETURN(tflite::ImportedGraph imported,
                             importer.build(operators, subgraph.inputs, subgraph.outputs));
    if (imported.inputs.size() > subgraph.inputs.size() ||
        imported.outputs.size() > subgraph.outputs.size()) {
        return internalError("an island reads or writes what is neither its input nor its output");
    }
    BytecodeInfo info = {.processor = processor,
                         .threads = static_cast<uint32_t>(threadCountOf(options)),
                         .operators = static_cast<uint32_t>(operators.size()),
                         .fastMath = options.fastMath,
                         .resizable = hasUnknownInputs(subgraph) ||
                                      (options.resizable && !keepsItsShapes(subgraph)),
                         .reason = {},
                         .inputs = portsOf(subgraph, subgraph.inputs, imported.inputs),
                         .outputs = portsOf(subgraph, subgraph.outputs, imported.outputs)};
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
