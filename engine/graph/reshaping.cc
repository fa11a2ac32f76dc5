// SPDX-License-Identifier: Apache-2.0
//
// The elements stay as they are; their shape, their order or the tensor that they lie in changes.

#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "engine/graph/control_input.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// The requested extents, of which at most one is -1: whatever the others leave of `elements`
// (nothing, while that is not known).
Result<Shape> resolveReshape(Shape requested, std::optional<int64_t> elements) {
    std::optional<size_t> open;
    for (size_t axis = 0; axis < requested.rank(); ++axis) {
        if (requested[axis] >= 0) {
            continue;
        }
        if (requested[axis] != -1 || open.has_value()) {
            return invalidArgument(
                    "the shape to give may hold one -1 and no other negative number");
        }
        open = axis;
    }
    if (!elements.has_value()) {
        return requested;
    }
    Shape others = requested;
    if (open.has_value()) {
        others[*open] = 1;
    }
    HALYARD_ASSIGN_OR_RETURN(const int64_t product, others.elementCount());
    const bool divides =
            open.has_value() ? product != 0 && *elements % product == 0 : product == *elements;
    if (!divides) {
        return invalidArgument(std::to_string(*elements) + " elements can't take the shape " +
                               requested.toString());
    }
    if (open.has_value()) {
        requested[*open] = static_cast<int32_t>(*elements / product);
    }
    return requested;
}

// x without the axes that are marked. Nothing left is one element, not a scalar.
Shape without(const Shape& x, const std::bitset<kMaxRank>& removed) {
    std::array<int32_t, kMaxRank> kept = {1};
    size_t count = 0;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        if (!removed[axis]) {
            kept[count++] = x[axis];
        }
    }
    if (count == 0 && x.rank() > 0) {
        count = 1;
    }
    return Shape(std::span<const int32_t>(kept).first(count));
}

// x with `extent` put in front of `axis`, which may be one past the last.
Result<Shape> withAxis(const Shape& x, int32_t axis, int32_t extent) {
    HALYARD_RETURN_IF_ERROR(checkRankLimit(x.rank() + 1));
    HALYARD_ASSIGN_OR_RETURN(const size_t at, resolveAxis(axis, x.rank() + 1));
    Shape result = unknownExtents(x.rank() + 1);
    for (size_t i = 0; i < result.rank(); ++i) {
        result[i] = i == at ? extent : x[i < at ? i : i - 1];
    }
    return result;
}

}  // namespace

Status inferShapes(const Concat& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (inputs.empty()) {
        return invalidArgument("takes at least one input");
    }
    Shape joined = Shape::unknownRank();
    size_t axis = 0;
    int32_t length = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string role = "input " + std::to_string(i);
        HALYARD_RETURN_IF_ERROR(checkType(*inputs[i].type, role, kMovable));
        HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[i].type, role, outputs[0], "the output"));
        Shape others = inputs[i].shape();
        if (!others.hasKnownRank()) {
            length = kUnknownDimension;
            continue;
        }
        Result<size_t> resolved = resolveAxis(node.axis, others.rank());
        if (!resolved.ok()) {
            return resolved.status().withContext(role);
        }
        axis = *resolved;
        HALYARD_ASSIGN_OR_RETURN(
                length, addExtents(length, others[axis], "the length of the inputs together"));
        others[axis] = kUnknownDimension;
        Result<Shape> merged = mergeShapes(joined, others);
        if (!merged.ok()) {
            return merged.status().withContext(role);
        }
        joined = *merged;
    }
    if (joined.hasKnownRank()) {
        joined[axis] = length;
    }
    outputs[0].shape = joined;
    return {};
}

Status inferShapes(const Split& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (outputs.empty()) {
        return invalidArgument("gives at least one output");
    }
    Shape part = inputs[0].shape();
    if (part.hasKnownRank()) {
        HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, part.rank()));
        HALYARD_ASSIGN_OR_RETURN(part[axis],
                                 divideExtent(part[axis], static_cast<int32_t>(outputs.size()),
                                              "the extent along the axis"));
    }
    for (TensorType& output : outputs) {
        HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, output));
        output.shape = part;
    }
    return {};
}

Status inferShapes(const Pack& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (inputs.empty()) {
        return invalidArgument("takes at least one input");
    }
    Shape shape = Shape::unknownRank();
    for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string role = "input " + std::to_string(i);
        HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[i].type, outputs[0]).withContext(role));
        Result<Shape> merged = mergeShapes(shape, inputs[i].shape());
        if (!merged.ok()) {
            return merged.status().withContext(role);
        }
        shape = *merged;
    }
    if (shape.hasKnownRank()) {
        HALYARD_ASSIGN_OR_RETURN(shape,
                                 withAxis(shape, node.axis, static_cast<int32_t>(inputs.size())));
    }
    outputs[0].shape = shape;
    return {};
}

