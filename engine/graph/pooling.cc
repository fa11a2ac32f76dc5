// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// A window without a single element has neither an average nor a maximum. Padding below the
// filter's extent (NNAPI's rule, too) and an input with elements exclude it.
Status checkWindowsAreInhabited(const ResolvedWindow& window, const Pool2d& node, const Shape& x) {
    if (window.top >= node.filterH || window.bottom >= node.filterH ||
        window.left >= node.filterW || window.right >= node.filterW) {
        return invalidArgument("the padding must be smaller than the filter (" +
                               std::to_string(node.filterH) + " x " + std::to_string(node.filterW) +
                               ")");
    }
    if ((x[1] == 0 || x[2] == 0) && window.outputH != 0 && window.outputW != 0) {
        return invalidArgument("the input " + x.toString() + " has no elements to pool");
    }
    return {};
}

}  // namespace

Status inferShapes(const Pool2d& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& input = *inputs[0].type;
    HALYARD_RETURN_IF_ERROR(checkMapped(input, outputs[0],
                                        node.function == Pool2d::Function::L2 ? kFloats : kReals));
    if (node.function == Pool2d::Function::MAX) {
        HALYARD_RETURN_IF_ERROR(checkSameElements(input, "the input", outputs[0], "the output"));
    }
    if (node.window.dilationH != 1 || node.window.dilationW != 1) {
        return invalidArgument("a pooling window has no dilation");
    }
    if (node.filterH < 1 || node.filterW < 1) {
        return invalidArgument("the filter (" + std::to_string(node.filterH) + " x " +
                               std::to_string(node.filterW) + ") must be positive");
    }
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow window,
                             resolveWindow(node.window, x[1], x[2], node.filterH, node.filterW));
    HALYARD_RETURN_IF_ERROR(checkWindowsAreInhabited(window, node, x));
    outputs[0].shape = {x[0], window.outputH, window.outputW, x[3]};
    return {};
}

}  // namespace halyard::engine
