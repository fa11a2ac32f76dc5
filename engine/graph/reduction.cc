// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/control_input.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

const TypeSet& legalFor(Reduce::Function function) {
    switch (function) {
        case Reduce::Function::SUM:
        case Reduce::Function::PROD:
            return kFloats;
        case Reduce::Function::ALL:
        case Reduce::Function::ANY:
            return kBool8;
        default:
            return kReals;
    }
}

}  // namespace

Status inferShapes(const Reduce& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMapped(*inputs[0].type, outputs[0], legalFor(node.function)));
    HALYARD_RETURN_IF_ERROR(checkControlInput(inputs[1], 1, "the axes"));
    const Shape& x = inputs[0].shape();
    if (!x.hasKnownRank()) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    if (!isKnown(inputs[1])) {
        outputs[0].shape = node.keepDims ? unknownExtents(x.rank()) : Shape::unknownRank();
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

Status inferShapes(const ArgMinMax& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kNumbers));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[0], "the output", kInt32));
    const Shape& x = inputs[0].shape();
    if (!x.hasKnownRank()) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    std::array<int32_t, kMaxRank> kept = {1};  // a list gives one element, not a scalar
    size_t count = 0;
    for (size_t i = 0; i < x.rank(); ++i) {
        if (i != axis) {
            kept[count++] = x[i];
        }
    }
    const Shape shape(std::span<const int32_t>(kept).first(std::max<size_t>(count, 1)));
    const Result<int64_t> elements = shape.elementCount();
    if (x[axis] == 0 && elements.ok() && *elements > 0) {
        return invalidArgument("the input " + x.toString() + " has no elements along axis " +
                               std::to_string(axis));
    }
    outputs[0].shape = shape;
    return {};
}

}  // namespace halyard::engine
