// SPDX-License-Identifier: Apache-2.0

#include "library/graph_handle.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/checked_math.h"
#include "engine/base/fields.h"
#include "halyard/halyard.h"
#include "library/answer.h"
#include "library/attributes.h"
#include "library/memory.h"
#include "library/shapes.h"

namespace halyard::library {
namespace {

using engine::Graph;
using engine::TensorId;
using engine::TensorType;

Result<TensorType> typeOf(const halyard_tensor_options& options) {
    HALYARD_RETURN_IF_ERROR(present(options.type, "type"));
    const std::optional<engine::DataType> element = enumeratorNamed<engine::DataType>(options.type);
    if (!element.has_value()) {
        return unsupported("there is no element type \"" + std::string(options.type) + "\"");
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::Shape shape, shapeOf(options.shape));
    HALYARD_ASSIGN_OR_RETURN(
            const std::span<const float> scales,
            readArray(options.channel_scales, options.channel_scale_count, "channel_scales"));
    return TensorType{
            .type = *element,
            .shape = shape,
            .quantization = {.scale = options.scale,
                             .zeroPoint = options.zero_point,
                             .channelScales = scales.empty()
                                                      ? engine::ChannelScales()
                                                      : engine::ChannelScales(std::vector<float>(
                                                                scales.begin(), scales.end())),
                             .channelDim = options.channel_dim}};
}

std::string textOr(const char* text, const std::string& otherwise) {
    return text != nullptr ? std::string(text) : otherwise;
}

// "tensor 3 (bias)": the one that is being added.
std::string placeOf(const Graph& graph, const halyard_tensor_options& options) {
    const std::string place = "tensor " + std::to_string(graph.tensors().size());
    return options.name == nullptr ? place : place + " (" + options.name + ")";
}

Status checkRoom(const Graph& graph) {
    return graph.tensors().size() < std::numeric_limits<int32_t>::max()
                   ? Status()
                   : outOfReach("the graph has no room for another tensor");
}

Result<TensorId> addConstant(Graph& graph, const halyard_tensor_options& options,
                             const halyard_constant& constant) {
    HALYARD_ASSIGN_OR_RETURN(TensorType type, typeOf(options));
    if (!type.shape.isFullyKnown()) {
        return invalidArgument("a constant's shape has to be known, not " + type.shape.toString());
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes,
                             readArray(static_cast<const uint8_t*>(constant.data), constant.size,
                                       "the constant's data"));
    if (constant.memory != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Memory> memory,
                                 memoryNamedBy(constant, bytes));
        return graph.addConstant(std::move(type), {.owner = std::move(memory), .bytes = bytes});
    }
    std::shared_ptr<LentBytes> lent;
    if (constant.release != nullptr) {
        lent = std::make_shared<LentBytes>(constant.release, constant.owner);
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId id,
                             graph.addConstant(std::move(type), {.owner = lent, .bytes = bytes}));
    if (lent != nullptr) {
        lent->take();
    }
    return id;
}

Result<std::vector<TensorId>> tensorsOf(const Graph& graph, const uint32_t* ids, size_t count,
                                        const char* name, bool mayBeLeftOut) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint32_t> given, readArray(ids, count, name));
    static_assert(HALYARD_NO_TENSOR == engine::kNoTensor);
    for (size_t i = 0; i < given.size(); ++i) {
        if (given[i] >= graph.tensors().size() &&
            !(mayBeLeftOut && given[i] == HALYARD_NO_TENSOR)) {
            return invalidArgument(std::string(name) + "[" + std::to_string(i) + "] is tensor " +
                                   std::to_string(given[i]) + "; the graph has " +
                                   std::to_string(graph.tensors().size()));
        }
    }
    return std::vector<TensorId>(given.begin(), given.end());
}

Status addNode(Graph& graph, const halyard_node& node) {
    HALYARD_RETURN_IF_ERROR(present(node.kind, "kind"));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const halyard_attribute> attributes,
                             readArray(node.attributes, node.attribute_count, "attributes"));
    HALYARD_ASSIGN_OR_RETURN(engine::NodeDescriptor descriptor,
                             descriptorOf(node.kind, attributes));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                             tensorsOf(graph, node.inputs, node.input_count, "inputs", true));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> outputs,
                             tensorsOf(graph, node.outputs, node.output_count, "outputs", false));
    graph.addNode({.descriptor = std::move(descriptor),
                   .inputs = std::move(inputs),
                   .outputs = std::move(outputs),
                   .label = textOr(node.label, "node " + std::to_string(graph.nodes().size()) +
                                                       " (" + node.kind + ")"),
                   .sources = {}});
    return {};
}

