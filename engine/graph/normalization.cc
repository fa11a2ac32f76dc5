// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// Along one axis; nothing changes its place.
Status alongAxis(int32_t axis, const KnownInput& x, TensorType& output, const TypeSet& legal) {
    HALYARD_RETURN_IF_ERROR(checkMapped(*x.type, output, legal));
    if (x.shape().hasKnownRank()) {
        HALYARD_RETURN_IF_ERROR(resolveAxis(axis, x.shape().rank()).status());
    }
    output.shape = x.shape();
    return {};
}

// gamma or beta of rows of x, which are its axes from `first` on.
Status checkRowOf(const KnownInput& weights, std::string_view role, const TensorType& x,
                  size_t first) {
    if (weights.type == nullptr) {
        return {};
    }
    HALYARD_RETURN_IF_ERROR(checkSameType(x, "the input", *weights.type, role));
    const Shape& shape = weights.shape();
    if (!shape.hasKnownRank()) {
        return {};
    }
    const size_t rank = x.shape.rank();
    if (shape.rank() > rank || shape.rank() < rank - first) {
        return invalidArgument(std::string(role) + " has rank " + std::to_string(shape.rank()) +
                               " for rows of rank " + std::to_string(rank - first));
    }
    for (size_t i = 0; i < shape.rank(); ++i) {
        const size_t axis = rank - shape.rank() + i;
        const int32_t expected = axis < first ? 1 : x.shape[axis];
        HALYARD_RETURN_IF_ERROR(
                sameExtent(shape[i], role, expected, "a row of the input").status());
    }
    return {};
}

}  // namespace

Status inferShapes(const Softmax& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkPositive(node.beta, "beta"));
    return alongAxis(node.axis, inputs[0], outputs[0], kReals);
}

Status inferShapes(const LogSoftmax& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkPositive(node.beta, "beta"));
    return alongAxis(node.axis, inputs[0], outputs[0], kFloats);
}

Status inferShapes(const L2Normalize& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    return alongAxis(node.axis, inputs[0], outputs[0], kReals);
}

Status inferShapes(const LocalResponseNormalize& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.radius, 0, "the radius"));
    return alongAxis(node.axis, inputs[0], outputs[0], kFloats);
}

Status inferShapes(const InstanceNormalize& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMapped(*inputs[0].type, outputs[0], kFloats));
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape, asRank(inputs[0].shape(), 4, "the input"));
    return {};
}

Status inferShapes(const LayerNormalize& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkFinite(node.epsilon, "epsilon"));
    HALYARD_RETURN_IF_ERROR(alongAxis(node.axis, inputs[0], outputs[0], kFloats));
    if (!inputs[0].shape().hasKnownRank()) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t first, resolveAxis(node.axis, inputs[0].shape().rank()));
    HALYARD_RETURN_IF_ERROR(checkRowOf(inputs[1], "gamma", *inputs[0].type, first));
    return checkRowOf(inputs[2], "beta", *inputs[0].type, first);
}

}  // namespace halyard::engine
