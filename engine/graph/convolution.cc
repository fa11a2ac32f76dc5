// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

Status inferShapes(const Conv2d& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 3, outputs));
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const Shape filter, asRank(inputs[1].shape(), 4, "the filter"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(x[3], "the input's depth", filter[3], "the filter's depth").status());
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t channels,
            sameExtent(filter[0], "the filter's output channels", bias[0], "the bias's length"));
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 0, channels));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow window,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    outputs[0].shape = {x[0], window.outputH, window.outputW, channels};
    return {};
}

Status inferShapes(const DepthwiseConv2d& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 3, outputs));
    if (node.multiplier < 1) {
        return invalidArgument("the depth multiplier " + std::to_string(node.multiplier) +
                               " must be positive");
    }
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const Shape filter, asRank(inputs[1].shape(), 4, "the filter"));
    HALYARD_ASSIGN_OR_RETURN(const Shape bias, asRank(inputs[2].shape(), 1, "the bias"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(filter[0], "the filter's first extent", 1, "the 1 it has to be").status());
    HALYARD_ASSIGN_OR_RETURN(int32_t channels, sameExtent(filter[3], "the filter's depth", bias[0],
                                                          "the bias's length"));
    if (x[3] != kUnknownDimension) {
        const int64_t product = static_cast<int64_t>(x[3]) * node.multiplier;
        if (product > std::numeric_limits<int32_t>::max()) {
            return invalidArgument("the depth multiplier " + std::to_string(node.multiplier) +
                                   " gives too many channels");
        }
        HALYARD_ASSIGN_OR_RETURN(channels, sameExtent(static_cast<int32_t>(product),
                                                      "the input's depth times the multiplier",
                                                      channels, "the output channels"));
    }
    HALYARD_RETURN_IF_ERROR(checkWeights(inputs, outputs[0], 3, channels));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow window,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    outputs[0].shape = {x[0], window.outputH, window.outputW, channels};
    return {};
}

}  // namespace halyard::engine
