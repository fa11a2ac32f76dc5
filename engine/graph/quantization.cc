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
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 1, outputs));
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
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 1, outputs));
    const bool asymmetric = outputs[0].type == DataType::QUANT8_ASYMM ||
                            outputs[0].type == DataType::QUANT8_ASYMM_SIGNED;
    if (!isFloat(inputs[0].type->type) || !asymmetric) {
        return invalidArgument("turns a float type into an asymmetric 8-bit type, not " +
                               inputs[0].type->toString() + " into " + outputs[0].toString());
    }
    outputs[0].shape = inputs[0].shape();
    return {};
}

}  // namespace halyard::engine
