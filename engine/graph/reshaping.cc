// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <bitset>
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

Shape unknownExtents(int32_t rank) {
    std::array<int32_t, kMaxRank> extents;
    extents.fill(kUnknownDimension);
    return Shape(std::span<const int32_t>(extents).first(static_cast<size_t>(rank)));
}

Status checkRankLimit(int32_t rank) {
    if (rank > static_cast<int32_t>(kMaxRank)) {
        return unsupported("rank " + std::to_string(rank) + " is above " +
                           std::to_string(kMaxRank));
    }
    return {};
}

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

Result<int32_t> paddedExtent(int32_t extent, const Padding& padding, size_t axis) {
    if (extent == kUnknownDimension) {
        return kUnknownDimension;
    }
    const int64_t padded = static_cast<int64_t>(extent) + padding.before + padding.after;
    if (padded > std::numeric_limits<int32_t>::max()) {
        return invalidArgument("the padding of axis " + std::to_string(axis) + " is too large");
    }
    return static_cast<int32_t>(padded);
}

}  // namespace

Status inferShapes(const Concat& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (inputs.empty()) {
        return invalidArgument("takes at least one input");
    }
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, inputs.size(), outputs));
    Shape joined = Shape::unknownRank();
    int64_t length = 0;
    bool lengthKnown = true;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string role = "input " + std::to_string(i);
        HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[i].type, role, outputs[0], "the output"));
        const Shape& shape = inputs[i].shape();
        if (!shape.hasKnownRank()) {
            lengthKnown = false;
            continue;
        }
        if (node.axis < 0 || node.axis >= static_cast<int32_t>(shape.rank())) {
            return invalidArgument("axis " + std::to_string(node.axis) + " is not one of " + role +
                                   ", which has shape " + shape.toString());
        }
        const auto axis = static_cast<size_t>(node.axis);
        lengthKnown = lengthKnown && shape[axis] != kUnknownDimension;
        length += lengthKnown ? shape[axis] : 0;
        Shape others = shape;
        others[axis] = kUnknownDimension;
        Result<Shape> merged = mergeShapes(joined, others);
        if (!merged.ok()) {
            return merged.status().withContext(role);
        }
        joined = *merged;
    }
    if (lengthKnown && length > std::numeric_limits<int32_t>::max()) {
        return invalidArgument("the inputs are too long together");
    }
    if (joined.hasKnownRank()) {
        joined[static_cast<size_t>(node.axis)] =
                lengthKnown ? static_cast<int32_t>(length) : kUnknownDimension;
    }
    outputs[0].shape = joined;
    return {};
}

Status inferShapes(const Pad& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 2, outputs));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(*inputs[0].type, "the input", outputs[0], "the output"));
    HALYARD_RETURN_IF_ERROR(checkControlInput(inputs[1], 2, "the paddings"));
    HALYARD_ASSIGN_OR_RETURN(const Shape paddings, asRank(inputs[1].shape(), 2, "the paddings"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(paddings[1], "the paddings' columns", 2, "before and after").status());
    const Shape& x = inputs[0].shape();
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t rank,
            sameExtent(x.hasKnownRank() ? static_cast<int32_t>(x.rank()) : kUnknownDimension,
                       "the input's rank", paddings[0], "the paddings' rows"));
    if (rank == kUnknownDimension) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    HALYARD_RETURN_IF_ERROR(checkRankLimit(rank));
    outputs[0].shape = unknownExtents(rank);
    if (!isKnown(inputs[1])) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const Paddings amounts,
                             readPaddings(inputs[1], static_cast<size_t>(rank)));
    for (size_t axis = 0; x.hasKnownRank() && axis < x.rank(); ++axis) {
        HALYARD_ASSIGN_OR_RETURN(outputs[0].shape[axis],
                                 paddedExtent(x[axis], amounts[axis], axis));
    }
    return {};
}

Status inferShapes(const Reshape& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 2, outputs));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(*inputs[0].type, "the input", outputs[0], "the output"));
    HALYARD_RETURN_IF_ERROR(checkControlInput(inputs[1], 1, "the shape to give"));
    HALYARD_ASSIGN_OR_RETURN(const Shape length, asRank(inputs[1].shape(), 1, "the shape to give"));
    if (length[0] == kUnknownDimension) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    HALYARD_RETURN_IF_ERROR(checkRankLimit(length[0]));
    Shape requested = unknownExtents(length[0]);
    if (!isKnown(inputs[1])) {
        outputs[0].shape = requested;
        return {};
    }
    for (size_t axis = 0; axis < requested.rank(); ++axis) {
        requested[axis] = readElement(inputs[1], axis);
    }
    std::optional<int64_t> elements;
    if (inputs[0].shape().isFullyKnown()) {
        HALYARD_ASSIGN_OR_RETURN(elements, inputs[0].shape().elementCount());
    }
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape, resolveReshape(requested, elements));
    return {};
}

Status inferShapes(const Transpose& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 1, outputs));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(*inputs[0].type, "the input", outputs[0], "the output"));
    const size_t rank = node.permutation.size();
    if (rank > kMaxRank) {
        return unsupported("a permutation of " + std::to_string(rank) + " axes is above rank " +
                           std::to_string(kMaxRank));
    }
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), rank, "the input"));
    Shape permuted = x;
    std::bitset<kMaxRank> seen;
    for (size_t axis = 0; axis < rank; ++axis) {
        const int32_t from = node.permutation[axis];
        if (from < 0 || from >= static_cast<int32_t>(rank) || seen[static_cast<size_t>(from)]) {
            return invalidArgument("the permutation must name each of the " + std::to_string(rank) +
                                   " axes once");
        }
        seen.set(static_cast<size_t>(from));
        permuted[axis] = x[static_cast<size_t>(from)];
    }
    outputs[0].shape = permuted;
    return {};
}

}  // namespace halyard::engine
