// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// broadcastExtents() of two extents that don't broadcast; below kUnknownDimension.
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

namespace {

Status sameShapeAs(const KnownInput& x, TensorType& output, const TypeSet& legal) {
    HALYARD_RETURN_IF_ERROR(checkMapped(*x.type, output, legal));
    output.shape = x.shape();
    return {};
}

const TypeSet& legalFor(Unary::Function function) {
    switch (function) {
        case Unary::Function::ABS:
        case Unary::Function::NEG:
            return kFloatsOrInt32;
        case Unary::Function::LOGICAL_NOT:
            return kBool8;
        case Unary::Function::RSQRT:
            return kReals;
        default:
            return kFloats;
    }
}

const TypeSet& legalFor(Binary::Function function) {
    switch (function) {
        case Binary::Function::POW:
            return kFloats;
        case Binary::Function::PRELU:
            return kReals;
        case Binary::Function::LOGICAL_AND:
        case Binary::Function::LOGICAL_OR:
            return kBool8;
        default:
            return kNumbers;
    }
}

}  // namespace

Status inferShapes(const Activate& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (node.function == Activate::Function::ELU || node.function == Activate::Function::SWISH) {
        HALYARD_RETURN_IF_ERROR(checkFinite(node.alpha, "alpha"));
    }
    // No two C libraries agree on the error function, so that bytes of it could differ.
    return sameShapeAs(inputs[0], outputs[0],
                       node.function == Activate::Function::GELU ? kFloats : kReals);
}

Status inferShapes(const Unary& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    return sameShapeAs(inputs[0], outputs[0], legalFor(node.function));
}

Status inferShapes(const Binary& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "input 0", legalFor(node.function)));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "input 0", *inputs[1].type, "input 1"));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "input 0", outputs[0], "the output"));
    if (node.activation != Activation::NONE && !kReals.contains(outputs[0].type)) {
        return invalidArgument(std::string(toString(outputs[0].type)) + " takes no activation");
    }
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape,
                             broadcastShapes(inputs[0].shape(), inputs[1].shape()));
    return {};
}

Status inferShapes(const Compare& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "input 0", kNumbersOrBools));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "input 0", *inputs[1].type, "input 1"));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kBool8));
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape,
                             broadcastShapes(inputs[0].shape(), inputs[1].shape()));
    return {};
}

Status inferShapes(const Select& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the condition", kBool8));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[1].type, "input 1", kNumbersOrBools));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[1].type, "input 1", *inputs[2].type, "input 2"));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[1].type, "input 1", outputs[0], "the output"));
    Shape shape = inputs[0].shape();
    for (const KnownInput& branch : inputs.subspan(1)) {
        HALYARD_ASSIGN_OR_RETURN(shape, mergeShapes(shape, branch.shape()));
    }
    outputs[0].shape = shape;
    return {};
}

}  // namespace halyard::engine