Status inferShapes(const Reshape& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    HALYARD_ASSIGN_OR_RETURN(const int32_t rank, checkListPerAxis(inputs[1], "the shape to give",
                                                                  Shape::unknownRank()));
    if (rank == kUnknownDimension) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    Shape requested = unknownExtents(static_cast<size_t>(rank));
    if (!isKnown(inputs[1])) {
        outputs[0].shape = requested;
        return {};
    }
    for (size_t axis = 0; axis < requested.rank(); ++axis) {
        requested[axis] = elementsOf(inputs[1])[axis];
    }
    std::optional<int64_t> elements;
    if (inputs[0].shape().isFullyKnown()) {
        HALYARD_ASSIGN_OR_RETURN(elements, inputs[0].shape().elementCount());
    }
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape, resolveReshape(requested, elements));
    return {};
}

Status inferShapes(const Squeeze& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    const KnownInput& axes = inputs[1];
    const Shape& x = inputs[0].shape();
    if (axes.present()) {
        HALYARD_RETURN_IF_ERROR(checkControlInput(axes, 1, "the axes"));
    }
    outputs[0].shape = Shape::unknownRank();
    if (!x.hasKnownRank() || (axes.present() && !isKnown(axes))) {
        return {};
    }
    std::bitset<kMaxRank> removed;
    if (axes.present()) {
        HALYARD_ASSIGN_OR_RETURN(removed, readAxes(axes, x.rank()));
    }
    if (removed.none()) {
        for (size_t axis = 0; axis < x.rank(); ++axis) {
            if (x[axis] == kUnknownDimension) {
                return {};
            }
            removed[axis] = x[axis] == 1;
        }
    }
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        if (removed[axis] && x[axis] != 1 && x[axis] != kUnknownDimension) {
            return invalidArgument("axis " + std::to_string(axis) + " of the input " +
                                   x.toString() + " has not the extent 1");
        }
    }
    outputs[0].shape = without(x, removed);
    return {};
}

Status inferShapes(const ExpandDims& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    outputs[0].shape = inputs[0].shape();
    if (outputs[0].shape.hasKnownRank()) {
        HALYARD_ASSIGN_OR_RETURN(outputs[0].shape, withAxis(outputs[0].shape, node.axis, 1));
    }
    return {};
}

Status inferShapes(const Transpose& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    const KnownInput& permutation = inputs[1];
    outputs[0].shape = Shape::unknownRank();
    int32_t known = kUnknownDimension;
    if (permutation.present()) {
        HALYARD_ASSIGN_OR_RETURN(
                known, checkListPerAxis(permutation, "the permutation", inputs[0].shape()));
    } else if (inputs[0].shape().hasKnownRank()) {
        known = static_cast<int32_t>(inputs[0].shape().rank());
    }
    if (known == kUnknownDimension) {
        return {};
    }
    const auto rank = static_cast<size_t>(known);
    outputs[0].shape = unknownExtents(rank);
    if (permutation.present() && !isKnown(permutation)) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), rank, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const Permutation from, readPermutation(permutation, rank));
    for (size_t axis = 0; axis < rank; ++axis) {
        outputs[0].shape[axis] = x[from[axis]];
    }
    return {};
}

Status inferShapes(const Reverse& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    HALYARD_RETURN_IF_ERROR(checkList(inputs[1], "the axis", 1));
    const Shape& x = inputs[0].shape();
    if (x.hasKnownRank() && isKnown(inputs[1])) {
        HALYARD_RETURN_IF_ERROR(readAxis(inputs[1], x.rank()).status());
    }
    outputs[0].shape = x;
    return {};
}

Status inferShapes(const ChannelShuffle& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.groups, 1, "the number of groups"));
    const Shape& x = inputs[0].shape();
    if (x.hasKnownRank()) {
        HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
        HALYARD_RETURN_IF_ERROR(divideExtent(x[axis], node.groups, "the channels").status());
    }
    outputs[0].shape = x;
    return {};
}

Status inferShapes(const Fill& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kFloatsOrInt32));
    HALYARD_RETURN_IF_ERROR(checkSameType(outputs[0], "the output", *inputs[1].type, "the value"));
    HALYARD_RETURN_IF_ERROR(checkOneElement(inputs[1].shape(), "the value"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t rank, checkListPerAxis(inputs[0], "the list of extents",
                                                                  Shape::unknownRank()));
    if (rank == kUnknownDimension) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    outputs[0].shape = unknownExtents(static_cast<size_t>(rank));
    if (isKnown(inputs[0])) {
        HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> extents,
                                 readList(inputs[0], "an extent", 0));
        outputs[0].shape = Shape(extents);
    }
    return {};
}

Status inferShapes(const Rank& /*node*/, std::span<const KnownInput> /*inputs*/,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kInt32));
    outputs[0].shape = Shape();
    return {};
}

}  // namespace halyard::engine
