// SPDX-License-Identifier: Apache-2.0
//
// Code that nodes which only move elements share. Input 0 of the node is moved into output 0.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/numerics/elements.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::ref {

// How many elements one index of the axis before `firstAxis` stands for.
inline int64_t countFrom(const Shape& shape, size_t firstAxis) {
    return countOf(Shape(shape.extents().subspan(firstAxis)));
}

// Output and input hold the same elements in the same order.
inline Status copyAll(KernelCall& call) {
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, call.output(0).type->byteSize());
    const auto* from = call.input(0).as<std::byte>();
    auto* const to = call.output(0).as<std::byte>();
    return call.inSlices(static_cast<int64_t>(bytes), 1, [&](int64_t begin, int64_t end) {
        std::copy(from + begin, from + end, to + begin);
    });
}

// The output, seen as a tensor of these extents, has at (i, j, ...) the element of x at the sum of
// source(0, i), source(1, j) and so on.
template <typename Source>
Status copyFrom(KernelCall& call, const Shape& shape, Source source) {
    const Shape extents = shape.rank() == 0 ? Shape{1} : shape;
    const size_t last = extents.rank() - 1;
    const int64_t row = extents[last];
    return withMovedElements(call.output(0).type->type, [&]<typename T>() -> Status {
        const T* x = call.input(0).as<T>();
        T* to = call.output(0).as<T>();
        return call.inSlices(countOf(extents), 1, [&](int64_t begin, int64_t end) {
            while (begin < end) {
                int64_t rowStart = 0;
                int64_t rest = begin / row;
                for (size_t axis = last; axis-- > 0;) {
                    rowStart += source(axis, rest % extents[axis]);
                    rest /= extents[axis];
                }
                const int64_t first = begin % row;
                const int64_t stop = std::min(end, begin - first + row);
                for (int64_t i = first; begin < stop; ++begin, ++i) {
                    to[begin] = x[rowStart + source(last, i)];
                }
            }
        });
    });
}

// The same by strides: source(axis, i) is i * strides[axis].
inline Status copyFrom(KernelCall& call, const Shape& extents,
                       const std::array<int64_t, kMaxRank>& strides) {
    return copyFrom(call, extents, [&](size_t axis, int64_t i) { return i * strides[axis]; });
}

// The real 0 as an element of the type, of which T is as large: the zero point where there is one,
// and otherwise no bits set.
template <typename T>
T zeroOf(const TensorType& type) {
    return static_cast<T>(isQuantized(type.type) ? type.quantization.zeroPoint : 0);
}

// Every element of the output becomes this one.
template <typename T>
Status fillAll(KernelCall& call, T element) {
    const TensorView& output = call.output(0);
    T* to = output.as<T>();
    return call.inSlices(countOf(output.shape()), 1, [&](int64_t begin, int64_t end) {
        std::fill(to + begin, to + end, element);
    });
}

}  // namespace halyard::engine::ref
