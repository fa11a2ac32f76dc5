// SPDX-License-Identifier: Apache-2.0
//
// Feature maps of another size.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/numerics/elements.h"
#include "engine/numerics/interpolation.h"
#include "engine/numerics/resized_axis.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

using Axis = ResizedAxis;

// Calls body(row, column, to, from) for every spatial position of the output, which counts the
// operations for its channels: those begin at `to` in the output, and at from(row, column) for a
// spatial position of x.
template <typename Body>
Status forEachPixel(KernelCall& call, Body body) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const int64_t height = output[1];
    const int64_t width = output[2];
    const int64_t depth = output[3];
    return call.forEach(output[0] * height * width, 1, [&](int64_t pixel) {
        const int64_t batch = pixel / (height * width);
        return body(pixel / width % height, pixel % width, pixel * depth,
                    [&](int64_t i, int64_t j) { return ((batch * x[1] + i) * x[2] + j) * depth; });
    });
}

Status moveNearest(const Axis& rows, const Axis& columns, KernelCall& call) {
    const int64_t depth = call.output(0).shape()[3];
    return withMovedElements(call.output(0).type->type, [&]<typename T>() -> Status {
        const T* x = call.input(0).as<T>();
        T* output = call.output(0).as<T>();
        return forEachPixel(call, [&](int64_t i, int64_t j, int64_t to, auto pixelOfX) {
            const T* const from = x + pixelOfX(rows.nearest(i), columns.nearest(j));
            return call.inSlices(depth, 1, [&](int64_t begin, int64_t end) {
                std::copy(from + begin, from + end, output + to + begin);
            });
        });
    });
}

// Quantised elements are weighted as they are stored, which input and output have in common
// (interpolation.h).
Status interpolate(const Axis& rows, const Axis& columns, KernelCall& call) {
    const TensorType& type = *call.output(0).type;
    const int64_t depth = type.shape[3];
    return withElements(type.type, [&]<typename T>() -> Status {
        const T* x = call.input(0).as<T>();
        T* output = call.output(0).as<T>();
        return forEachPixel(call, [&](int64_t i, int64_t j, int64_t to, auto pixelOfX) {
            const Axis::Neighbours row = rows.neighbours(i);
            const Axis::Neighbours column = columns.neighbours(j);
            const T* const topLeft = x + pixelOfX(row.low, column.low);
            const T* const topRight = x + pixelOfX(row.low, column.high);
            const T* const bottomLeft = x + pixelOfX(row.high, column.low);
            const T* const bottomRight = x + pixelOfX(row.high, column.high);
            if constexpr (std::is_integral_v<T>) {
                const int32_t right = fixedShare(column.share);
                const int32_t bottom = fixedShare(row.share);
                return call.forEach(depth, 4, [&](int64_t channel) {
                    output[to + channel] = static_cast<T>(engine::interpolate(
                            topLeft[channel], topRight[channel], bottomLeft[channel],
                            bottomRight[channel], right, bottom));
                });
            } else {
                return call.forEach(depth, 4, [&](int64_t channel) {
                    const auto value = [&](const T* pixel) { return toReal(pixel[channel]); };
                    const float mixed =
                            value(topLeft) * (1.0F - row.share) * (1.0F - column.share) +
                            value(bottomLeft) * row.share * (1.0F - column.share) +
                            value(topRight) * (1.0F - row.share) * column.share +
                            value(bottomRight) * row.share * column.share;
                    output[to + channel] = fromReal<T>(mixed);
                });
            }
        });
    });
}

}  // namespace

Status run(const Resize& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    if (countOf(output) == 0) {
        return {};
    }
    const Axis rows(node, x[1], output[1]);
    const Axis columns(node, x[2], output[2]);
    return node.function == Resize::Function::NEAREST ? moveNearest(rows, columns, call)
                                                      : interpolate(rows, columns, call);
}

}  // namespace halyard::engine::ref
