// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/graph/shape_inference.h"
#include "engine/reference/inner_loops.h"
#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"

namespace halyard::engine::ref {
namespace {

// The rows (or columns) of a filter that lie on the input when the window starts at `start`, which
// is negative in the padding before the input.
Extent overlap(int64_t start, int64_t dilation, int64_t filter, int64_t input) {
    Extent range{.first = 0, .end = filter};
    if (start < 0) {
        range.first = (-start + dilation - 1) / dilation;
    }
    if (start + (filter - 1) * dilation >= input) {
        range.end = start >= input ? 0 : (input - 1 - start) / dilation + 1;
    }
    return range;
}

// The input rows (or columns) whose filter reaches a row of a transposed convolution's output, that
// of place `at` among all that the filters cover: row i does with the filter's row at - i * stride.
Extent reachedFrom(int64_t at, int64_t stride, int64_t filter, int64_t input) {
    const int64_t beforeFirst = at - filter;  // the last place that is out of reach
    return {.first = beforeFirst < 0 ? 0 : beforeFirst / stride + 1,
            .end = std::min(at / stride + 1, input)};
}

// One spatial position of the output and where the filter lies for it.
struct Pixel {
    int64_t index = 0;  // of the output spatial position, counted over batches
    int64_t batch = 0;
    int64_t top = 0;   // input row of the filter's first row
    int64_t left = 0;  // and column
    Extent rows;
    Extent columns;
};

// Calls body(pixel) for every spatial position of the output; the body counts its
// operations.
template <typename Body>
Status forEachPixel(const Window2d& window, const ResolvedWindow& resolved, const Shape& x,
                    const Shape& filter, const Shape& output, KernelCall& call, Body body) {
    const int64_t height = output[1];
    const int64_t width = output[2];
    return call.forEach(output[0] * height * width, 1, [&](int64_t index) {
        Pixel pixel;
        pixel.index = index;
        pixel.batch = index / (height * width);
        pixel.top = index / width % height * window.strideH - resolved.top;
        pixel.left = index % width * window.strideW - resolved.left;
        pixel.rows = overlap(pixel.top, window.dilationH, filter[1], x[1]);
        pixel.columns = overlap(pixel.left, window.dilationW, filter[2], x[2]);
        return body(pixel);
    });
}

}  // namespace

Status run(const Conv2d& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& filter = call.input(1).shape();
    const Shape& output = call.output(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    if (countOf(output) == 0) {
        return {};
    }
    const int64_t inputDepth = x[3];
    const int64_t depth = filter[3];  // of one group
    const int64_t channels = output[3];
    const int64_t channelsPerGroup = channels / node.groups;
    const auto compute = [&](const auto& arithmetic) {
        const auto computePixel = [&](const Pixel& at) -> Status {
            for (int64_t channel = 0; channel < channels; ++channel) {
                auto sum = arithmetic.start(channel);
                const int64_t group = channel / channelsPerGroup * depth;
                const auto add = [&](int64_t i, int64_t j, int64_t begin, int64_t end) {
                    const int64_t xRow = at.batch * x[1] + at.top + i * node.window.dilationH;
                    const int64_t xPixel = xRow * x[2] + at.left + j * node.window.dilationW;
                    const int64_t tap = (channel * filter[1] + i) * filter[2] + j;
                    sum = arithmetic.add(sum, xPixel * inputDepth + group + begin,
                                         tap * depth + begin, end - begin);
                };
                HALYARD_RETURN_IF_ERROR(forEachTap(call, at.rows, at.columns, depth, add));
                arithmetic.store(at.index * channels + channel, channel, sum);
            }
            return {};
        };
        return forEachPixel(node.window, resolved, x, filter, output, call, computePixel);
    };
    return withMultiplyAccumulate(call, node.activation, compute);
}

Status run(const DepthwiseConv2d& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& filter = call.input(1).shape();
    const Shape& output = call.output(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    if (countOf(output) == 0) {
        return {};
    }
    const int64_t depth = x[3];
    const int64_t channels = output[3];
    const auto compute = [&](const auto& arithmetic) {
        const auto computePixel = [&](const Pixel& at) -> Status {
            for (int64_t channel = 0; channel < channels; ++channel) {
                auto sum = arithmetic.start(channel);
                const auto add = [&](int64_t i, int64_t j, int64_t /*begin*/, int64_t /*end*/) {
                    const int64_t xRow = at.batch * x[1] + at.top + i * node.window.dilationH;
                    const int64_t xPixel = xRow * x[2] + at.left + j * node.window.dilationW;
                    sum = arithmetic.add(sum, xPixel * depth + channel / node.multiplier,
                                         (i * filter[2] + j) * channels + channel, 1);
                };
                HALYARD_RETURN_IF_ERROR(forEachTap(call, at.rows, at.columns, 1, add));
                arithmetic.store(at.index * channels + channel, channel, sum);
            }
            return {};
        };
        return forEachPixel(node.window, resolved, x, filter, output, call, computePixel);
    };
    return withMultiplyAccumulate(call, node.activation, compute);
}

// Gathers, for each spatial position of the output, what the input's spatial positions would
// scatter to it, so that each sum is requantised once.
Status run(const TransposeConv2d& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& filter = call.input(1).shape();
    const Shape& output = call.output(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveTransposeWindow(node.window, x[1], x[2], filter[1], filter[2],
                                                    output[1], output[2]));
    if (countOf(output) == 0) {
        return {};
    }
    const int64_t depth = x[3];
    const int64_t height = output[1];
    const int64_t width = output[2];
    const int64_t channels = output[3];
    const int64_t strideH = node.window.strideH;
    const int64_t strideW = node.window.strideW;
    return withMultiplyAccumulate(call, node.activation, [&](const auto& arithmetic) {
        return call.forEach(output[0] * height * width, 1, [&](int64_t pixel) -> Status {
            const int64_t batch = pixel / (height * width);
            const int64_t bottom = pixel / width % height + resolved.top;
            const int64_t right = pixel % width + resolved.left;
            const Extent rows = reachedFrom(bottom, strideH, filter[1], x[1]);
            const Extent columns = reachedFrom(right, strideW, filter[2], x[2]);
            for (int64_t channel = 0; channel < channels; ++channel) {
                auto sum = arithmetic.start(channel);
                const auto add = [&](int64_t i, int64_t j, int64_t begin, int64_t end) {
                    const int64_t xPixel = (batch * x[1] + i) * x[2] + j;
                    const int64_t filterRow = channel * filter[1] + bottom - i * strideH;
                    const int64_t tap = filterRow * filter[2] + right - j * strideW;
                    sum = arithmetic.add(sum, xPixel * depth + begin, tap * depth + begin,
                                         end - begin);
                };
                HALYARD_RETURN_IF_ERROR(forEachTap(call, rows, columns, depth, add));
                arithmetic.store(pixel * channels + channel, channel, sum);
            }
            return {};
        });
    });
}

}  // namespace halyard::engine::ref
