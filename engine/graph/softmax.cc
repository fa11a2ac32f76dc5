// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

Status inferShapes(const Softmax& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 1, outputs));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "the input", outputs[0], "the output"));
    if (!(node.beta > 0.0F) || !std::isfinite(node.beta)) {
        return invalidArgument("beta must be positive and finite, not " +
                               std::to_string(node.beta));
    }
    const Shape& x = inputs[0].shape();
    if (node.axis < 0 || (x.hasKnownRank() && node.axis >= static_cast<int32_t>(x.rank()))) {
        return invalidArgument("axis " + std::to_string(node.axis) +
                               " is not one of the input, which has shape " + x.toString());
    }
    outputs[0].shape = x;
    return {};
}

}  // namespace halyard::engine
