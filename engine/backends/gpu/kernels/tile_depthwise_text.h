// SPDX-License-Identifier: Apache-2.0
//
// A depthwise convolution fused behind a tile: its window over the tile.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// Behind kMultiplyAccumulateText and kTileAccumulateText. With DEPTHWISE the kernel has
// DEPTHWISE_PARAMETERS, and depthwise(values, weights, start, multiplier, d, numbers) is an element
// of the output: of the tile's values in local memory, SUM_ROW apart, of which `values` is under
// the window's first tap.
inline constexpr std::string_view kTileDepthwiseText = R"(
#ifdef DEPTHWISE
typedef struct {
    int stride_h;
    int stride_w;
    int top;
    int left;
    int dilation_h;
    int dilation_w;
    int output_h;
    int output_w;
    int tile_h;
    int tile_w;
    int tiles_h;
    int tiles_w;
    int halo_h;
    int halo_w;
} Window;
#define DEPTHWISE_PARAMETERS \
    , IN(pv), IN(window_bias), IN(window_multipliers), const Window d, \
            const SumNumbers window_numbers

// Of bytes `weights` are without their zero point, and `start` is less x's for each of them.
#ifdef QUANTIZED
#define ADD_TAP(sum, x, w) (sum) + (uint)((x) * (w))
#else
#define ADD_TAP(sum, x, w) ADD(sum, x, w)
#endif
VALUE(R) depthwise(const __local VALUE(X)* values, const VALUE(V)* weights, const SUM start,
                   const float multiplier, const Window d, const SumNumbers numbers) {
    SUM sum = start;
UNROLL
    for (int i = 0; i < FILTER_H; ++i) {
UNROLL
        for (int j = 0; j < FILTER_W; ++j) {
            sum = ADD_TAP(sum, values[(i * d.dilation_h * d.halo_w + j * d.dilation_w) * SUM_ROW],
                          weights[i * FILTER_W + j]);
        }
    }
    return FINISH_WITH(sum, multiplier);
}
#else
#define DEPTHWISE_PARAMETERS
#endif
)";

}  // namespace halyard::engine::gpu
