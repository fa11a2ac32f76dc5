// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

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

}  // namespace halyard::engine
