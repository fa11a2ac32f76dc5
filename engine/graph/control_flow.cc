// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/graph.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

const TensorType& inputType(const Graph& graph, size_t index) {
    return graph.tensor(graph.inputs()[index]).type;
}

const TensorType& outputType(const Graph& graph, size_t index) {
    return graph.tensor(graph.outputs()[index]).type;
}

// The known part of a shape that is one or the other: the extents that both share.
Shape eitherShape(const Shape& a, const Shape& b) {
    if (!a.hasKnownRank() || !b.hasKnownRank() || a.rank() != b.rank()) {
        return Shape::unknownRank();
    }
    Shape result = a;
    for (size_t axis = 0; axis < a.rank(); ++axis) {
        result[axis] = a[axis] == b[axis] ? a[axis] : kUnknownDimension;
    }
    return result;
}

// A value fits where it goes to: same elements, and shapes that do not contradict each other.
Status checkPassed(const TensorType& from, std::string_view role, const TensorType& to,
                   std::string_view roleOfTo) {
    HALYARD_RETURN_IF_ERROR(checkSameElements(from, role, to, roleOfTo));
    return mergeShapes(from.shape, to.shape).status().withContext(role);
}

// The graph `called` takes the values. Those left out have no type to compare.
Status checkTakes(const Graph& graph, std::string_view called, std::span<const KnownInput> values) {
    if (graph.inputs().size() != values.size()) {
        return invalidArgument(std::string(called) + " has " +
                               std::to_string(graph.inputs().size()) + " inputs, but is given " +
                               std::to_string(values.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) {
        if (values[i].present()) {
            const std::string input = "input " + std::to_string(i) + " of " + std::string(called);
            HALYARD_RETURN_IF_ERROR(checkPassed(*values[i].type, "value " + std::to_string(i),
                                                inputType(graph, i), input));
        }
    }
    return {};
}

Status checkPresent(const NestedGraph& nested, std::string_view called) {
    return nested.graph != nullptr ? Status()
                                   : invalidArgument(std::string(called) + " is missing");
}

Status checkCondition(const TensorType& type) {
    HALYARD_RETURN_IF_ERROR(checkType(type, "the condition", kBool8));
    bool isOne = true;
    for (const int32_t extent : type.shape.extents()) {
        isOne = isOne && (extent == 1 || extent == kUnknownDimension);
    }
    return isOne ? Status()
                 : invalidArgument("the condition must have one element, but its shape is " +
                                   type.shape.toString());
}

Status checkBranch(const Graph& graph, std::string_view called, std::span<const KnownInput> values,
                   std::span<const TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkTakes(graph, called, values));
    if (graph.outputs().size() != outputs.size()) {
        return invalidArgument(std::string(called) + " has " +
                               std::to_string(graph.outputs().size()) +
                               " outputs, but the node has " + std::to_string(outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string number = std::to_string(i);
        HALYARD_RETURN_IF_ERROR(checkSameElements(outputType(graph, i),
                                                  "output " + number + " of " + std::string(called),
                                                  outputs[i], "result " + number));
    }
    return {};
}

}  // namespace

Status inferShapes(const If& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (inputs[0].present()) {
        HALYARD_RETURN_IF_ERROR(checkCondition(*inputs[0].type));
    }
    HALYARD_RETURN_IF_ERROR(checkPresent(node.then, "the first branch"));
    HALYARD_RETURN_IF_ERROR(checkPresent(node.otherwise, "the second branch"));
    const std::span<const KnownInput> values = inputs.subspan(1);
    HALYARD_RETURN_IF_ERROR(checkBranch(*node.then.graph, "the first branch", values, outputs));
    HALYARD_RETURN_IF_ERROR(
            checkBranch(*node.otherwise.graph, "the second branch", values, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
        outputs[i].shape = eitherShape(outputType(*node.then.graph, i).shape,
                                       outputType(*node.otherwise.graph, i).shape);
    }
    return {};
}

Status inferShapes(const While& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkPresent(node.condition, "the condition's graph"));
    HALYARD_RETURN_IF_ERROR(checkPresent(node.body, "the body"));
    const Graph& condition = *node.condition.graph;
    const Graph& body = *node.body.graph;
    HALYARD_RETURN_IF_ERROR(checkTakes(condition, "the condition's graph", inputs));
    HALYARD_RETURN_IF_ERROR(checkTakes(body, "the body", inputs));
    if (condition.outputs().size() != 1) {
        return invalidArgument("the condition's graph must have one output, not " +
                               std::to_string(condition.outputs().size()));
    }
    HALYARD_RETURN_IF_ERROR(checkCondition(outputType(condition, 0)));
    const size_t changing = body.outputs().size();
    if (changing > inputs.size() || outputs.size() > changing) {
        return invalidArgument("the body has " + std::to_string(changing) +
                               " outputs, which must be at most the " +
                               std::to_string(inputs.size()) + " values and at least the " +
                               std::to_string(outputs.size()) + " results");
    }
    for (size_t i = 0; i < changing; ++i) {
        const std::string number = std::to_string(i);
        const TensorType& next = outputType(body, i);
        const std::string role = "output " + number + " of the body";
        if (!inputs[i].present()) {
            return invalidArgument("value " + number + ", which the body replaces, is left out");
        }
        HALYARD_RETURN_IF_ERROR(
                checkPassed(next, role, inputType(body, i), "input " + number + " of the body"));
        HALYARD_RETURN_IF_ERROR(checkPassed(next, role, inputType(condition, i),
                                            "input " + number + " of the condition's graph"));
        if (i < outputs.size()) {
            HALYARD_RETURN_IF_ERROR(checkSameElements(next, role, outputs[i], "result " + number));
            outputs[i].shape = eitherShape(inputs[i].shape(), next.shape);
        }
    }
    return {};
}

}  // namespace halyard::engine
