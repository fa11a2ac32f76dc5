// SPDX-License-Identifier: Apache-2.0
//
// Pictures of another size. Where a pixel of the output comes from is LiteRT's rule, in float32,
// step by step: a position that is rounded otherwise may be another pixel. Between pixels XNNPACK
// has centres at i * scale + (scale / 2 - 1 / 2); the nearest is TensorFlow Lite's own.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "engine/backends/ref/kernels.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/interpolation.h"

namespace halyard::engine::ref {
namespace {

// Height or width: which pixels of x make up those of the output.
class Axis {
  public:
    Axis(const Resize& node, int32_t input, int32_t output)
        : mAlignCorners(node.alignCorners),
          mHalfPixelCenters(node.halfPixelCenters),
          mInput(input),
          mScale(node.alignCorners && output > 1
                         ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                         : static_cast<float>(input) / static_cast<float>(output)) {}

    int64_t nearest(int64_t i) const {
        const float position = (static_cast<float>(i) + offset()) * mScale;
        return clamp(mAlignCorners ? std::round(position) : std::floor(position));
    }

    // The pixels next to the place that the output's pixel has in x, and how much of it the second
    // one has. Where it has none of it both are the same pixel, as they are at the edge.
    struct Neighbours {
        int64_t low = 0;
        int64_t high = 0;
        float share = 0.0F;
    };
    Neighbours neighbours(int64_t i) const {
        float position = static_cast<float>(i) * mScale;
        if (mHalfPixelCenters) {
            position += 0.5F * mScale - 0.5F;
        }
        position = std::clamp(position, 0.0F, static_cast<float>(mInput - 1));
        const int64_t low = clamp(position);
        const float share = position - static_cast<float>(low);
        return {.low = low, .high = share == 0.0F ? low : clamp(low + 1), .share = share};
    }

  private:
    float offset() const { return mHalfPixelCenters ? 0.5F : 0.0F; }
    int64_t clamp(auto pixel) const {
        return std::clamp<int64_t>(static_cast<int64_t>(pixel), 0, mInput - 1);
    }

    bool mAlignCorners;
    bool mHalfPixelCenters;
    int64_t mInput;
    float mScale;
};

// Calls body(row, column, to, from) for every pixel of the output, which counts the operations for
// its channels: those begin at `to` in the output, and at from(row, column) for a pixel of x.
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
