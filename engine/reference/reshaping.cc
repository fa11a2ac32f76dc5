// SPDX-License-Identifier: Apache-2.0
//
// The elements stay as they are; their shape or their order changes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/graph/control_input.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {

Status run(const Reshape& /*node*/, KernelCall& call) {
    return copyAll(call);
}

Status run(const Squeeze& /*node*/, KernelCall& call) {
    return copyAll(call);
}

Status run(const ExpandDims& /*node*/, KernelCall& call) {
    return copyAll(call);
}

Status run(const Transpose& /*node*/, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const Permutation permutation,
                             readPermutation(call.input(1), x.rank()));
    const Strides dense = stridesOf(x);
    Strides permuted{};
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        permuted[axis] = dense[permutation[axis]];
    }
    return copyFrom(call, call.output(0).shape(), permuted);
}

Status run(const Reverse& /*node*/, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t reversed, readAxis(call.input(1), x.rank()));
    const Strides strides = stridesOf(x);
    return copyFrom(call, x, [&](size_t axis, int64_t i) {
        return (axis == reversed ? x[axis] - 1 - i : i) * strides[axis];
    });
}

Status run(const ChannelShuffle& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    if (countOf(x) == 0) {
        return {};
    }
    const auto inner = static_cast<int32_t>(countFrom(x, axis + 1));
    const int32_t each = x[axis] / node.groups;
    const auto outer = static_cast<int32_t>(countOf(x) / countFrom(x, axis));
    const int64_t channel = inner;
    return copyFrom(call, {outer, each, node.groups, inner},
                    Strides{x[axis] * channel, channel, each * channel, 1});
}

Status run(const Fill& /*node*/, KernelCall& call) {
    const ConstTensorView& value = call.input(1);
    return withMovedElements(value.type->type,
                             [&]<typename T>() { return fillAll(call, *value.as<T>()); });
}

Status run(const Rank& /*node*/, KernelCall& call) {
    *call.output(0).as<int32_t>() = static_cast<int32_t>(call.input(0).shape().rank());
    return {};
}

}  // namespace halyard::engine::ref
