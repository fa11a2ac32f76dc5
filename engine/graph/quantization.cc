// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

Status checkChannelScales(const TensorType& x) {
    const Quantization& quantization = x.quantization;
    if (x.type != DataType::QUANT8_SYMM_PER_CHANNEL || !x.shape.hasKnownRank()) {
        return {};
    }
    if (quantization.channelDim >= x.shape.rank()) {
        return invalidArgument("the input " + x.toString() + " has no such axis");
    }
    return sameExtent(x.shape[quantization.channelDim], "the input's channels",
                      static_cast<int32_t>(quantization.channelScales.size()),
                      "its number of scales")
            .status();
}

}  // namespace

Status inferShapes(const Dequantize& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (!isQuantized(inputs[0].type->type) || !isFloat(outputs[0].type)) {
        return invalidArgument("turns a quantised type into a float type, not " +
                               inputs[0].type->toString() + " into " + outputs[0].toString());
    }
    HALYARD_RETURN_IF_ERROR(checkChannelScales(*inputs[0].type));
    outputs[0].shape = inputs[0].shape();
    return {};
}

Status inferShapes(const Quantize& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    if (!isFloat(inputs[0].type->type) || !kEightBits.contains(outputs[0].type)) {
        return invalidArgument("turns a float type into an asymmetric 8-bit type, not " +
                               inputs[0].type->toString() + " into " + outputs[0].toString());
    }
    outputs[0].shape = inputs[0].shape();
    return {};
}

// Conversions are between the types that C has; the others, which would need their scales, are
// copied only.
Status inferShapes(const Cast& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    static constexpr TypeSet kConvertible = {
            "FLOAT32, FLOAT16, INT32 or QUANT8_ASYMM",
            {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32, DataType::QUANT8_ASYMM}};
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kMovable));
    if (inputs[0].type->type != outputs[0].type) {
        HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kConvertible));
        HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kConvertible));
    }
    outputs[0].shape = inputs[0].shape();
    return {};
}

}  // namespace halyard::engine
