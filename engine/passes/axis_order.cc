// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/axis_order.h"

#include "engine/graph/control_input.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

std::optional<AxisOrder> AxisOrder::of(const Graph& graph, const Node& transpose) {
    const Shape& shape = graph.tensor(transpose.inputs[0]).type.shape;
    const KnownInput list =
            transpose.inputs.size() > 1 ? knownInput(graph, transpose.inputs[1]) : KnownInput();
    if (!shape.hasKnownRank() || (list.present() && !isKnown(list))) {
        return std::nullopt;
    }
    const Result<Permutation> permutation = readPermutation(list, shape.rank());
    if (!permutation.ok()) {
        return std::nullopt;
    }
    return AxisOrder({permutation->begin(), permutation->begin() + shape.rank()});
}

bool AxisOrder::isIdentity() const {
    for (size_t axis = 0; axis < mAxes.size(); ++axis) {
        if (mAxes[axis] != axis) {
            return false;
        }
    }
    return true;
}

AxisOrder AxisOrder::after(const AxisOrder& first) const {
    std::vector<size_t> axes;
    for (const size_t axis : mAxes) {
        axes.push_back(first[axis]);
    }
    return AxisOrder(std::move(axes));
}

AxisOrder AxisOrder::inverse() const {
    std::vector<size_t> axes(mAxes.size());
    for (size_t axis = 0; axis < mAxes.size(); ++axis) {
        axes[mAxes[axis]] = axis;
    }
    return AxisOrder(std::move(axes));
}

Shape AxisOrder::originalOf(const Shape& transposed) const {
    Shape original = transposed;
    for (size_t axis = 0; axis < mAxes.size(); ++axis) {
        original[mAxes[axis]] = transposed[axis];
    }
    return original;
}

}  // namespace halyard::engine
