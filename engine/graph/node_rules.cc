// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/node_rules.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace halyard::engine {
namespace {

std::string quoted(std::string_view role, const TensorType& type) {
    return std::string(role) + " (" + type.toString() + ")";
}

Result<int32_t> asExtent(int64_t value, std::string_view what) {
    if (value > std::numeric_limits<int32_t>::max()) {
        return invalidArgument(std::string(what) + " (" + std::to_string(value) +
                               ") is too large for an extent");
    }
    return static_cast<int32_t>(value);
}

}  // namespace

Status checkType(const TensorType& type, std::string_view role, const TypeSet& legal) {
    if (!legal.contains(type.type)) {
        return invalidArgument(quoted(role, type) + " must be " + std::string(legal.name));
    }
    return {};
}

Status checkSameType(const TensorType& a, std::string_view roleOfA, const TensorType& b,
                     std::string_view roleOfB) {
    if (a.type != b.type) {
        return invalidArgument(quoted(roleOfA, a) + " and " + quoted(roleOfB, b) +
                               " must have the same element type");
    }
    return {};
}

Status checkSameElements(const TensorType& a, std::string_view roleOfA, const TensorType& b,
                         std::string_view roleOfB) {
    HALYARD_RETURN_IF_ERROR(checkSameType(a, roleOfA, b, roleOfB));
    if (isQuantized(a.type) && a.quantization != b.quantization) {
        return invalidArgument(quoted(roleOfA, a) + " and " + quoted(roleOfB, b) +
                               " must have the same scale and zero point");
    }
    return {};
}

Status checkMapped(const TensorType& input, const TensorType& output, const TypeSet& legal) {
    HALYARD_RETURN_IF_ERROR(checkType(input, "the input", legal));
    return checkSameType(input, "the input", output, "the output");
}

Status checkMoved(const TensorType& input, const TensorType& output) {
    HALYARD_RETURN_IF_ERROR(checkType(input, "the input", kMovable));
    return checkSameElements(input, "the input", output, "the output");
}

Status checkWeights(std::span<const KnownInput> inputs, const TensorType& output,
                    uint32_t channelDim, int32_t channels) {
    const TensorType& x = *inputs[0].type;
    const TensorType& weights = *inputs[1].type;
    const TensorType& bias = *inputs[2].type;
    HALYARD_RETURN_IF_ERROR(checkMapped(x, output, kReals));
    if (isFloat(x.type)) {
        HALYARD_RETURN_IF_ERROR(checkSameType(x, "the input", weights, "the weights"));
        return checkSameType(x, "the input", bias, "the bias");
    }
    if (!isQuantized(weights.type) || elementSize(weights.type) != 1) {
        return invalidArgument(quoted("the input", x) + " can't be weighted by " +
                               quoted("weights", weights));
    }
    if (bias.type != DataType::INT32) {
        return invalidArgument(quoted("the bias", bias) + " of a quantised node must be INT32");
    }
    if (weights.type == DataType::QUANT8_SYMM_PER_CHANNEL) {
        const Quantization& quantization = weights.quantization;
        if (quantization.channelDim != channelDim) {
            return invalidArgument(quoted("the weights", weights) +
                                   " must have their scales along axis " +
                                   std::to_string(channelDim));
        }
        if (channels != kUnknownDimension &&
            quantization.channelScales.size() != static_cast<size_t>(channels)) {
            return invalidArgument(quoted("the weights", weights) + " must have " +
                                   std::to_string(channels) + " scales, one per output channel");
        }
    }
    return {};
}

Shape unknownExtents(size_t rank) {
    std::array<int32_t, kMaxRank> unknown;
    unknown.fill(kUnknownDimension);
    return Shape(std::span<const int32_t>(unknown).first(rank));
}

Status checkRankLimit(size_t rank) {
    if (rank > kMaxRank) {
        return unsupported("rank " + std::to_string(rank) + " is above " +
                           std::to_string(kMaxRank));
    }
    return {};
}

Result<Shape> asRank(const Shape& shape, size_t rank, std::string_view role) {
    if (!shape.hasKnownRank()) {
        return unknownExtents(rank);
    }
    if (shape.rank() != rank) {
        return invalidArgument(std::string(role) + " must have rank " + std::to_string(rank) +
                               ", but its shape is " + shape.toString());
    }
    return shape;
}

Result<int32_t> sameExtent(int32_t a, std::string_view whatIsA, int32_t b,
                           std::string_view whatIsB) {
    if (a == kUnknownDimension) {
        return b;
    }
    if (b != kUnknownDimension && a != b) {
        return invalidArgument(std::string(whatIsA) + " (" + std::to_string(a) + ") and " +
                               std::string(whatIsB) + " (" + std::to_string(b) + ") must be equal");
    }
    return a;
}

Status agree(const Shape& shape, std::string_view role, std::initializer_list<int32_t*> expected) {
    HALYARD_ASSIGN_OR_RETURN(const Shape known, asRank(shape, expected.size(), role));
    for (size_t axis = 0; axis < expected.size(); ++axis) {
        int32_t& extent = *expected.begin()[axis];
        if (extent == kUnknownDimension) {
            extent = known[axis];
        } else if (known[axis] != kUnknownDimension && known[axis] != extent) {
            return invalidArgument("extent " + std::to_string(axis) + " of " + std::string(role) +
                                   ", which has shape " + shape.toString() + ", must be " +
                                   std::to_string(extent));
        }
    }
    return {};
}

Result<int32_t> multiplyExtents(int32_t a, int32_t b, std::string_view what) {
    if (a == kUnknownDimension || b == kUnknownDimension) {
        return kUnknownDimension;
    }
    return asExtent(static_cast<int64_t>(a) * b, what);
}

Result<int32_t> addExtents(int32_t a, int32_t b, std::string_view what) {
    if (a == kUnknownDimension || b == kUnknownDimension) {
        return kUnknownDimension;
    }
    return asExtent(static_cast<int64_t>(a) + b, what);
}

Result<int32_t> divideExtent(int32_t extent, int32_t parts, std::string_view what) {
    if (extent == kUnknownDimension) {
        return kUnknownDimension;
    }
    if (extent % parts != 0) {
        return invalidArgument(std::string(what) + " (" + std::to_string(extent) +
                               ") must be a multiple of " + std::to_string(parts));
    }
    return extent / parts;
}

bool isPlaceholder(const Shape& shape) {
    return shape == Shape{kUnknownDimension};
}

Status checkOneElement(const Shape& shape, std::string_view role) {
    for (size_t axis = 0; shape.hasKnownRank() && axis < shape.rank(); ++axis) {
        if (shape[axis] != 1 && shape[axis] != kUnknownDimension) {
            return invalidArgument(std::string(role) + " must be one element, but its shape is " +
                                   shape.toString());
        }
    }
    return {};
}

Status checkAtLeast(int32_t value, int32_t least, std::string_view what) {
    if (value < least) {
        return invalidArgument(std::string(what) + " (" + std::to_string(value) +
                               ") must be at least " + std::to_string(least));
    }
    return {};
}

Status checkPositive(float value, std::string_view what) {
    if (!(value > 0.0F) || !std::isfinite(value)) {
        return invalidArgument(std::string(what) + " must be positive and finite, not " +
                               std::to_string(value));
    }
    return {};
}

Status checkFinite(float value, std::string_view what) {
    if (!std::isfinite(value)) {
        return invalidArgument(std::string(what) + " must be finite, not " + std::to_string(value));
    }
    return {};
}

}  // namespace halyard::engine
