// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

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
    HALYARD_ASSIGN_OR_RETURN(const Shape weights, asRank(inputs[1].shape(), 2, "the weights"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t units, sameExtent(weights[0], "the weights' units",
                                                             bias[0], "the bias's length"));
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 0, units));
    HALYARD_ASSIGN_OR_RETURN(const int32_t batch, rowsOf(inputs[0].shape(), weights[1]));
    outputs[0].shape = {batch, units};
    return {};
}

// Shapes are seen from their last axis: the extents before a matrix broadcast.
Status inferShapes(const BatchMatmul& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "a", kNumbers));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "a", *inputs[1].type, "b"));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "a", outputs[0], "the output"));
    Shape a = inputs[0].shape();
    Shape b = inputs[1].shape();
    if (!a.hasKnownRank() && !b.hasKnownRank()) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    const size_t rank = a.hasKnownRank() ? a.rank() : b.rank();
    if (rank < 2) {
        return invalidArgument("a and b must have rank 2 or more, not " + std::to_string(rank));
    }
    HALYARD_ASSIGN_OR_RETURN(a, asRank(a, rank, "a"));
    HALYARD_ASSIGN_OR_RETURN(b, asRank(b, rank, "b"));
    if (node.transposeA) {
        std::swap(a[rank - 2], a[rank - 1]);
    }
    if (node.transposeB) {
        std::swap(b[rank - 2], b[rank - 1]);
    }
    HALYARD_RETURN_IF_ERROR(
            sameExtent(a[rank - 1], "the columns of a", b[rank - 2], "the rows of b").status());
    HALYARD_ASSIGN_OR_RETURN(Shape shape, broadcastShapes(Shape(a.extents().first(rank - 2)),
                                                          Shape(b.extents().first(rank - 2))));
    std::array<int32_t, kMaxRank> extents = {};
    std::ranges::copy(shape.extents(), extents.begin());
    extents[rank - 2] = a[rank - 2];
    extents[rank - 1] = b[rank - 1];
    outputs[0].shape = Shape(std::span<const int32_t>(extents).first(rank));
    return {};
}

}  // namespace halyard::engine
