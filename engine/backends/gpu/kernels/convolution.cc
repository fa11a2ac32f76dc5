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

// TM pixels by TN channels for each group, RM by RN of them for each item. SLICES of the group's
// items each take their own share of the products, TK at a time, whose sums come together in the
// end: so that many groups have work where there are few pixels. Elements for the next round are on
// their way while this one's are multiplied.
constexpr KernelFamily kTiled = {.kernel = "convolve_tiled",
                                 .shared = {kMapNumbersText, kStagesText, kSumText},
                                 .text = R"(
#define ITEMS 256
#define STEP (TK * SLICES)
#define ITEMS_N (TN / RN)
#define ITEMS_OF_SLICE (TM / RM * ITEMS_N)
#define X_EACH (STEP * TM / ITEMS)
#define W_EACH (STEP * TN / ITEMS)
#define X_ROW (TM + 4)
#define W_ROW (TN + 4)
#ifdef QUANTIZED
#define FACTOR int
#define MULTIPLY_ADD(sum, x, w) (sum) + (uint)((x) * (w))
#define X_FACTOR(x) ((x) - numbers.x_zero)
#define W_FACTOR(w) ((w) - numbers.weight_zero)
#else
#define FACTOR float
#define MULTIPLY_ADD(sum, x, w) multiply_add(x, w, sum)
#define X_FACTOR(x) (x)
#define W_FACTOR(w) (w)
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void convolve_tiled(PARAMETERS) {
    BIND_ALL;
    __local FACTOR xs[STEP * X_ROW];
    __local FACTOR ws[STEP * W_ROW];
#if SLICES > 1
    __local SUM sums[(SLICES - 1) * TM * TN];
#endif
    const int lane = (int)get_local_id(0);
    const int first_channel = (int)(get_global_id(0) / ITEMS) * TN;
    const int first_pixel = (int)get_global_id(1) * TM;
    const int length = g.filter_h * g.filter_w * g.group_depth;
    const int slice = lane / ITEMS_OF_SLICE;
    const int m = lane % ITEMS_OF_SLICE / ITEMS_N * RM;
    const int n = lane % ITEMS_N * RN;

    // What this item brings: always the same place along the products, and as many pixels and
    // channels apart as the group has items.
    const int my_k = lane % STEP;
    const int my_row = lane / STEP;
#ifndef POINTWISE
    int rows[X_EACH];
    int columns[X_EACH];
#endif
    int starts[X_EACH];
    for (int i = 0; i < X_EACH; ++i) {
        const int pixel = first_pixel + my_row + i * (ITEMS / STEP);
#ifdef POINTWISE
        starts[i] = pixel < g.pixels ? pixel * g.depth : -1;
#else
        columns[i] = pixel % g.output_w * g.stride_w - g.left;
        rows[i] = pixel < g.pixels ? pixel / g.output_w % g.output_h * g.stride_h - g.top
                                   : -1000000000;
        starts[i] = pixel / (g.output_w * g.output_h) * g.height;
#endif
    }
    FACTOR next_x[X_EACH];
    FACTOR next_w[W_EACH];
    SUM sum[RM][RN];
    for (int i = 0; i < RM; ++i) {
        for (int j = 0; j < RN; ++j) {
            sum[i][j] = 0;
        }
    }
    for (int begin = -STEP; begin < length; begin += STEP) {
        if (begin >= 0) {
            for (int i = 0; i < X_EACH; ++i) {
                xs[my_k * X_ROW + my_row + i * (ITEMS / STEP)] = next_x[i];
            }
            for (int i = 0; i < W_EACH; ++i) {
                ws[my_k * W_ROW + my_row + i * (ITEMS / STEP)] = next_w[i];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int k = begin + STEP + my_k;
#ifndef POINTWISE
        const int tap = k / g.group_depth;
        const int channel_of_x = k - tap * g.group_depth;
        const int down = tap / g.filter_w;
        const int right = tap - down * g.filter_w;
#endif
        for (int i = 0; i < X_EACH; ++i) {
            next_x[i] = 0;
#ifdef POINTWISE
            if (k < length && starts[i] >= 0) {
                next_x[i] = X_FACTOR(LOAD(X, px, starts[i] + k));
            }
#else
            const int y = rows[i] + down * g.dilation_h;
            const int x = columns[i] + right * g.dilation_w;
            if (k < length && y >= 0 && y < g.height && x >= 0 && x < g.width) {
                next_x[i] = X_FACTOR(LOAD(
                        X, px, ((starts[i] + y) * g.width + x) * g.depth + channel_of_x));
            }
#endif
        }
        for (int i = 0; i < W_EACH; ++i) {
            const int channel = first_channel + my_row + i * (ITEMS / STEP);
            next_w[i] = 0;
            if (k < length && channel < g.channels) {
                next_w[i] = W_FACTOR(LOAD(W, pw, channel * length + k));
            }
        }
        if (begin >= 0) {
            for (int k_of_slice = 0; k_of_slice < TK; ++k_of_slice) {
                const int at = slice * TK + k_of_slice;
                FACTOR x[RM];
                FACTOR w[RN];
                for (int i = 0; i < RM; ++i) {
                    x[i] = xs[at * X_ROW + m + i];
                }
                for (int j = 0; j < RN; ++j) {
                    w[j] = ws[at * W_ROW + n + j];
                }
                for (int i = 0; i < RM; ++i) {
                    for (int j = 0; j < RN; ++j) {
                        sum[i][j] = MULTIPLY_ADD(sum[i][j], x[i], w[j]);
                    }
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#if SLICES > 1
    for (int i = 0; i < RM && slice > 0; ++i) {
        for (int j = 0; j < RN; ++j) {
            sums[(slice - 1) * TM * TN + (m + i) * TN + n + j] = sum[i][j];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int i = 0; i < RM && slice == 0; ++i) {
        const int pixel = first_pixel + m + i;
        for (int j = 0; j < RN; ++j) {
            const int channel = first_channel + n + j;
            if (pixel < g.pixels && channel < g.channels) {
                SUM whole = sum[i][j];
#if SLICES > 1
                for (int other = 0; other < SLICES - 1; ++other) {
                    whole += sums[other * TM * TN + (m + i) * TN + n + j];
                }
#endif
                whole += START(channel);
                VALUE(R) value = FINISH(whole, channel);
                STAGES(value, pixel * g.channels + channel)
                STORE(R, output, pixel * g.channels + channel, value);
            }
        }
    }
}
)",
                                 .local = {256, 1, 1}};

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

// `channels` and `pixels`: of an item, or of a group's tile.
struct Spread {
    int32_t channels = 1;
    int32_t pixels = 1;
    size_t itemsPerTile = 1;
};

Status addLaunch(StepPlan& step, const KernelFamily& family, Activation activation,
                 const Geometry& geometry, const Spread& spread, const std::string& defines,
                 uint64_t productsPerElement) {
    const WeightedSum sum = weightedSumOf(step, activation);
    const Stages stages = stagesOf(step);
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                             step.launch(family, defines + sum.defines + stages.defines));
    launch->with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch->with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
    launch->arguments.insert(launch->arguments.end(), stages.arguments.begin(),
                             stages.arguments.end());
    const auto parts = [](int32_t all, int32_t each) {
        return static_cast<size_t>((all + each - 1) / each);
    };
    launch->items = {parts(geometry.channels, spread.channels) * spread.itemsPerTile,
                     parts(geometry.pixels, spread.pixels), 1};
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

struct Tile {
    int32_t pixels = 0;
    int32_t channels = 0;
    int32_t pixelsPerItem = 0;
    int32_t channelsPerItem = 0;
    int32_t slices = 1;
    int32_t products = 0;  // of a slice at a time
};

// From the one that reads least to the one that leaves most groups with work.
constexpr std::array kTiles = {
        Tile{.pixels = 64,
             .channels = 64,
             .pixelsPerItem = 4,
             .channelsPerItem = 4,
             .slices = 1,
             .products = 16},
        Tile{.pixels = 32,
             .channels = 32,
             .pixelsPerItem = 4,
             .channelsPerItem = 4,
             .slices = 4,
             .products = 8},
        Tile{.pixels = 16,
             .channels = 16,
             .pixelsPerItem = 2,
             .channelsPerItem = 4,
             .slices = 8,
             .products = 8},
};

// The first whose groups keep every compute unit busy.
const Tile& tileFor(const Geometry& geometry, uint32_t computeUnits) {
    for (const Tile& tile : kTiles) {
        const int64_t groups = int64_t{(geometry.pixels + tile.pixels - 1) / tile.pixels} *
                               ((geometry.channels + tile.channels - 1) / tile.channels);
        if (groups >= int64_t{computeUnits} * 3 / 2) {
            return tile;
        }
    }
    return kTiles.back();
}

std::string definesOf(const Tile& tile, bool isPointwise) {
    std::string defines = isPointwise ? "#define POINTWISE 1\n" : "";
    const auto define = [&defines](std::string_view name, int32_t value) {
        defines.append("#define ").append(name).append(" ").append(std::to_string(value)) += "\n";
    };
    define("TM", tile.pixels);
    define("TN", tile.channels);
    define("RM", tile.pixelsPerItem);
    define("RN", tile.channelsPerItem);
    define("SLICES", tile.slices);
    define("TK", tile.products);
    return defines;
}

Status addConvolution(StepPlan& step, Activation activation, const Geometry& geometry) {
    const uint64_t products = areaOf(geometry) * static_cast<uint64_t>(geometry.groupDepth);
    const bool isGrouped = geometry.channelsPerGroup != geometry.channels;
    if (step.facts().prefersTiles && !isGrouped) {
        const bool isPointwise = areaOf(geometry) == 1 && geometry.strideH == 1 &&
                                 geometry.strideW == 1 && geometry.top == 0 && geometry.left == 0 &&
                                 geometry.height == geometry.outputH &&
                                 geometry.width == geometry.outputW;
        const Tile& tile = tileFor(geometry, step.facts().computeUnits);
        return addLaunch(step, kTiled, activation, geometry,
                         {.channels = tile.channels, .pixels = tile.pixels, .itemsPerTile = 256},
                         definesOf(tile, isPointwise), products);
    }
    // Neighbours of one group read the same elements.
    const int32_t channels = geometry.channelsPerGroup % 4 == 0 || !isGrouped ? 4 : 1;
    return addLaunch(step, kConvolution, activation, geometry, {.channels = channels},
                     "#define CHANNELS " + std::to_string(channels) + "\n", products);
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
    return addLaunch(step, kDepthwise, node.activation, geometry, {}, "", areaOf(geometry));
}

Status plan(const TransposeConv2d& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& filter = step.input(1).shape;
    const Shape& output = step.output().shape;
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveTransposeWindow(node.window, x[1], x[2], filter[1], filter[2],
                                                    output[1], output[2]));
    const Geometry geometry = geometryOf(x, filter, output, node.window, resolved);
    return addLaunch(step, kTransposed, node.activation, geometry, {}, "",
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
