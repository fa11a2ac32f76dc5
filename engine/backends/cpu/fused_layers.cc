// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/fused_layers.h"

#include <variant>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/gemm_layer.h"
#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

// Of the depthwise convolution. Where its filter is not square, windows are not resolved.
FusedFeatureMap mapOf(const Shape& x, const Shape& expanded, const Shape& output,
                      const Window2d& window, const Shape& filter) {
    FusedFeatureMap map = {.batches = x[0],
                           .outputHeight = output[1],
                           .outputWidth = output[2],
                           .channels = output[3],
                           .side = filter[1],
                           .strideH = window.strideH,
                           .strideW = window.strideW};
    if (const Result<FusedFeatureMap> resolved =
                FusedFeatureMap::of(expanded, output, window, filter[1]);
        filter[1] == filter[2] && resolved.ok()) {
        map = *resolved;
    }
    map.height = expanded[1];
    map.width = expanded[2];
    map.depth = x[3];
    return map;
}

}  // namespace

std::optional<FusionCandidate> fusionCandidate(const Graph& graph, const Partition& partition,
                                               const PartitionReaders& readers, size_t expansion,
                                               const CpuTarget& target, bool isStrict,
                                               size_t threads) {
    const auto nodeAt = [&](size_t position) -> const Node& {
        return graph.node(partition.nodes[position]);
    };
    const auto typeOfInput = [&](const Node& node, size_t input) -> const TensorType& {
        return graph.tensor(node.inputs[input]).type;
    };
    const auto typeOfOutput = [&](const Node& node) -> const TensorType& {
        return graph.tensor(node.outputs[0]).type;
    };
    const auto after = [&](size_t position) {
        return readers.onlyReader(nodeAt(position).outputs[0]);
    };
    const auto* const convolution = std::get_if<Conv2d>(&nodeAt(expansion).descriptor);
    std::optional<size_t> next = after(expansion);
    if (convolution == nullptr || !next.has_value()) {
        return std::nullopt;
    }
    FusionCandidate candidate = {.nodes = {expansion}, .projection = {}, .layers = {}};
    FusedLayers& layers = candidate.layers;
    if (nodeAt(*next).kind() == NodeKind::Activate) {
        candidate.nodes.push_back(*next);
        layers.activatesBetween = true;
        next = after(*next);
    }
    const auto* const depthwise =
            next.has_value() ? std::get_if<DepthwiseConv2d>(&nodeAt(*next).descriptor) : nullptr;
    if (depthwise == nullptr) {
        return std::nullopt;
    }
    candidate.nodes.push_back(*next);
    const Node& first = nodeAt(expansion);
    const Node& last = nodeAt(*next);
    const TensorType& x = typeOfInput(first, 0);
    const Shape& expanded = typeOfOutput(first).shape;
    const Shape& output = typeOfOutput(last).shape;
    if (!x.shape.isFullyKnown() || !expanded.isFullyKnown() || !output.isFullyKnown() ||
        countOf(output) == 0) {
        return std::nullopt;
    }
    const Shape& weights = typeOfInput(first, 1).shape;
    const Shape& filter = typeOfInput(last, 1).shape;
    layers.isInt8 = isOfBytes(x.type);
    layers.isFloat = x.type == DataType::FLOAT32;
    layers.isStrict = isStrict;
    layers.expandsPointwise = isPointwise(*convolution, weights);
    layers.expansionGroups = convolution->groups;
    layers.expansionDepth = int64_t{weights[1]} * weights[2] * weights[3];
    layers.map = mapOf(x.shape, expanded, output, depthwise->window, filter);
    layers.filterH = filter[1];
    layers.filterW = filter[2];
    layers.multiplier = depthwise->multiplier;
    layers.dilationH = depthwise->window.dilationH;
    layers.dilationW = depthwise->window.dilationW;
    layers.keepsType = typeOfInput(last, 0).type == x.type && typeOfOutput(last).type == x.type;
    const FloatGemm& form = floatGemm(target.set);
    layers.lanes = form.lanes;
    layers.tileLanes = form.tileLanes;
    layers.depthwiseLanes = floatDepthwise(target.set).lanes;
    layers.threads = threads;
    if (layers.isInt8) {
        layers.expansion = gemmLayerOf(
                graph, first,
                filterOf({.window = &convolution->window, .groups = convolution->groups}, weights,
                         kTilePanels.depthGroup));
    }
    candidate.projection = after(*next);
    if (candidate.projection.has_value()) {
        const Node& projection = nodeAt(*candidate.projection);
        const auto* const descriptor = std::get_if<Conv2d>(&projection.descriptor);
        const Shape& projected = typeOfOutput(projection).shape;
        layers.hasProjection =
                descriptor != nullptr && projected.isFullyKnown() && countOf(projected) > 0;
        if (layers.hasProjection) {
            layers.projectsPointwise = isPointwise(*descriptor, typeOfInput(projection, 1).shape);
            layers.projectionColumns = projected[3];
        }
    }
    return candidate;
}

}  // namespace halyard::engine::cpu
