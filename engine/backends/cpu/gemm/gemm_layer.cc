// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/gemm_layer.h"

#include <algorithm>
#include <variant>

#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/grouped_conv.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {
namespace {

int64_t extentOf(const Shape& shape, size_t axis) {
    return !shape.hasKnownRank() || shape[axis] == kUnknownDimension ? kUnknownExtent : shape[axis];
}

// Of an int8 node.
float largestMultiplier(const Graph& graph, const Node& node) {
    const float x = graph.tensor(node.inputs[0]).type.quantization.scale;
    const float output = graph.tensor(node.outputs[0]).type.quantization.scale;
    const Quantization& weights = graph.tensor(node.inputs[1]).type.quantization;
    if (weights.channelScales.size() == 0) {
        return multiplier(x, weights.scale, output);
    }
    float largest = 0.0F;
    for (const float scale : weights.channelScales) {
        largest = std::max(largest, multiplier(x, scale, output));
    }
    return largest;
}

}  // namespace

GemmLayer gemmLayerOf(const Graph& graph, const Node& node, const ConvGemmFilter& filter) {
    const TensorType& x = graph.tensor(node.inputs[0]).type;
    const TensorType& output = graph.tensor(node.outputs[0]).type;
    GemmLayer layer;
    layer.elements = isOfBytes(x.type)             ? GemmLayer::Elements::INT8
                     : x.type == DataType::FLOAT16 ? GemmLayer::Elements::HALF
                                                   : GemmLayer::Elements::FLOAT;
    layer.outputC = filter.channels;
    layer.groups = filter.groups;
    layer.inputC = filter.depth() * filter.groups;
    layer.runs = filter.runs;
    layer.runLength = filter.runLength;
    layer.rows = kUnknownExtent;
    if (output.shape.isFullyKnown()) {
        layer.rows = 1;
        for (size_t axis = 0; axis + 1 < output.shape.rank(); ++axis) {
            layer.rows *= output.shape[axis];
        }
    }
    const auto* const convolution = std::get_if<Conv2d>(&node.descriptor);
    layer.isConvolution = convolution != nullptr;
    if (convolution != nullptr) {
        const Shape& weights = graph.tensor(node.inputs[1]).type.shape;
        layer.batches = extentOf(output.shape, 0);
        layer.outputH = extentOf(output.shape, 1);
        layer.outputW = extentOf(output.shape, 2);
        layer.filterH = weights[1];
        layer.filterW = weights[2];
        layer.inputC = int64_t{weights[3]} * filter.groups;
        layer.strideH = convolution->window.strideH;
        layer.strideW = convolution->window.strideW;
        layer.dilationH = convolution->window.dilationH;
        layer.dilationW = convolution->window.dilationW;
    }
    if (layer.elements == GemmLayer::Elements::INT8) {
        layer.keepsType = x.type == output.type;
        layer.largestMultiplier = largestMultiplier(graph, node);
    }
    return layer;
}

GemmLayer gemmLayerOf(const KernelArguments& arguments, const ConvGemmFilter& filter,
                      InstructionSet set) {
    const FloatGemm& form = floatGemm(set);
    GemmLayer layer = gemmLayerOf(arguments.graph, arguments.node, filter);
    layer.isRough = arguments.options.fastMath || arguments.graph.relaxedFloat();
    layer.fewRows = form.fewRows;
    layer.lanes = form.lanes;
    layer.depthTogether = quantizedGemm(set).depthGroup;
    layer.groupedTogether = groupedConv(set).bytesTogether;
    layer.threads = arguments.threads;
    return layer;
}

}  // namespace halyard::engine::cpu
