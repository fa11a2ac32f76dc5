// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and FullyConnected share their geometry, their sums, and the requantisation of a sum
// to an element of the output. Inputs of the node: x, weights, bias.

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/backends/gpu/programs/define.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// A copy of the kernels' struct.
struct SumNumbers {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    int32_t xZero = 0;
    int32_t weightZero = 0;
    int32_t zero = 0;
    int32_t least = 0;
    int32_t most = 0;
    int32_t multiplierStride = 0;  // from one channel's multiplier to the next one's
};

// The arguments behind a kernel's own.
struct MultiplyAccumulate {
    Operand multipliers;  // float32, of the channels or of all of them; unused where not quantised
    SumNumbers numbers;
};

// Of node `which` of the step.
MultiplyAccumulate multiplyAccumulateOf(StepPlan& step, Activation activation, size_t which = 0);

// How a kernel's x, weights and output are stored, whether sums are those of bytes, and the
// weights' zero point where their type says it: X, W, R, QUANTIZED and WEIGHT_ZERO.
std::string storageDefines(const StepPlan& step);

// Of a convolution, or of the rows of a GEMM as 1x1 feature maps. A copy of the kernels' struct.
struct Geometry {
    int32_t height = 1;
    int32_t width = 1;
    int32_t depth = 1;
    int32_t filterH = 1;
    int32_t filterW = 1;
    int32_t outputH = 1;
    int32_t outputW = 1;
    int32_t channels = 1;
    int32_t strideH = 1;
    int32_t strideW = 1;
    int32_t top = 0;
    int32_t left = 0;
    int32_t dilationH = 1;
    int32_t dilationW = 1;
    int32_t positions = 1;         // of the output, of all batches
    int32_t groupDepth = 1;        // channels of x that one of the output reads
    int32_t channelsPerGroup = 1;  // of the output; of a depthwise one, for each of x

    // Of an element of the output.
    int32_t gemmDepth() const { return filterH * filterW * groupDepth; }
    int32_t groups() const { return channels / channelsPerGroup; }
    int64_t positionsOfFeatureMap() const { return int64_t{outputH} * outputW; }
    int64_t featureMaps() const { return positions / positionsOfFeatureMap(); }
    // Whether it is a GEMM: each position of the output reads the one of x at its place alone.
    bool isPointwise() const {
        return filterH == 1 && filterW == 1 && strideH == 1 && strideW == 1 && top == 0 &&
               left == 0 && height == outputH && width == outputW;
    }
    // All its numbers.
    std::string toString() const;
};

// For texts of kernels: the two structs, and START(channel), ADD(sum, x, w) and FINISH(sum,
// channel), which read `bias`, `multipliers` and `numbers`, names of the function they stand in. A
// channel's own numbers can be read before, with START_OF(bias, channel) and
// MULTIPLIER(multipliers, numbers, channel), for FINISH_WITH(sum, multiplier). PARAMETERS, BIND_ALL
// and GROUP, which of the geometry's groups a launch's third dimension is, may be defined
// otherwise.
inline constexpr std::string_view kMultiplyAccumulateText = R"(
typedef struct {
    float low;
    float high;
    int x_zero;
    int weight_zero;
    int zero;
    int least;
    int most;
    int multiplier_stride;
} SumNumbers;

#ifndef WEIGHT_ZERO
#define WEIGHT_ZERO numbers.weight_zero
#endif

#ifdef QUANTIZED
#define SUM uint
#define BIAS I32
#define START_OF(bias, channel) (uint)bias[channel]
#define ADD(sum, x, w) \
    (sum) + (uint)(((x) - numbers.x_zero) * ((w) - WEIGHT_ZERO))
#define MULTIPLIER(multipliers, numbers, channel) \
    multipliers[(channel) * numbers.multiplier_stride]
#define FINISH_WITH(sum, multiplier) \
    round_and_clamp((float)(int)(sum) * (multiplier), numbers.zero, numbers.least, numbers.most)
#else
#define SUM float
#define BIAS X
#define START_OF(bias, channel) LOAD(BIAS, bias, channel)
#define ADD(sum, x, w) multiply_add(x, w, sum)
#define MULTIPLIER(multipliers, numbers, channel) 1.0f
#define FINISH_WITH(sum, multiplier) between(sum, numbers.low, numbers.high)
#endif
#define START(channel) START_OF(bias, channel)
#define FINISH(sum, channel) FINISH_WITH(sum, MULTIPLIER(multipliers, numbers, channel))

typedef struct {
    int height;
    int width;
    int depth;
    int filter_h;
    int filter_w;
    int output_h;
    int output_w;
    int channels;
    int stride_h;
    int stride_w;
    int top;
    int left;
    int dilation_h;
    int dilation_w;
    int positions;
    int group_depth;
    int channels_per_group;
} Geometry;

#ifndef GROUP
#define GROUP (int)get_global_id(2)
#define PARAMETERS \
    IN(px), IN(pw), IN(bias), IN(multipliers), OUT(output), const Geometry g, \
            const SumNumbers numbers
#define BIND_ALL \
    BIND_IN(X, px);             \
    BIND_IN(W, pw);             \
    BIND_IN(BIAS, bias);        \
    BIND_IN(F32, multipliers);  \
    BIND_OUT(R, output)
#endif
)";

}  // namespace halyard::engine::gpu
