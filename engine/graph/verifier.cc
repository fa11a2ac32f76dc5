// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/verifier.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

bool isScale(float scale) {
    return std::isfinite(scale) && scale > 0.0F;
}

Status verifyPerChannel(const TensorType& type) {
    const Quantization& quantization = type.quantization;
    if (!type.shape.hasKnownRank() || quantization.channelDim >= type.shape.rank()) {
        return invalidArgument("the channel dimension " + std::to_string(quantization.channelDim) +
                               " is not below the rank of " + type.shape.toString());
    }
    const int32_t channels = type.shape[quantization.channelDim];
    if (channels != kUnknownDimension &&
        quantization.channelScales.size() != static_cast<size_t>(channels)) {
        return invalidArgument("there are " + std::to_string(quantization.channelScales.size()) +
                               " scales for " + std::to_string(channels) + " channels");
    }
    if (!std::ranges::all_of(quantization.channelScales, isScale)) {
        return invalidArgument("a channel's scale is not positive and finite");
    }
    return {};
}

Status verifyQuantization(const TensorType& type) {
    if (!isQuantized(type.type)) {
        return {};
    }
    if (type.type == DataType::QUANT8_SYMM_PER_CHANNEL) {
        return verifyPerChannel(type);
    }
    const Quantization& quantization = type.quantization;
    if (!isScale(quantization.scale)) {
        return invalidArgument("the scale is not positive and finite");
    }
    const bool symmetric =
            type.type == DataType::QUANT8_SYMM || type.type == DataType::QUANT16_SYMM;
    const int32_t lowest = symmetric ? 0 : minValue(type.type);
    const int32_t highest = symmetric ? 0 : maxValue(type.type);
    if (quantization.zeroPoint < lowest || quantization.zeroPoint > highest) {
        return invalidArgument("the zero point " + std::to_string(quantization.zeroPoint) +
                               " is not in [" + std::to_string(lowest) + ", " +
                               std::to_string(highest) + "]");
    }
    return {};
}

Status verifyTensor(const Tensor& tensor) {
    HALYARD_RETURN_IF_ERROR(verifyQuantization(tensor.type));
    for (const int32_t extent : tensor.type.shape.extents()) {
        if (extent < 0 && extent != kUnknownDimension) {
            return invalidArgument("extent " + std::to_string(extent) + " is negative");
        }
    }
    if (!tensor.isConstant()) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t size, tensor.type.byteSize());
    const std::span<const uint8_t> bytes = tensor.constant.bytes;
    if (bytes.size() != size) {
        return invalidArgument("the constant takes " + std::to_string(size) + " bytes but has " +
                               std::to_string(bytes.size()));
    }
    if (reinterpret_cast<uintptr_t>(bytes.data()) % elementSize(tensor.type.type) != 0) {
        return invalidArgument("the constant is not aligned to its elements");
    }
    return {};
}

// Follows the nodes in order and knows which tensors have a value by then.
class OrderVerifier {
  public:
    explicit OrderVerifier(const Graph& graph)
        : mGraph(graph), mHasValue(graph.tensors().size(), false) {}

    Status run() {
        for (size_t i = 0; i < mHasValue.size(); ++i) {
            mHasValue[i] = mGraph.tensors()[i].isConstant();
        }
        for (size_t i = 0; i < mGraph.inputs().size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    define(mGraph.inputs()[i]).withContext("graph input " + std::to_string(i)));
        }
        for (const Node& node : mGraph.nodes()) {
            HALYARD_RETURN_IF_ERROR(verifyNode(node).withContext(node.label));
        }
        for (size_t i = 0; i < mGraph.outputs().size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    read(mGraph.outputs()[i]).withContext("graph output " + std::to_string(i)));
        }
        return {};
    }

  private:
    Status verifyNode(const Node& node) {
        if (std::holds_alternative<std::monostate>(node.descriptor)) {
            return invalidArgument("the node has no kind");
        }
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.inputs[i] != kNoTensor) {
                HALYARD_RETURN_IF_ERROR(
                        read(node.inputs[i]).withContext("input " + std::to_string(i)));
            }
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    define(node.outputs[i]).withContext("output " + std::to_string(i)));
        }
        return {};
    }

    Status inRange(TensorId id) const {
        if (id >= mHasValue.size()) {
            return invalidArgument(id == kNoTensor
                                           ? "may not be left out"
                                           : "tensor " + std::to_string(id) + " does not exist");
        }
        return {};
    }

    Status read(TensorId id) const {
        HALYARD_RETURN_IF_ERROR(inRange(id));
        if (!mHasValue[id]) {
            return invalidArgument("tensor " + std::to_string(id) + " has no value yet");
        }
        return {};
    }

    Status define(TensorId id) {
        HALYARD_RETURN_IF_ERROR(inRange(id));
        if (mGraph.tensor(id).isConstant()) {
            return invalidArgument("tensor " + std::to_string(id) + " is a constant");
        }
        if (mHasValue[id]) {
            return invalidArgument("tensor " + std::to_string(id) + " has a value already");
        }
        mHasValue[id] = true;
        return {};
    }

    const Graph& mGraph;
    std::vector<bool> mHasValue;
};

}  // namespace

Status verify(const Graph& graph) {
    for (size_t i = 0; i < graph.tensors().size(); ++i) {
        HALYARD_RETURN_IF_ERROR(
                verifyTensor(graph.tensors()[i]).withContext("tensor " + std::to_string(i)));
    }
    HALYARD_RETURN_IF_ERROR(OrderVerifier(graph).run());
    Graph inferred = graph;
    return inferGraphShapes(inferred);
}

}  // namespace halyard::engine
