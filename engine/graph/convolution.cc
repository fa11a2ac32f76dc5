// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

#include "engine/graph/control_input.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

Status inferShapes(const Conv2d& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.groups, 1, "the number of groups"));
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const Shape filter, asRank(inputs[1].shape(), 4, "the filter"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t depth,
                             divideExtent(x[3], node.groups, "the input's depth, in groups,"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(depth, "the input's depth", filter[3], "the filter's depth").status());
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t channels,
            sameExtent(filter[0], "the filter's output channels", bias[0], "the bias's length"));
    HALYARD_RETURN_IF_ERROR(
            divideExtent(channels, node.groups, "the output channels, in groups,").status());
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 0, channels));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow window,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    outputs[0].shape = {x[0], window.outputH, window.outputW, channels};
    return {};
}

Status inferShapes(const DepthwiseConv2d& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.multiplier, 1, "the depth multiplier"));
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const Shape filter, asRank(inputs[1].shape(), 4, "the filter"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(filter[0], "the filter's first extent", 1, "the 1 it has to be").status());
    HALYARD_ASSIGN_OR_RETURN(
            int32_t channels,
            multiplyExtents(x[3], node.multiplier, "the input's depth times the multiplier"));
    HALYARD_ASSIGN_OR_RETURN(
            channels, sameExtent(channels, "the input's depth times the multiplier", filter[3],
                                 "the filter's depth"));
    HALYARD_ASSIGN_OR_RETURN(
            channels, sameExtent(channels, "the output channels", bias[0], "the bias's length"));
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 3, channels));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow window,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    outputs[0].shape = {x[0], window.outputH, window.outputW, channels};
    return {};
}

Status inferShapes(const TransposeConv2d& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const Shape filter, asRank(inputs[1].shape(), 4, "the filter"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(x[3], "the input's depth", filter[3], "the filter's depth").status());
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t channels,
            sameExtent(filter[0], "the filter's output channels", bias[0], "the bias's length"));
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 0, channels));
    const KnownInput& outputShape = inputs[3];
    if (outputShape.present() == (node.window.padding == PaddingScheme::EXPLICIT)) {
        return invalidArgument("explicit padding excludes an output shape, any other asks for one");
    }
    int32_t height = kUnknownDimension;
    int32_t width = kUnknownDimension;
    if (outputShape.present()) {
        HALYARD_RETURN_IF_ERROR(checkList(outputShape, "the output shape", 4));
        if (isKnown(outputShape)) {
            HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> extents,
                                     readList(outputShape, "an extent of the output shape", 0));
            height = extents[1];
            width = extents[2];
        }
    }
    HALYARD_ASSIGN_OR_RETURN(
            const ResolvedWindow window,
            resolveTransposeWindow(node.window, x[1], x[2], filter[1], filter[2], height, width));
    outputs[0].shape = {x[0], window.outputH, window.outputW, channels};
    return {};
}

}  // namespace halyard::engine
