// SPDX-License-Identifier: Apache-2.0
//
// Sums of products, an element of the output, or several channels of a pixel, for each item.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/stages.h"
#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::gpu {

namespace {

// How a sum is begun, added to and finished. `bias`, `multipliers` and `numbers` are a kernel's own
// names; X, W and R say how x, weights and output are stored.
constexpr std::string_view kSumText = R"(
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

#ifdef QUANTIZED
#define SUM uint
#define BIAS I32
#define START(channel) (uint)bias[channel]
#define ADD(sum, x, w) \
    (sum) + (uint)(((x) - numbers.x_zero) * ((w) - numbers.weight_zero))
#define FINISH(sum, channel) \
    round_and_clamp((float)(int)(sum) * multipliers[(channel) * numbers.multiplier_stride], \
                    numbers.zero, numbers.least, numbers.most)
#else
#define SUM float
#define BIAS X
#define START(channel) LOAD(BIAS, bias, channel)
#define ADD(sum, x, w) multiply_add(x, w, sum)
#define FINISH(sum, channel) between(sum, numbers.low, numbers.high)
#endif

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
    int pixels;
    int group_depth;
    int channels_per_group;
} Geometry;

#define PARAMETERS \
    IN(px), IN(pw), IN(bias), IN(multipliers), OUT(output), const Geometry g, \
            const SumNumbers numbers STAGE_PARAMETERS
#define BIND_ALL \
    BIND_IN(X, px);             \
    BIND_IN(W, pw);             \
    BIND_IN(BIAS, bias);        \
    BIND_IN(F32, multipliers);  \
    BIND_OUT(R, output)
)";

}  // namespace

WeightedSum weightedSumOf(StepPlan& step, Activation activation) {
    const TensorType& x = step.input(0);
    const TensorType& weights = step.input(1);
    const TensorType& output = step.output();
    WeightedSum sum;
    const auto define = [&sum](std::string_view name, std::string_view value) {
        sum.defines.append("#define ").append(name).append(" ").append(value).append("\n");
    };
    define("X", storageOf(x.type));
    define("W", storageOf(weights.type));
    define("R", storageOf(output.type));
    if (isFloat(x.type)) {
        const RealRange range = rangeOf(activation);
        sum.numbers.low = range.low;
        sum.numbers.high = range.high;
        // Never read, but a kernel has its parameters.
        sum.multipliers = step.in(2);
        return sum;
    }
    define("QUANTIZED", "1");
    const QuantizedRange range = rangeOf(activation, output);
    const Quantization& ofX = x.quantization;
    const Quantization& ofWeights = weights.quantization;
    const bool perChannel = weights.type == DataType::QUANT8_SYMM_PER_CHANNEL;
    sum.numbers.xZero = ofX.zeroPoint;
    sum.numbers.weightZero = perChannel ? 0 : ofWeights.zeroPoint;
    sum.numbers.zero = output.quantization.zeroPoint;
    sum.numbers.least = range.low;
    sum.numbers.most = range.high;
    sum.numbers.multiplierStride = perChannel ? 1 : 0;
    std::vector<float> multipliers;
    if (perChannel) {
        for (const float scale : ofWeights.channelScales) {
            multipliers.push_back(multiplier(ofX.scale, scale, output.quantization.scale));
        }
    } else {
        multipliers.push_back(multiplier(ofX.scale, ofWeights.scale, output.quantization.scale));
    }
    sum.multipliers = step.table(std::span<const float>(multipliers));
    return sum;
}

namespace {

// A copy of the kernels' struct.
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
    int32_t pixels = 1;            // of the output, of all batches
    int32_t groupDepth = 1;        // channels of x that one of the output reads
    int32_t channelsPerGroup = 1;  // of the output; of a depthwise one, for each of x
};

