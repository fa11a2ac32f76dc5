// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"

#include <variant>

#include "engine/backends/cpu/choice/fused_tiling.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {

bool isProfitableByChannels(const Graph& graph, const FusedPointwiseDepthwise& nodes,
                            const CpuTarget& target, size_t threads) {
    const auto* expansion = std::get_if<Conv2d>(&nodes.expansion.descriptor);
    const auto* depthwise = std::get_if<DepthwiseConv2d>(&nodes.depthwise.descriptor);
    if (expansion == nullptr || depthwise == nullptr) {
        return false;
    }
    const TensorType& x = graph.tensor(nodes.expansion.inputs[0]).type;
    const Shape& output = graph.tensor(nodes.depthwise.outputs[0]).type.shape;
    const Shape& filter = graph.tensor(nodes.depthwise.inputs[1]).type.shape;
    const Window2d& window = depthwise->window;
    if (!x.shape.isFullyKnown() || !output.isFullyKnown() || countOf(output) == 0 ||
        depthwise->multiplier != 1 || window.dilationH != 1 || window.dilationW != 1 ||
        filter[1] != filter[2] || (filter[1] != 3 && filter[1] != 5) ||
        !isPointwise(*expansion, graph.tensor(nodes.expansion.inputs[1]).type.shape)) {
        return false;
    }
    const Result<FusedFeatureMap> featureMap =
            FusedFeatureMap::of(x.shape, output, window, filter[1]);
    if (!featureMap.ok()) {
        return false;
    }
    return x.type == DataType::FLOAT32
                   ? floatsPayByChannels(*featureMap, target)
                   : isOfBytes(x.type) &&
                             bytesPayByChannels(graph, nodes, *featureMap, target, threads);
}

Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwise(
        const KernelArguments& arguments, const CpuTarget& target) {
    return typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT32
                   ? compileFusedPointwiseDepthwiseFloats(arguments, target)
                   : compileFusedPointwiseDepthwiseBytes(arguments, *amxInt8Gemm(target.set),
                                                         target);
}

}  // namespace halyard::engine::cpu
