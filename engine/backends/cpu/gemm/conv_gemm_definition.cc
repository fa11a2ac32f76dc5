// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"

#include <utility>

#include "engine/backends/cpu/gemm/weights.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine::cpu {
namespace {

Shape withAxesSwapped(const Shape& shape) {
    return {shape[0], shape[2], shape[1], shape[3]};
}

Window2d withAxesSwapped(Window2d window) {
    std::swap(window.top, window.left);
    std::swap(window.bottom, window.right);
    std::swap(window.strideH, window.strideW);
    std::swap(window.dilationH, window.dilationW);
    return window;
}

// Whether height and width can change places: with a width of 1 on all sides tensors lie the same
// in either order.
bool isColumn(const KernelArguments& arguments) {
    const auto isOneWide = [&](TensorId id) {
        const Shape& shape = typeOf(arguments, id).shape;
        return shape.hasKnownRank() && shape[2] == 1;
    };
    const Node& node = arguments.node;
    return isOneWide(node.inputs[0]) && isOneWide(node.inputs[1]) && isOneWide(node.outputs[0]) &&
           typeOf(arguments, node.inputs[1]).shape[1] > 1;
}

}  // namespace

Result<GemmShape> ConvGemmDefinition::shapeFor(const Shape& given, const Shape& result) const {
    if (phase.has_value()) {
        return phase->shapeFor(given, result);
    }
    const Shape x = swapsAxes ? withAxesSwapped(given) : given;
    const Shape output = swapsAxes ? withAxesSwapped(result) : result;
    GemmShape shape;
    shape.outputC = filter.channels;
    shape.groups = filter.groups;
    if (!window.has_value()) {
        shape.inputC = filter.depth();
        shape.inputW = shape.outputW = output[0];
        return shape;
    }
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(*window, x[1], x[2], static_cast<int32_t>(filterH),
                                           static_cast<int32_t>(filterW)));
    shape.batches = x[0];
    shape.inputH = x[1];
    shape.inputW = x[2];
    shape.inputC = x[3];
    shape.outputH = output[1];
    shape.outputW = output[2];
    shape.filterH = filterH;
    shape.filterW = filterW;
    shape.strideH = window->strideH;
    shape.strideW = window->strideW;
    shape.dilationH = window->dilationH;
    shape.dilationW = window->dilationW;
    shape.top = resolved.top;
    shape.left = resolved.left;
    return shape;
}

ConvGemmFilter filterOf(const ConvGemmNode& node, const Shape& weights, int64_t multiple) {
    ConvGemmFilter filter{.channels = weights[0], .groups = node.groups};
    if (node.window == nullptr) {
        filter.runLength = weights[1];
    } else {
        // As ConvGemmPlan merges neighbouring taps.
        const bool merged = node.groups == 1 && node.window->dilationW == 1;
        filter.runs = merged ? weights[1] : int64_t{weights[1]} * weights[2];
        filter.runLength = merged ? int64_t{weights[2]} * weights[3] : weights[3];
    }
    filter.paddedRun = (filter.runLength + multiple - 1) / multiple * multiple;
    return filter;
}

ConvGemmDefinition convGemmDefinition(const ConvGemmNode& node, const KernelArguments& arguments,
                                      int64_t multiple, const CpuTuning& tuning) {
    Shape weights = typeOf(arguments, arguments.node.inputs[1]).shape;
    ConvGemmDefinition definition;
    ConvGemmNode own = node;
    if (node.window != nullptr) {
        definition.swapsAxes = isColumn(arguments);
        if (definition.swapsAxes) {
            weights = withAxesSwapped(weights);
        }
        definition.window = definition.swapsAxes ? withAxesSwapped(*node.window) : *node.window;
        definition.filterH = weights[1];
        definition.filterW = weights[2];
        own.window = &*definition.window;
    }
    definition.activation = node.activation;
    definition.filter = filterOf(own, weights, multiple);
    definition.threads = arguments.threads;
    definition.tuning = tuning;
    return definition;
}

bool isPointwise(const Conv2d& node, const Shape& weights) {
    const Window2d& window = node.window;
    const bool pads =
            window.padding == PaddingScheme::EXPLICIT &&
            (window.top != 0 || window.bottom != 0 || window.left != 0 || window.right != 0);
    return node.groups == 1 && weights[1] == 1 && weights[2] == 1 && window.strideH == 1 &&
           window.strideW == 1 && !pads;
}

}  // namespace halyard::engine::cpu
