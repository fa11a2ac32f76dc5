// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// What two extents broadcast to; below kUnknownDimension where they don't.
constexpr int32_t kNoExtent = kUnknownDimension - 1;

int32_t broadcastExtents(int32_t a, int32_t b) {
    if (a == b || b == 1) {
        return a;
    }
    if (a == 1) {
        return b;
    }
    // The unknown one is 1 or equal to the other, or the node is invalid once it is known.
    if (a == kUnknownDimension) {
        return b;
    }
    return b == kUnknownDimension ? a : kNoExtent;
}

}  // namespace

Result<Shape> broadcastShapes(const Shape& a, const Shape& b) {
    if (!a.hasKnownRank() || !b.hasKnownRank()) {
        return Shape::unknownRank();
    }
    const Shape& longer = a.rank() >= b.rank() ? a : b;
    const Shape& shorter = a.rank() >= b.rank() ? b : a;
    const size_t added = longer.rank() - shorter.rank();
    Shape result = longer;
    for (size_t axis = added; axis < longer.rank(); ++axis) {
        result[axis] = broadcastExtents(longer[axis], shorter[axis - added]);
        if (result[axis] == kNoExtent) {
            return invalidArgument("shapes " + a.toString() + " and " + b.toString() +
                                   " can't be broadcast");
        }
    }
    return result;
}

Status inferShapes(const Activate& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 1, outputs));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "the input", outputs[0], "the output"));
    outputs[0].shape = inputs[0].shape();
    return {};
}

Status inferShapes(const Binary& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 2, outputs));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "input 0", *inputs[1].type, "input 1"));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "input 0", outputs[0], "the output"));
    if (outputs[0].type == DataType::INT32 && node.activation != Activation::NONE) {
        return invalidArgument("INT32 takes no activation");
    }
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape,
                             broadcastShapes(inputs[0].shape(), inputs[1].shape()));
    return {};
}

}  // namespace halyard::engine
