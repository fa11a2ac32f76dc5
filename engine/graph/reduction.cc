// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "engine/graph/control_input.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

Status inferShapes(const Reduce& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkCounts(inputs, 2, outputs));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "the input", outputs[0], "the output"));
    HALYARD_RETURN_IF_ERROR(checkControlInput(inputs[1], 1, "the axes"));
    const Shape& x = inputs[0].shape();
    if (!x.hasKnownRank()) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    if (!isKnown(inputs[1])) {
        outputs[0].shape = Shape::unknownRank();
        if (node.keepDims) {
            HALYARD_ASSIGN_OR_RETURN(outputs[0].shape,
                                     asRank(Shape::unknownRank(), x.rank(), "the output"));
        }
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const std::bitset<kMaxRank> reduced, readAxes(inputs[1], x.rank()));
    std::array<int32_t, kMaxRank> kept;
    size_t count = 0;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        if (!reduced[axis]) {
            kept[count++] = x[axis];
        } else if (node.keepDims) {
            kept[count++] = 1;
        }
    }
    if (count == 0 && x.rank() > 0) {
        kept[count++] = 1;  // nothing is left: one element, not a scalar
    }
    outputs[0].shape = Shape(std::span<const int32_t>(kept).first(count));
    return {};
}

}  // namespace halyard::engine
