// SPDX-License-Identifier: Apache-2.0
//
// Rules that the shape inference of several node families shares. Each fails with INVALID_ARGUMENT
// and names the tensor by the role that it plays in its node ("filter", "input 2"). Unknown ranks
// and extents agree with everything.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

// Exactly so many inputs, none of them omitted, and exactly one output.
Status checkCounts(std::span<const KnownInput> inputs, size_t inputCount,
                   std::span<const TensorType> outputs);

// The same element type, whatever the quantisation.
Status checkSameType(const TensorType& a, std::string_view roleOfA, const TensorType& b,
                     std::string_view roleOfB);

// The same element type and, for quantised types, the same scale and zero point: the elements of
// one can be moved into the other.
Status checkSameElements(const TensorType& a, std::string_view roleOfA, const TensorType& b,
                         std::string_view roleOfB);

// `shape` as one of `rank` extents, all of them unknown where its rank is.
Result<Shape> asRank(const Shape& shape, size_t rank, std::string_view role);

// The extent that two tensors share; the known one if only one is.
Result<int32_t> sameExtent(int32_t a, std::string_view whatIsA, int32_t b,
                           std::string_view whatIsB);

// The element types of a node that sums products of x and weights and adds a bias, and the scales
// of per-channel weights: `channels` of them along dimension `channelDim`.
Status checkWeights(std::span<const KnownInput> inputs, const TensorType& output,
                    uint32_t channelDim, int32_t channels);

}  // namespace halyard::engine
