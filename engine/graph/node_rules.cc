// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/node_rules.h"

#include <array>
#include <string>

namespace halyard::engine {
namespace {

bool isEightBitQuantized(DataType type) {
    return isQuantized(type) && elementSize(type) == 1;
}

std::string quoted(std::string_view role, const TensorType& type) {
    return std::string(role) + " (" + type.toString() + ")";
}

}  // namespace

Status checkCounts(std::span<const KnownInput> inputs, size_t inputCount,
                   std::span<const TensorType> outputs) {
    if (inputs.size() != inputCount || outputs.size() != 1) {
        return invalidArgument("takes " + std::to_string(inputCount) +
                               " inputs and 1 output, not " + std::to_string(inputs.size()) +
                               " and " + std::to_string(outputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].present()) {
            return invalidArgument("input " + std::to_string(i) + " can't be omitted");
        }
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

Result<Shape> asRank(const Shape& shape, size_t rank, std::string_view role) {
    if (!shape.hasKnownRank()) {
        std::array<int32_t, kMaxRank> unknown;
        unknown.fill(kUnknownDimension);
        return Shape(std::span<const int32_t>(unknown).first(rank));
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

Status checkWeights(std::span<const KnownInput> inputs, const TensorType& output,
                    uint32_t channelDim, int32_t channels) {
    const TensorType& x = *inputs[0].type;
    const TensorType& weights = *inputs[1].type;
    const TensorType& bias = *inputs[2].type;
    HALYARD_RETURN_IF_ERROR(checkSameType(x, "the input", output, "the output"));
    if (isFloat(x.type)) {
        HALYARD_RETURN_IF_ERROR(checkSameType(x, "the input", weights, "the weights"));
        return checkSameType(x, "the input", bias, "the bias");
    }
    if (!isQuantized(x.type) || !isEightBitQuantized(weights.type)) {
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

}  // namespace halyard::engine
