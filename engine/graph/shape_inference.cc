// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/shape_inference.h"

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace halyard::engine {
namespace {

Status inferNode(Graph& graph, const Node& node) {
    const std::span<const Tensor> tensors = graph.tensors();
    std::vector<KnownInput> inputs;
    for (const TensorId id : node.inputs) {
        if (id == kNoTensor) {
            inputs.push_back({});
        } else if (id >= tensors.size()) {
            return invalidArgument(node.label + ": input tensor " + std::to_string(id) +
                                   " does not exist");
        } else {
            inputs.push_back(
                    {.type = &tensors[id].type, .data = tensors[id].constant.bytes.data()});
        }
    }
    std::vector<TensorType> outputs;
    for (const TensorId id : node.outputs) {
        if (id >= tensors.size()) {
            return invalidArgument(node.label + ": output tensor " + std::to_string(id) +
                                   " does not exist");
        }
        outputs.push_back(tensors[id].type);
    }
    HALYARD_RETURN_IF_ERROR(inferShapes(node, inputs, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
        Shape& shape = graph.mutableTensor(node.outputs[i]).type.shape;
        Result<Shape> merged = mergeShapes(shape, outputs[i].shape);
        if (!merged.ok()) {
            return merged.status().withContext(node.label + ": output " + std::to_string(i));
        }
        shape = *merged;
    }
    return {};
}

}  // namespace

Result<Shape> mergeShapes(const Shape& a, const Shape& b) {
    if (!a.hasKnownRank()) {
        return b;
    }
    if (!b.hasKnownRank()) {
        return a;
    }
    bool agree = a.rank() == b.rank();
    Shape merged = a;
    for (size_t axis = 0; agree && axis < a.rank(); ++axis) {
        if (a[axis] == kUnknownDimension) {
            merged[axis] = b[axis];
        } else {
            agree = b[axis] == kUnknownDimension || a[axis] == b[axis];
        }
    }
    if (!agree) {
        return invalidArgument("shape " + a.toString() + " contradicts " + b.toString());
    }
    return merged;
}

Status inferShapes(const Node& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    return std::visit(
                   [&]<typename Descriptor>(const Descriptor& descriptor) -> Status {
                       if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                           return internalError("the node has no kind");
                       } else {
                           return inferShapes(descriptor, inputs, outputs);
                       }
                   },
                   node.descriptor)
            .withContext(node.label);
}

Status inferGraphShapes(Graph& graph) {
    for (const Node& node : graph.nodes()) {
        HALYARD_RETURN_IF_ERROR(inferNode(graph, node));
    }
    return {};
}

}  // namespace halyard::engine
