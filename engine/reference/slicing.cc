// SPDX-License-Identifier: Apache-2.0
//
// Parts of a tensor, and tensors with something around them or repeated.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/control_input.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/numerics/requantize.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

Status copySlice(KernelCall& call, const SliceRanges& ranges) {
    const Shape& x = call.input(0).shape();
    const Strides strides = stridesOf(x);
    Shape extents = x;  // with the axes that go, which have one element
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        extents[axis] = ranges[axis].extent;
    }
    return copyFrom(call, extents, [&](size_t axis, int64_t i) {
        return (ranges[axis].begin + i * ranges[axis].stride) * strides[axis];
    });
}

// The element of [0, extent) that a mirror at either end shows at `i`, which is less than another
// extent away. REFLECT leaves out the edge.
int64_t mirrored(int64_t i, int64_t extent, Pad::Mode mode) {
    const int64_t edge = mode == Pad::Mode::SYMMETRIC ? 1 : 0;
    if (i < 0) {
        return -i - edge;
    }
    return i < extent ? i : 2 * extent - 2 + edge - i;
}

// Around x, whose type is `type`; T is as large as its elements.
template <typename T>
Result<T> paddingElement(const ConstTensorView& value, const TensorType& type) {
    if (!value.present()) {
        return zeroOf<T>(type);
    }
    if (!isQuantized(type.type)) {
        return *value.as<T>();
    }
    const int32_t element = *value.as<int32_t>();
    const QuantizedRange range = rangeOf(type.type);
    if (element < range.low || element > range.high) {
        return invalidArgument("the padding value is " + std::to_string(element) + ", not " +
                               std::to_string(range.low) + ".." + std::to_string(range.high));
    }
    return static_cast<T>(element);
}

}  // namespace

Status run(const Slice& /*node*/, KernelCall& call) {
    const std::array<ConstTensorView, 3> inputs = {call.input(0), call.input(1), call.input(2)};
    HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges, readSlice(inputs, inputs[0].shape()));
    return copySlice(call, ranges);
}

Status run(const StridedSlice& node, KernelCall& call) {
    const std::array<ConstTensorView, 4> inputs = {call.input(0), call.input(1), call.input(2),
                                                   call.input(3)};
    HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges,
                             readStridedSlice(node, inputs, inputs[0].shape()));
    return copySlice(call, ranges);
}

Status run(const Pad& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    const size_t rank = output.shape().rank();
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(call.input(1), rank));
    if (node.mode != Pad::Mode::CONSTANT) {
        const Strides strides = stridesOf(x.shape());
        return copyFrom(call, output.shape(), [&](size_t axis, int64_t i) {
            return mirrored(i - paddings[axis].before, x.shape()[axis], node.mode) * strides[axis];
        });
    }
    const Strides strides = stridesOf(output.shape());
    int64_t origin = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
        origin += paddings[axis].before * strides[axis];
    }
    return withMovedElements(output.type->type, [&]<typename T>() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const T value, paddingElement<T>(call.input(2), *output.type));
        HALYARD_RETURN_IF_ERROR(fillAll(call, value));
        const T* from = x.as<T>();
        T* to = output.as<T>() + origin;
        return walk(x.shape(), std::array<Strides, 1>{strides}, call,
                    [&](const std::array<int64_t, 1>& at) { to[at[0]] = *from++; });
    });
}

Status run(const Tile& /*node*/, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Strides strides = stridesOf(x);
    return copyFrom(call, call.output(0).shape(), [&](size_t axis, int64_t i) {
        return x.rank() == 0 ? 0 : i % x[axis] * strides[axis];
    });
}

}  // namespace halyard::engine::ref