// `set`: Graph::setInputs or Graph::setOutputs.
Status setTensors(halyard_graph* graph, const uint32_t* tensors, size_t count,
                  void (Graph::*set)(std::vector<TensorId>)) {
    HALYARD_RETURN_IF_ERROR(present(graph, "graph"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> ids,
                             tensorsOf(graph->graph, tensors, count, "tensors", false));
    (graph->graph.*set)(std::move(ids));
    return {};
}

}  // namespace
}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" halyard_status halyard_graph_create(halyard_graph** graph, halyard_message* message) {
    const Status status = library::present(graph, "graph");
    if (status.ok()) {
        *graph = new halyard_graph();
    }
    return library::answer(status, message);
}

extern "C" void halyard_graph_release(halyard_graph* graph) {
    delete graph;
}

extern "C" halyard_status halyard_graph_add_tensor(halyard_graph* graph,
                                                   const halyard_tensor_options* options,
                                                   uint32_t* tensor, halyard_message* message) {
    const auto add = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(graph, "graph"));
        HALYARD_RETURN_IF_ERROR(library::present(tensor, "tensor"));
        HALYARD_ASSIGN_OR_RETURN(const halyard_tensor_options read,
                                 library::readStruct(options, "the tensor's options"));
        HALYARD_RETURN_IF_ERROR(library::checkRoom(graph->graph));
        Result<engine::TensorType> type = library::typeOf(read);
        HALYARD_RETURN_IF_ERROR(type.status().withContext(library::placeOf(graph->graph, read)));
        *tensor = graph->graph.addTensor(*std::move(type), library::textOr(read.name, ""));
        return {};
    };
    return library::answer(add(), message);
}

extern "C" halyard_status halyard_graph_add_constant(halyard_graph* graph,
                                                     const halyard_tensor_options* options,
                                                     const halyard_constant* constant,
                                                     uint32_t* tensor, halyard_message* message) {
    const auto add = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(graph, "graph"));
        HALYARD_RETURN_IF_ERROR(library::present(tensor, "tensor"));
        HALYARD_ASSIGN_OR_RETURN(const halyard_tensor_options read,
                                 library::readStruct(options, "the tensor's options"));
        HALYARD_ASSIGN_OR_RETURN(
                const halyard_constant elements,
                library::readStruct(constant, "the constant", offsetof(halyard_constant, memory)));
        HALYARD_RETURN_IF_ERROR(library::checkRoom(graph->graph));
        const std::string place = library::placeOf(graph->graph, read);
        const Result<engine::TensorId> added = library::addConstant(graph->graph, read, elements);
        HALYARD_RETURN_IF_ERROR(added.status().withContext(place));
        graph->graph.setName(*added, library::textOr(read.name, ""));
        *tensor = *added;
        return {};
    };
    return library::answer(add(), message);
}

extern "C" halyard_status halyard_graph_add_node(halyard_graph* graph, const halyard_node* node,
                                                 halyard_message* message) {
    const auto add = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(graph, "graph"));
        HALYARD_ASSIGN_OR_RETURN(const halyard_node read, library::readStruct(node, "the node"));
        const std::string place =
                library::textOr(read.label, "node " + std::to_string(graph->graph.nodes().size()));
        return library::addNode(graph->graph, read).withContext(place);
    };
    return library::answer(add(), message);
}

extern "C" halyard_status halyard_graph_set_inputs(halyard_graph* graph, const uint32_t* tensors,
                                                   size_t count, halyard_message* message) {
    return library::answer(library::setTensors(graph, tensors, count, &engine::Graph::setInputs),
                           message);
}

extern "C" halyard_status halyard_graph_set_outputs(halyard_graph* graph, const uint32_t* tensors,
                                                    size_t count, halyard_message* message) {
    return library::answer(library::setTensors(graph, tensors, count, &engine::Graph::setOutputs),
                           message);
}

extern "C" halyard_status halyard_graph_set_relaxed(halyard_graph* graph, int32_t relaxed,
                                                    halyard_message* message) {
    const Status status = library::present(graph, "graph");
    if (status.ok()) {
        graph->graph.setRelaxedFloat(relaxed != 0);
    }
    return library::answer(status, message);
}