// CHANNELS neighbours at once, so that an element of x is read once for all of them.
constexpr KernelFamily kConvolution = {.kernel = "convolve",
                                       .shared = {kMapNumbersText, kStagesText, kSumText},
                                       .text = R"(
__kernel __attribute__((reqd_work_group_size(16, 8, 1))) void convolve(PARAMETERS) {
    const int first = (int)get_global_id(0) * CHANNELS;
    const int pixel = (int)get_global_id(1);
    if (first >= g.channels || pixel >= g.pixels) {
        return;
    }
    BIND_ALL;
    const int taps = g.filter_h * g.filter_w;
    const int column = pixel % g.output_w * g.stride_w - g.left;
    const int row = pixel / g.output_w % g.output_h * g.stride_h - g.top;
    const int batch = pixel / (g.output_w * g.output_h);
    const int group = first / g.channels_per_group * g.group_depth;
    SUM sum[CHANNELS];
    int filter[CHANNELS];
    for (int c = 0; c < CHANNELS; ++c) {
        const int channel = min(first + c, g.channels - 1);
        sum[c] = START(channel);
        filter[c] = channel * taps * g.group_depth;
    }
    for (int i = 0; i < g.filter_h; ++i) {
        const int y = row + i * g.dilation_h;
        if (y < 0 || y >= g.height) {
            continue;
        }
        for (int j = 0; j < g.filter_w; ++j) {
            const int x = column + j * g.dilation_w;
            if (x < 0 || x >= g.width) {
                continue;
            }
            const int from = ((batch * g.height + y) * g.width + x) * g.depth + group;
            const int tap = (i * g.filter_w + j) * g.group_depth;
            for (int k = 0; k < g.group_depth; ++k) {
                const VALUE(X) value = LOAD(X, px, from + k);
                for (int c = 0; c < CHANNELS; ++c) {
                    sum[c] = ADD(sum[c], value, LOAD(W, pw, filter[c] + tap + k));
                }
            }
        }
    }
    for (int c = 0; c < CHANNELS; ++c) {
        const int channel = first + c;
        if (channel < g.channels) {
            VALUE(R) value = FINISH(sum[c], channel);
            STAGES(value, pixel * g.channels + channel)
            STORE(R, output, pixel * g.channels + channel, value);
        }
    }
}
)",
                                       .local = {16, 8, 1}};

constexpr KernelFamily kDepthwise = {.kernel = "convolve_depthwise",
                                     .shared = {kMapNumbersText, kStagesText, kSumText},
                                     .text = R"(
__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void convolve_depthwise(PARAMETERS) {
    const int channel = (int)get_global_id(0);
    const int pixel = (int)get_global_id(1);
    if (channel >= g.channels || pixel >= g.pixels) {
        return;
    }
    BIND_ALL;
    const int column = pixel % g.output_w * g.stride_w - g.left;
    const int row = pixel / g.output_w % g.output_h * g.stride_h - g.top;
    const int batch = pixel / (g.output_w * g.output_h);
    SUM sum = START(channel);
    for (int i = 0; i < g.filter_h; ++i) {
        const int y = row + i * g.dilation_h;
        if (y < 0 || y >= g.height) {
            continue;
        }
        for (int j = 0; j < g.filter_w; ++j) {
            const int x = column + j * g.dilation_w;
            if (x < 0 || x >= g.width) {
                continue;
            }
            const int from = ((batch * g.height + y) * g.width + x) * g.depth +
                             channel / g.channels_per_group;
            sum = ADD(sum, LOAD(X, px, from),
                      LOAD(W, pw, (i * g.filter_w + j) * g.channels + channel));
        }
    }
    VALUE(R) value = FINISH(sum, channel);
    STAGES(value, pixel * g.channels + channel)
    STORE(R, output, pixel * g.channels + channel, value);
}
)",
                                     .local = {32, 4, 1}};

// Gathers what the pixels of x would scatter.
constexpr KernelFamily kTransposed = {.kernel = "convolve_transposed",
                                      .shared = {kMapNumbersText, kStagesText, kSumText},
                                      .text = R"(
__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void convolve_transposed(PARAMETERS) {
    const int channel = (int)get_global_id(0);
    const int pixel = (int)get_global_id(1);
    if (channel >= g.channels || pixel >= g.pixels) {
        return;
    }
    BIND_ALL;
    const int right = pixel % g.output_w + g.left;
    const int bottom = pixel / g.output_w % g.output_h + g.top;
    const int batch = pixel / (g.output_w * g.output_h);
    const int first_row = bottom < g.filter_h ? 0 : (bottom - g.filter_h) / g.stride_h + 1;
    const int first_column = right < g.filter_w ? 0 : (right - g.filter_w) / g.stride_w + 1;
    const int end_row = min(bottom / g.stride_h + 1, g.height);
    const int end_column = min(right / g.stride_w + 1, g.width);
    SUM sum = START(channel);
    for (int i = first_row; i < end_row; ++i) {
        for (int j = first_column; j < end_column; ++j) {
            const int from = ((batch * g.height + i) * g.width + j) * g.depth;
            const int filter_row = channel * g.filter_h + bottom - i * g.stride_h;
            const int tap = (filter_row * g.filter_w + right - j * g.stride_w) * g.depth;
            for (int k = 0; k < g.depth; ++k) {
                sum = ADD(sum, LOAD(X, px, from + k), LOAD(W, pw, tap + k));
            }
        }
    }
    VALUE(R) value = FINISH(sum, channel);
    STAGES(value, pixel * g.channels + channel)
    STORE(R, output, pixel * g.channels + channel, value);
}
)",
                                      .local = {32, 4, 1}};

