// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// How many rows of `length` elements x is seen as. Its own rows count where they have that length,
// which also decides for rows without elements.
Result<int32_t> rowsOf(const Shape& x, int32_t length) {
    if (!x.hasKnownRank()) {
        return kUnknownDimension;
    }
    if (x.rank() < 2) {
        return invalidArgument("the input must have rank 2 or more, but its shape is " +
                               x.toString());
    }
    if (x.rank() == 2 && (x[1] == length || length == kUnknownDimension)) {
        return length == kUnknownDimension ? kUnknownDimension : x[0];
    }
    if (!x.isFullyKnown() || length == kUnknownDimension) {
        return kUnknownDimension;
    }
    HALYARD_ASSIGN_OR_RETURN(const int64_t elements, x.elementCount());
    if (length == 0 || elements % length != 0) {
        return invalidArgument("the input " + x.toString() + " has no rows of " +
                               std::to_string(length) + " elements, as the weights ask for");
    }
    return static_cast<int32_t>(elements / length);
}

}  // namespace

Status inferShapes(const FullyConnected& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 3, outputs));
    HALYARD_ASSIGN_OR_RETURN(const Shape weights, asRank(inputs[1].shape(), 2, "the weights"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t units, sameExtent(weights[0], "the weights' units",
                                                             bias[0], "the bias's length"));
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 0, units));
    HALYARD_ASSIGN_OR_RETURN(const int32_t batch, rowsOf(inputs[0].shape(), weights[1]));
    outputs[0].shape = {batch, units};
    return {};
}

}  // namespace halyard::engine
