// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/weighted_sum.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine::ref {
namespace {

// The rows (or columns) of a filter that lie on the input when the window starts at `start`, which
// is negative in the padding before the input: positions [first, end).
struct Overlap {
    int64_t first = 0;
    int64_t end = 0;
};

Overlap overlap(int64_t start, int64_t dilation, int64_t filter, int64_t input) {
    Overlap range{.first = 0, .end = filter};
    if (start < 0) {
        range.first = (-start + dilation - 1) / dilation;
    }
    if (start + (filter - 1) * dilation >= input) {
        range.end = start >= input ? 0 : (input - 1 - start) / dilation + 1;
    }
    return range;
}

// One pixel of the output and where the filter lies for it.
struct Pixel {
    int64_t index = 0;  // of the output pixel, counted over batches
    int64_t batch = 0;
    int64_t top = 0;   // input row of the filter's first row
    int64_t left = 0;  // and column
    Overlap rows;
    Overlap columns;
};

template <typename Body>
void forEachPixel(const Window2d& window, const ResolvedWindow& resolved, const Shape& x,
                  int32_t filterH, int32_t filterW, const Shape& output, Body body) {
    Pixel pixel;
    for (pixel.batch = 0; pixel.batch < output[0]; ++pixel.batch) {
        for (int64_t row = 0; row < output[1]; ++row) {
            pixel.top = row * window.strideH - resolved.top;
            pixel.rows = overlap(pixel.top, window.dilationH, filterH, x[1]);
            for (int64_t column = 0; column < output[2]; ++column) {
                pixel.left = column * window.strideW - resolved.left;
                pixel.columns = overlap(pixel.left, window.dilationW, filterW, x[2]);
                body(pixel);
                ++pixel.index;
            }
        }
    }
}

}  // namespace

Status supports(const Conv2d& /*node*/, TypeList inputs, TypeList outputs) {
    return supportWeightedSum(inputs, outputs);
}

Status supports(const DepthwiseConv2d& /*node*/, TypeList inputs, TypeList outputs) {
    return supportWeightedSum(inputs, outputs);
}

Status run(const Conv2d& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs) {
    const Shape& x = inputs[0].shape();
    const Shape& filter = inputs[1].shape();
    const Shape& output = outputs[0].shape();
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    if (countOf(output) == 0) {
        return {};
    }
    const int64_t depth = x[3];
    const int64_t channels = output[3];
    // Without channels there is nothing to add, however large the filter claims to be.
    const int32_t filterH = depth == 0 ? 0 : filter[1];
    return withWeightedSum(inputs, outputs[0], node.activation, [&](const auto& arithmetic) {
        forEachPixel(node.window, resolved, x, filterH, filter[2], output, [&](const Pixel& at) {
            for (int64_t channel = 0; channel < channels; ++channel) {
                auto sum = arithmetic.start(channel);
                for (int64_t i = at.rows.first; i < at.rows.end; ++i) {
                    const int64_t xRow =
                            (at.batch * x[1] + at.top + i * node.window.dilationH) * x[2];
                    const int64_t filterRow = (channel * filter[1] + i) * filter[2];
                    for (int64_t j = at.columns.first; j < at.columns.end; ++j) {
                        const int64_t xColumn = at.left + j * node.window.dilationW;
                        sum = arithmetic.add(sum, (xRow + xColumn) * depth, (filterRow + j) * depth,
                                             depth);
                    }
                }
                arithmetic.store(at.index * channels + channel, channel, sum);
            }
        });
    });
}

Status run(const DepthwiseConv2d& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs) {
    const Shape& x = inputs[0].shape();
    const Shape& filter = inputs[1].shape();
    const Shape& output = outputs[0].shape();
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    if (countOf(output) == 0) {
        return {};
    }
    const int64_t depth = x[3];
    const int64_t channels = output[3];
    return withWeightedSum(inputs, outputs[0], node.activation, [&](const auto& arithmetic) {
        forEachPixel(node.window, resolved, x, filter[1], filter[2], output, [&](const Pixel& at) {
            for (int64_t channel = 0; channel < channels; ++channel) {
                auto sum = arithmetic.start(channel);
                for (int64_t i = at.rows.first; i < at.rows.end; ++i) {
                    const int64_t xRow =
                            (at.batch * x[1] + at.top + i * node.window.dilationH) * x[2];
                    for (int64_t j = at.columns.first; j < at.columns.end; ++j) {
                        const int64_t xColumn = at.left + j * node.window.dilationW;
                        sum = arithmetic.add(sum,
                                             (xRow + xColumn) * depth + channel / node.multiplier,
                                             (i * filter[2] + j) * channels + channel, 1);
                    }
                }
                arithmetic.store(at.index * channels + channel, channel, sum);
            }
        });
    });
}

}  // namespace halyard::engine::ref
