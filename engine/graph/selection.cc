// SPDX-License-Identifier: Apache-2.0
//
// Order, lookup, chance.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

Status inferShapes(const TopK& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& x = *inputs[0].type;
    HALYARD_RETURN_IF_ERROR(checkType(x, "the input", kNumbers));
    HALYARD_RETURN_IF_ERROR(checkSameElements(x, "the input", outputs[0], "the values"));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[1], "the indices", kInt32));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.k, 1, "k"));
    Shape shape = x.shape;
    if (shape.hasKnownRank()) {
        HALYARD_ASSIGN_OR_RETURN(const size_t last, resolveAxis(-1, shape.rank()));
        if (shape[last] != kUnknownDimension && node.k > shape[last]) {
            return invalidArgument("k (" + std::to_string(node.k) +
                                   ") must be at most the last extent of the input, " +
                                   shape.toString());
        }
        shape[last] = node.k;
    }
    outputs[0].shape = shape;
    outputs[1].shape = shape;
    return {};
}

Status inferShapes(const Gather& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[1].type, "the indices", kInt32));
    const Shape& x = inputs[0].shape();
    const Shape& indices = inputs[1].shape();
    outputs[0].shape = Shape::unknownRank();
    if (!x.hasKnownRank()) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    if (!indices.hasKnownRank()) {
        return {};
    }
    const size_t rank = x.rank() - 1 + indices.rank();
    HALYARD_RETURN_IF_ERROR(checkRankLimit(rank));
    std::array<int32_t, kMaxRank> extents = {};
    auto end = std::ranges::copy(x.extents().first(axis), extents.begin()).out;
    end = std::ranges::copy(indices.extents(), end).out;
    std::ranges::copy(x.extents().subspan(axis + 1), end);
    outputs[0].shape = Shape(std::span<const int32_t>(extents).first(rank));
    return {};
}

Status inferShapes(const HashtableLookup& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    static constexpr TypeSet kByte = {"QUANT8_ASYMM", {DataType::QUANT8_ASYMM}};
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the lookups", kInt32));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[1].type, "the keys", kInt32));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[2].type, "the values", kNumbers));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(*inputs[2].type, "the values", outputs[0], "the output"));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[1], "the hits", kByte));
    HALYARD_ASSIGN_OR_RETURN(const Shape lookups, asRank(inputs[0].shape(), 1, "the lookups"));
    HALYARD_ASSIGN_OR_RETURN(const Shape keys, asRank(inputs[1].shape(), 1, "the keys"));
    Shape output = inputs[2].shape();
    if (output.hasKnownRank()) {
        if (output.rank() == 0) {
            return invalidArgument("the values must have a row for each key, but are a scalar");
        }
        HALYARD_RETURN_IF_ERROR(
                sameExtent(keys[0], "the number of keys", output[0], "of rows of values").status());
        output[0] = lookups[0];
    }
    outputs[0].shape = output;
    outputs[1].shape = lookups;
    return {};
}

// The bits of one function make one INT32 where they are not dense.
Status inferShapes(const LshProjection& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const KnownInput& weight = inputs[2];
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the hash", kFloats));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kInt32));
    int32_t functions = kUnknownDimension;
    int32_t bits = kUnknownDimension;
    HALYARD_RETURN_IF_ERROR(agree(inputs[0].shape(), "the hash", {&functions, &bits}));
    const Shape& x = inputs[1].shape();
    if (x.hasKnownRank() && x.rank() == 0) {
        return invalidArgument("the input must have rank 1 or more, but is a scalar");
    }
    int32_t rows = x.hasKnownRank() ? x[0] : kUnknownDimension;
    if (weight.present()) {
        HALYARD_RETURN_IF_ERROR(
                checkSameType(*inputs[0].type, "the hash", *weight.type, "the weight"));
        HALYARD_RETURN_IF_ERROR(agree(weight.shape(), "the weight", {&rows}));
    }
    if (bits > 32) {
        return invalidArgument("the hash has " + std::to_string(bits) +
                               " bits, but one INT32 holds 32");
    }
    int32_t length = functions;
    if (node.type == LshProjection::Type::DENSE) {
        HALYARD_ASSIGN_OR_RETURN(length, multiplyExtents(functions, bits, "the number of bits"));
    }
    outputs[0].shape = {length};
    return {};
}

Status inferShapes(const RandomMultinomial& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kFloats));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[1].type, "the seeds", kInt32));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kInt32));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.samples, 1, "the number of samples"));
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 2, "the input"));
    int32_t two = 2;
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the seeds", {&two}));
    if (x[1] == 0 && x[0] > 0) {
        return invalidArgument("there is no class to draw from");
    }
    outputs[0].shape = {x[0], node.samples};
    return {};
}

}  // namespace halyard::engine