Status addLaunch(StepPlan& step, const KernelFamily& family, Activation activation,
                 const Geometry& geometry, int32_t channelsPerItem, std::string defines,
                 uint64_t productsPerElement) {
    const WeightedSum sum = weightedSumOf(step, activation);
    const Stages stages = stagesOf(step);
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                             step.launch(family, defines + sum.defines + stages.defines));
    launch->with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch->with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
    launch->arguments.insert(launch->arguments.end(), stages.arguments.begin(),
                             stages.arguments.end());
    launch->items = {
            static_cast<size_t>((geometry.channels + channelsPerItem - 1) / channelsPerItem),
            static_cast<size_t>(geometry.pixels), 1};
    launch->work = static_cast<uint64_t>(geometry.pixels) *
                   static_cast<uint64_t>(geometry.channels) * (productsPerElement + 4);
    return {};
}

Geometry geometryOf(const Shape& x, const Shape& filter, const Shape& output,
                    const Window2d& window, const ResolvedWindow& resolved) {
    return {.height = x[1],
            .width = x[2],
            .depth = x[3],
            .filterH = filter[1],
            .filterW = filter[2],
            .outputH = output[1],
            .outputW = output[2],
            .channels = output[3],
            .strideH = window.strideH,
            .strideW = window.strideW,
            .top = resolved.top,
            .left = resolved.left,
            .dilationH = window.dilationH,
            .dilationW = window.dilationW,
            .pixels = static_cast<int32_t>(countOf(output) / output[3])};
}

uint64_t areaOf(const Geometry& geometry) {
    return static_cast<uint64_t>(geometry.filterH) * static_cast<uint64_t>(geometry.filterW);
}

Status addConvolution(StepPlan& step, Activation activation, const Geometry& geometry) {
    const int32_t channels =
            geometry.channelsPerGroup % 4 == 0 || geometry.channelsPerGroup == geometry.channels
                    ? 4
                    : 1;
    return addLaunch(step, kConvolution, activation, geometry, channels,
                     "#define CHANNELS " + std::to_string(channels) + "\n",
                     areaOf(geometry) * static_cast<uint64_t>(geometry.groupDepth));
}

}  // namespace

#define HALYARD_SUMS_ANYTHING(Descriptor)                                                      \
    Status supports(const Descriptor& /*node*/, const Graph& /*graph*/, const Node& /*whole*/, \
                    const DeviceFacts& /*facts*/) {                                            \
        return {};                                                                             \
    }
HALYARD_SUMS_ANYTHING(Conv2d)
HALYARD_SUMS_ANYTHING(DepthwiseConv2d)
HALYARD_SUMS_ANYTHING(TransposeConv2d)
HALYARD_SUMS_ANYTHING(FullyConnected)
#undef HALYARD_SUMS_ANYTHING

Status plan(const Conv2d& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& filter = step.input(1).shape;
    const Shape& output = step.output().shape;
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    Geometry geometry = geometryOf(x, filter, output, node.window, resolved);
    geometry.groupDepth = filter[3];
    geometry.channelsPerGroup = output[3] / node.groups;
    return addConvolution(step, node.activation, geometry);
}

Status plan(const DepthwiseConv2d& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& filter = step.input(1).shape;
    const Shape& output = step.output().shape;
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    Geometry geometry = geometryOf(x, filter, output, node.window, resolved);
    geometry.channelsPerGroup = node.multiplier;
    return addLaunch(step, kDepthwise, node.activation, geometry, 1, "", areaOf(geometry));
}

Status plan(const TransposeConv2d& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& filter = step.input(1).shape;
    const Shape& output = step.output().shape;
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveTransposeWindow(node.window, x[1], x[2], filter[1], filter[2],
                                                    output[1], output[2]));
    const Geometry geometry = geometryOf(x, filter, output, node.window, resolved);
    return addLaunch(step, kTransposed, node.activation, geometry, 1, "",
                     areaOf(geometry) * static_cast<uint64_t>(geometry.depth));
}

// A convolution of pictures of one pixel.
Status plan(const FullyConnected& node, StepPlan& step) {
    const Shape& weights = step.input(1).shape;
    const Shape& output = step.output().shape;
    return addConvolution(step, node.activation,
                          {.depth = weights[1],
                           .channels = output[1],
                           .pixels = output[0],
                           .groupDepth = weights[1],
                           .channelsPerGroup = output[1]});
}

}  // namespace halyard::engine::gpu
