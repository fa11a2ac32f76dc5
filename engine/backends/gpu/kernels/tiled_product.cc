// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/tiled_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/stages.h"
#include "engine/backends/gpu/kernels/vectors.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

constexpr int32_t kItems = 256;

// A group has TM pixels by TN channels of the output. Rows of both factors, ROW words of each at a
// time, lie in local memory while those of the next round are on their way. SLICES of the group's
// items take their own share of each round's products, and their sums come together in the end, so
// that many items have work where there are few pixels. What they have summed is then put down in
// local memory, from where items take neighbours: so stores are whole lines, and what follows is
// the same for each form of product.
//
// With MATRIX products are the device's own, of 16 pixels by 8 channels by 8 words, for the 32
// items of a warp together.
constexpr std::string_view kTilesText = R"(
#define ITEMS 256
#define STEP (ROW * PACK)
#define ROW_WORDS (ROW + 4)
#define VECTORS (STEP / VECTOR_ELEMENTS)
#define ROWS_APART (ITEMS / VECTORS)
#define X_EACH ((TM + ROWS_APART - 1) / ROWS_APART)
#define W_EACH ((TN + ROWS_APART - 1) / ROWS_APART)
#define TILE_WORDS ((TM + TN) * ROW_WORDS)
#define SUM_ROW (TN + 8)
#define SUM_WORDS (SLICES * TM * SUM_ROW)
#define ROOM max_of(BUFFERS * TILE_WORDS, SUM_WORDS)
#define max_of(a, b) ((a) > (b) ? (a) : (b))

#ifdef MATRIX
#define WARPS_M (TM / 16 / WARP_TILES_M)
#define WARPS_N (TN / 8 / WARP_TILES_N)
#else
#define ITEMS_N (TN / RN)
#define ITEMS_M (TM / RM)
#endif

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

VALUE(R) depthwise(const __local VALUE(X)* values, const VALUE(V)* weights, const SUM start,
                   const float multiplier, const Window d, const SumNumbers numbers) {
    SUM sum = start;
UNROLL
    for (int i = 0; i < FILTER_H; ++i) {
UNROLL
        for (int j = 0; j < FILTER_W; ++j) {
            sum = ADD(sum, values[(i * d.dilation_h * d.halo_w + j * d.dilation_w) * SUM_ROW],
                      weights[i * FILTER_W + j]);
        }
    }
    return FINISH_WITH(sum, multiplier);
}
#else
#define DEPTHWISE_PARAMETERS
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void multiply_tiled(
        PARAMETERS DEPTHWISE_PARAMETERS STAGE_PARAMETERS) {
    BIND_ALL;
    __local uint room[ROOM] __attribute__((aligned(128)));
    const int lane = (int)get_local_id(0);
    const int tile = (int)get_global_id(1);
    const int group = (int)get_global_id(2);
    const int tile_channel = (int)(get_global_id(0) / ITEMS) * TN;
    const int group_channel = group * g.channels_per_group;
    const int length = g.filter_h * g.filter_w * g.group_depth;
#ifdef QUANTIZED
    __local int x_sums[TM];
    __local int w_sums[TN];
    for (int i = lane; i < TM; i += ITEMS) {
        x_sums[i] = 0;
    }
    for (int i = lane; i < TN; i += ITEMS) {
        w_sums[i] = 0;
    }
#endif
#ifdef DEPTHWISE
    const int tile_x = tile % d.tiles_w * d.tile_w;
    const int tile_y = tile / d.tiles_w % d.tiles_h * d.tile_h;
    const int batch = tile / (d.tiles_w * d.tiles_h);
    const int halo_x = tile_x * d.stride_w - d.left;
    const int halo_y = tile_y * d.stride_h - d.top;
#endif
// The pixel of the product that is number m of the tile, or -1.
#ifdef DEPTHWISE
    __local int pixels[TM];
    if (lane < TM) {
        const int down = lane / d.halo_w;
        const int y = halo_y + down;
        const int x = halo_x + lane - down * d.halo_w;
        pixels[lane] = down < d.halo_h && y >= 0 && y < g.output_h && x >= 0 && x < g.output_w
                               ? (batch * g.output_h + y) * g.output_w + x
                               : -1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#define PIXEL(m) pixels[m]
#else
#define PIXEL(m) (tile * TM + (m) < g.pixels ? tile * TM + (m) : -1)
#endif

    // What becomes of a sum is for an item always of the same channel.
    const int column = lane % TN;
    const bool has_channel = tile_channel + column < g.channels_per_group;
    const int channel =
            group_channel + min(tile_channel + column, g.channels_per_group - 1);
    const SUM start = START(channel);
    const float multiplier = MULTIPLIER(multipliers, numbers, channel);
#ifdef DEPTHWISE
    BIND_IN(V, pv);
    BIND_IN(BIAS, window_bias);
    BIND_IN(F32, window_multipliers);
    const SUM window_start = START_OF(window_bias, channel);
    const float window_multiplier = MULTIPLIER(window_multipliers, window_numbers, channel);
    VALUE(V) weights[FILTER_H * FILTER_W];
UNROLL
    for (int i = 0; i < FILTER_H * FILTER_W; ++i) {
        weights[i] = LOAD(V, pv, i * g.channels + channel);
    }
#endif

    // What this item brings: always the same place of a row.
    const int my_vector = lane % VECTORS;
    const int my_row = lane / VECTORS;
    int starts[X_EACH];
#ifndef POINTWISE
    int rows[X_EACH];
    int columns[X_EACH];
#endif
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        const int pixel =
                TM % ROWS_APART == 0 || my_row + i * ROWS_APART < TM ? PIXEL(my_row + i * ROWS_APART)
                                                                     : -1;
#ifdef POINTWISE
        starts[i] = pixel < 0 ? -1 : pixel * g.depth + group * g.group_depth;
#else
        rows[i] = pixel < 0 ? -1000000000
                            : pixel / g.output_w % g.output_h * g.stride_h - g.top;
        columns[i] = pixel % g.output_w * g.stride_w - g.left;
        starts[i] = pixel / (g.output_w * g.output_h) * g.height;
#endif
    }
    Vector next_x[X_EACH];
    Vector next_w[W_EACH];
#ifdef MATRIX
    const int warp = lane / 32;
    const int slice = warp / (WARPS_M * WARPS_N);
    const int m = warp % WARPS_M * (16 * WARP_TILES_M) + lane % 32 / 4;
    const int n = warp / WARPS_M % WARPS_N * (8 * WARP_TILES_N) + lane % 32 / 4;
    const int word = slice * 8 + lane % 4;
    SUM sum[WARP_TILES_M][WARP_TILES_N][4];
UNROLL
    for (int i = 0; i < WARP_TILES_M; ++i) {
UNROLL
        for (int j = 0; j < WARP_TILES_N; ++j) {
UNROLL
            for (int c = 0; c < 4; ++c) {
                sum[i][j][c] = 0;
            }
        }
    }
#else
    const int slice = lane / (ITEMS_M * ITEMS_N);
    const int m = lane / ITEMS_N % ITEMS_M;
    const int n = lane % ITEMS_N;
    SUM sum[RM][RN];
UNROLL
    for (int i = 0; i < RM; ++i) {
UNROLL
        for (int j = 0; j < RN; ++j) {
            sum[i][j] = 0;
        }
    }
#endif
#ifdef QUANTIZED
    int x_sum[X_EACH];
    int w_sum[W_EACH];
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        x_sum[i] = 0;
    }
UNROLL
    for (int i = 0; i < W_EACH; ++i) {
        w_sum[i] = 0;
    }
#endif
    int buffer = 0;
    for (int begin = -STEP; begin < length; begin += STEP) {
        __local uint* const xs = room + buffer * TILE_WORDS;
        __local uint* const ws = xs + TM * ROW_WORDS;
        buffer = BUFFERS - 1 - buffer;
        if (begin >= 0) {
UNROLL
            for (int i = 0; i < X_EACH; ++i) {
                if (TM % ROWS_APART == 0 || my_row + i * ROWS_APART < TM) {
                    KEEP(xs + (my_row + i * ROWS_APART) * ROW_WORDS, my_vector, FACTOR(next_x[i]));
                }
            }
UNROLL
            for (int i = 0; i < W_EACH; ++i) {
                if (TN % ROWS_APART == 0 || my_row + i * ROWS_APART < TN) {
                    KEEP(ws + (my_row + i * ROWS_APART) * ROW_WORDS, my_vector, FACTOR(next_w[i]));
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int k = begin + STEP + my_vector * VECTOR_ELEMENTS;
        if (begin + STEP < length) {
#ifndef POINTWISE
            const int tap = k / g.group_depth;
            const int channel_of_x = k - tap * g.group_depth + group * g.group_depth;
            const int down = tap / g.filter_w;
            const int right = tap - down * g.filter_w;
#endif
UNROLL
            for (int i = 0; i < X_EACH; ++i) {
                next_x[i] = (Vector)(0);
#ifdef POINTWISE
                if (k < length && starts[i] >= 0) {
                    next_x[i] = FETCH(X, px, starts[i] + k);
                }
#else
                const int y = rows[i] + down * g.dilation_h;
                const int x = columns[i] + right * g.dilation_w;
                if (k < length) {
                    next_x[i] = X_PADDING;
                    if (y >= 0 && y < g.height && x >= 0 && x < g.width) {
                        next_x[i] = FETCH(
                                X, px, ((starts[i] + y) * g.width + x) * g.depth + channel_of_x);
                    }
                }
#endif
#ifdef QUANTIZED
                x_sum[i] += ROW_SUM(X, next_x[i]);
#endif
            }
UNROLL
            for (int i = 0; i < W_EACH; ++i) {
                const int row = my_row + i * ROWS_APART;
                next_w[i] = (Vector)(0);
                if (k < length && row < TN && tile_channel + row < g.channels_per_group) {
                    next_w[i] = FETCH(W, pw, (group_channel + tile_channel + row) * length + k);
                }
#ifdef QUANTIZED
                w_sum[i] += ROW_SUM(W, next_w[i]);
#endif
            }
        }
        if (begin >= 0) {
#ifdef MATRIX
UNROLL
            for (int at = word; at < ROW; at += 8 * SLICES) {
                uint w[WARP_TILES_N][2];
UNROLL
                for (int j = 0; j < WARP_TILES_N; ++j) {
                    const __local uint* const from = ws + (n + 8 * j) * ROW_WORDS + at;
                    w[j][0] = from[0];
                    w[j][1] = from[4];
                }
UNROLL
                for (int i = 0; i < WARP_TILES_M; ++i) {
                    const __local uint* const from = xs + (m + 16 * i) * ROW_WORDS + at;
                    const uint x0 = from[0];
                    const uint x1 = from[8 * ROW_WORDS];
                    const uint x2 = from[4];
                    const uint x3 = from[8 * ROW_WORDS + 4];
UNROLL
                    for (int j = 0; j < WARP_TILES_N; ++j) {
                        MATRIX_MULTIPLY(sum[i][j], x0, x1, x2, x3, w[j][0], w[j][1]);
                    }
                }
            }
#else
UNROLL
            for (int at = slice * 4; at < ROW; at += 4 * SLICES) {
                uint4 w[RN];
UNROLL
                for (int j = 0; j < RN; ++j) {
                    w[j] = *(const __local uint4*)(ws + (n + j * ITEMS_N) * ROW_WORDS + at);
                }
UNROLL
                for (int i = 0; i < RM; ++i) {
                    const uint4 x =
                            *(const __local uint4*)(xs + (m + i * ITEMS_M) * ROW_WORDS + at);
UNROLL
                    for (int j = 0; j < RN; ++j) {
                        sum[i][j] = WORD_SUM(sum[i][j], x.s0, w[j].s0);
                        sum[i][j] = WORD_SUM(sum[i][j], x.s1, w[j].s1);
                        sum[i][j] = WORD_SUM(sum[i][j], x.s2, w[j].s2);
                        sum[i][j] = WORD_SUM(sum[i][j], x.s3, w[j].s3);
                    }
                }
            }
#endif
        }
#if BUFFERS == 1
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
#if BUFFERS > 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

    __local SUM* const sums = (__local SUM*)room;
#ifdef MATRIX
UNROLL
    for (int i = 0; i < WARP_TILES_M; ++i) {
UNROLL
        for (int j = 0; j < WARP_TILES_N; ++j) {
            const int from = (slice * TM + m + 16 * i) * SUM_ROW + n - lane % 32 / 4 + 8 * j +
                             lane % 4 * 2;
            sums[from] = sum[i][j][0];
            sums[from + 1] = sum[i][j][1];
            sums[from + 8 * SUM_ROW] = sum[i][j][2];
            sums[from + 8 * SUM_ROW + 1] = sum[i][j][3];
        }
    }
#else
UNROLL
    for (int i = 0; i < RM; ++i) {
UNROLL
        for (int j = 0; j < RN; ++j) {
            sums[(slice * TM + m + i * ITEMS_M) * SUM_ROW + n + j * ITEMS_N] = sum[i][j];
        }
    }
#endif
#ifdef QUANTIZED
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        if (my_row + i * ROWS_APART < TM) {
            atomic_add(x_sums + my_row + i * ROWS_APART, x_sum[i]);
        }
    }
UNROLL
    for (int i = 0; i < W_EACH; ++i) {
        if (my_row + i * ROWS_APART < TN) {
            atomic_add(w_sums + my_row + i * ROWS_APART, w_sum[i]);
        }
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

#ifdef DEPTHWISE
    __local VALUE(X)* const values = (__local VALUE(X)*)room;
#endif
UNROLL
    for (int i = 0; i < TM * TN / ITEMS; ++i) {
        const int row = lane / TN + i * (ITEMS / TN);
        const int pixel = PIXEL(row);
#ifdef DEPTHWISE
        VALUE(X) value = window_numbers.x_zero;
#endif
        if (pixel >= 0 && has_channel) {
            SUM whole = sums[row * SUM_ROW + column];
UNROLL
            for (int other = 1; other < SLICES; ++other) {
                whole += sums[(other * TM + row) * SUM_ROW + column];
            }
#ifdef QUANTIZED
            whole = WITH_ZEROS(whole, length, x_sums[row], w_sums[column]);
#endif
            whole += start;
#ifdef DEPTHWISE
            value = FINISH_WITH(whole, multiplier);
            INNER_STAGES(value, pixel * g.channels + channel)
#else
            VALUE(R) value = FINISH_WITH(whole, multiplier);
            STAGES(value, pixel * g.channels + channel)
            STORE(R, output, pixel * g.channels + channel, value);
#endif
        }
#ifdef DEPTHWISE
        values[row * SUM_ROW + column] = value;
#endif
    }
#ifdef DEPTHWISE
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = lane / TN; e < d.tile_h * d.tile_w; e += ITEMS / TN) {
        const int y = e / d.tile_w;
        const int x = e - y * d.tile_w;
        if (tile_y + y < d.output_h && tile_x + x < d.output_w && has_channel) {
            VALUE(R) value = depthwise(
                    values + (y * d.stride_h * d.halo_w + x * d.stride_w) * SUM_ROW + column,
                    weights, window_start, window_multiplier, d, window_numbers);
            const int at = ((batch * d.output_h + tile_y + y) * d.output_w + tile_x + x) *
                                   g.channels + channel;
            STAGES(value, at)
            STORE(R, output, at, value);
        }
    }
#endif
}
)";

constexpr KernelFamily kTiled = {
        .kernel = "multiply_tiled",
        .shared = {kMapNumbersText, kStagesText, kWeightedSumText, kVectorsText, kMatrixText},
        .text = kTilesText,
        .local = {kItems, 1, 1}};

// A copy of the kernel's struct.
struct DepthwiseWindow {
    int32_t strideH = 1;
    int32_t strideW = 1;
    int32_t top = 0;
    int32_t left = 0;
    int32_t dilationH = 1;
    int32_t dilationW = 1;
    int32_t outputH = 1;
    int32_t outputW = 1;
    int32_t tileH = 1;
    int32_t tileW = 1;
    int32_t tilesH = 1;
    int32_t tilesW = 1;
    int32_t haloH = 1;
    int32_t haloW = 1;
};

// How a group's work lies on its items.
struct TileForm {
    int32_t pixels = 0;
    int32_t channels = 0;
    int32_t slices = 1;
    int32_t words = 32;        // of a row, at a time
    int32_t itemPixels = 0;    // of an item; with the device's matrices tiles of 16, of a warp
    int32_t itemChannels = 0;  // the same, of 8

    size_t localBytes(int32_t buffers) const {
        const int32_t tile = (pixels + channels) * (words + 4) * buffers;
        const int32_t sums = slices * pixels * (channels + 8);
        return static_cast<size_t>(std::max(tile, sums) + pixels + channels) * sizeof(uint32_t);
    }
    int32_t buffers(size_t localBytesOfDevice) const {
        return localBytes(2) <= localBytesOfDevice ? 2 : 1;
    }
};

constexpr std::array kForms = {
        TileForm{64, 64, 1, 32, 4, 4}, TileForm{64, 32, 2, 32, 4, 4},
        TileForm{32, 32, 4, 64, 4, 4}, TileForm{32, 16, 8, 64, 4, 4},
        TileForm{16, 32, 8, 64, 4, 4}, TileForm{16, 16, 8, 128, 2, 4},
};
constexpr std::array kMatrixForms = {
        TileForm{64, 64, 1, 32, 2, 2}, TileForm{64, 32, 1, 32, 1, 2},
        TileForm{32, 32, 2, 64, 1, 2}, TileForm{32, 16, 4, 64, 1, 2},
        TileForm{16, 32, 4, 64, 1, 2}, TileForm{16, 16, 8, 128, 1, 2},
};
// Behind these come depthwise convolutions.
constexpr std::array kExpansionForms = {
        TileForm{128, 32, 1, 32, 4, 4},
        TileForm{96, 32, 1, 32, 3, 4},
        TileForm{64, 32, 2, 32, 4, 4},
        TileForm{96, 16, 2, 32, 3, 4},
};
constexpr std::array kMatrixExpansionForms = {
        TileForm{128, 32, 1, 32, 2, 2},
        TileForm{96, 32, 1, 32, 3, 1},
        TileForm{64, 32, 1, 32, 1, 2},
        TileForm{96, 16, 2, 32, 3, 1},
};

int64_t parts(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

// How a step's products are made: by which form, of what rows.
struct Choice {
    TileForm form;
    VectorForm vectors;
    bool isMatrix = false;
    int64_t groups = 0;
    double cycles = 0;
    DepthwiseWindow window = {};  // with a depthwise convolution behind them

    std::string defines(const StepPlan& step) const;
    std::string name() const;
};

std::string Choice::defines(const StepPlan& step) const {
    std::string text = define("TM", form.pixels) + define("TN", form.channels) +
                       define("SLICES", form.slices) + define("ROW", form.words) +
                       define("BUFFERS", form.buffers(step.facts().localBytes));
    if (isMatrix) {
        text += define("MATRIX") + define("WARP_TILES_M", form.itemPixels) +
                define("WARP_TILES_N", form.itemChannels);
    } else {
        text += define("RM", form.itemPixels) + define("RN", form.itemChannels);
    }
    return text + vectors.defines() + step.instructions().defines();
}

std::string Choice::name() const {
    std::string name = isMatrix ? "matrix" : "tile";
    for (const int32_t number : {form.pixels, form.channels, form.slices, form.words}) {
        name.append(" ").append(std::to_string(number));
    }
    return name;
}

// Whether the device's own products of matrices do for the node.
bool usesMatrix(const StepPlan& step) {
    const TensorType& x = step.input(0);
    const Instructions& has = step.instructions();
    if (x.type == DataType::FLOAT16) {
        return has.matricesOfHalves;
    }
    if (x.type == DataType::FLOAT32) {
        return has.matricesOfRoughFloats && step.mayRound();
    }
    return has.matricesOfBytes;
}

// Rows that are shorter than a form's take fewer words at a time.
TileForm fitted(TileForm form, const VectorForm& vectors, bool isMatrix, int32_t products) {
    const int32_t least = (isMatrix ? 8 : 4) * form.slices;
    const int64_t rowWords = parts(products, vectors.pack);
    form.words = std::min(form.words, kItems * vectors.elements / vectors.pack);
    while (form.words > least && form.words / 2 >= rowWords) {
        form.words /= 2;
    }
    return form;
}

// What was seen on an H100, and does for others: how long memory takes to answer, what a group
// needs to begin and to end, and products of words in a cycle.
constexpr double kLatency = 700;
constexpr double kEnds = 1500;
constexpr double kWordsPerCycle = 64;
constexpr double kMatrixWordsPerCycle = 256;
constexpr int64_t kResidentGroups = 4;

double cyclesOf(const Choice& choice, const Geometry& geometry, uint32_t computeUnits) {
    const TileForm& form = choice.form;
    const double words = static_cast<double>(parts(geometry.products(), choice.vectors.pack));
    const double rounds = std::ceil(words / form.words);
    const double tile = static_cast<double>(form.pixels) * form.channels;
    const int64_t each = parts(choice.groups, computeUnits);
    const auto waves = static_cast<double>(parts(each, kResidentGroups));
    const double compute =
            rounds * form.words * tile / (choice.isMatrix ? kMatrixWordsPerCycle : kWordsPerCycle);
    return waves * (rounds * kLatency + kEnds + tile / kItems * 20) +
           static_cast<double>(each) * compute;
}

bool fits(const Choice& choice, const DeviceFacts& facts) {
    return choice.form.localBytes(1) <= facts.localBytes;
}

// Those of the forms that `complete` makes a choice of, the best first.
template <typename Complete>
std::vector<Choice> choicesOf(const StepPlan& step, std::span<const TileForm> forms,
                              std::span<const TileForm> matrixForms, const Geometry& geometry,
                              Complete complete) {
    const bool isMatrix = usesMatrix(step);
    const VectorForm vectors = vectorFormFor(step.input(0).type, geometry.groupDepth, isMatrix);
    std::vector<Choice> choices;
    for (const TileForm& form : isMatrix ? matrixForms : forms) {
        Choice choice = {.form = fitted(form, vectors, isMatrix, geometry.products()),
                         .vectors = vectors,
                         .isMatrix = isMatrix};
        if (fits(choice, step.facts()) && complete(choice)) {
            choice.cycles += cyclesOf(choice, geometry, step.facts().computeUnits);
            choices.push_back(choice);
        }
    }
    std::ranges::stable_sort(choices, {}, &Choice::cycles);
    return choices;
}

// One of the choices, of a step that is told by `text` and the extents of its parts.
template <typename Plan>
Status choose(StepPlan& step, std::string_view text, std::span<const Geometry> geometries,
              const std::vector<Choice>& choices, Plan plan) {
    std::vector<Variant> variants;
    for (const Choice& choice : choices) {
        variants.push_back(
                {.name = choice.name(), .plan = [&](StepPlan& own) { return plan(own, choice); }});
    }
    std::string key(text);
    for (const Geometry& geometry : geometries) {
        key.append(" ").append(geometry.toString());
    }
    return step.choose(key, variants);
}

void addArguments(Launch& launch, const StepPlan& step, const WeightedSum& sum,
                  const Geometry& geometry) {
    launch.with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch.with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
}

uint64_t workOf(const Choice& choice, const Geometry& geometry) {
    return static_cast<uint64_t>(choice.groups) * static_cast<uint64_t>(choice.form.pixels) *
           static_cast<uint64_t>(choice.form.channels) *
           (static_cast<uint64_t>(geometry.products()) + 4);
}

// Tiles of the depthwise convolution's output that make the least work, of those whose pixels of x
// fit. False where none does.
bool layTiles(Choice& choice, const Geometry& geometry, const Geometry& window) {
    const int64_t batches = int64_t{window.pixels} / window.outputH / window.outputW;
    const auto halo = [](int32_t tile, int32_t stride, int32_t filter, int32_t dilation) {
        return (tile - 1) * stride + (filter - 1) * dilation + 1;
    };
    int64_t fewest = 0;
    for (int32_t h = 1; h <= window.outputH; ++h) {
        const int32_t haloH = halo(h, window.strideH, window.filterH, window.dilationH);
        const int32_t mostW = choice.form.pixels / haloH;
        const int32_t reach = (window.filterW - 1) * window.dilationW + 1;
        if (mostW < reach) {
            break;
        }
        const int32_t w = std::min((mostW - reach) / window.strideW + 1, window.outputW);
        const int64_t tiles = parts(window.outputH, h) * parts(window.outputW, w);
        if (fewest != 0 && tiles >= fewest) {
            continue;
        }
        fewest = tiles;
        // Tiles of one size leave the least at the edges.
        const auto tilesH = static_cast<int32_t>(parts(window.outputH, h));
        const auto tilesW = static_cast<int32_t>(parts(window.outputW, w));
        const auto evenH = static_cast<int32_t>(parts(window.outputH, tilesH));
        const auto evenW = static_cast<int32_t>(parts(window.outputW, tilesW));
        choice.window = {.strideH = window.strideH,
                         .strideW = window.strideW,
                         .top = window.top,
                         .left = window.left,
                         .dilationH = window.dilationH,
                         .dilationW = window.dilationW,
                         .outputH = window.outputH,
                         .outputW = window.outputW,
                         .tileH = evenH,
                         .tileW = evenW,
                         .tilesH = tilesH,
                         .tilesW = tilesW,
                         .haloH = halo(evenH, window.strideH, window.filterH, window.dilationH),
                         .haloW = halo(evenW, window.strideW, window.filterW, window.dilationW)};
    }
    choice.groups = batches * fewest * parts(geometry.channels, choice.form.channels);
    // Each item of the window's.
    choice.cycles = static_cast<double>(choice.window.tileH) * choice.window.tileW *
                    choice.form.channels / kItems * window.filterH * window.filterW * 10;
    return fewest != 0;
}

}  // namespace

Status addTiledProduct(StepPlan& step, const Geometry& geometry, Activation activation) {
    const std::vector<Choice> choices =
            choicesOf(step, kForms, kMatrixForms, geometry, [&](Choice& each) {
                each.groups = parts(geometry.pixels, each.form.pixels) *
                              parts(geometry.channelsPerGroup, each.form.channels) *
                              geometry.groups();
                return true;
            });
    const WeightedSum sum = weightedSumOf(step, activation);
    const Stages stages = stagesOf(step);
    const std::string defines = (geometry.isPointwise() ? define("POINTWISE") : "") +
                                storageDefines(step) + stages.defines;
    const auto plan = [&](StepPlan& own, const Choice& choice) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiled, defines + choice.defines(own)));
        addArguments(*launch, own, sum, geometry);
        launch->withAll(stages.arguments);
        launch->items = {static_cast<size_t>(
                                 parts(geometry.channelsPerGroup, choice.form.channels) * kItems),
                         static_cast<size_t>(parts(geometry.pixels, choice.form.pixels)),
                         static_cast<size_t>(geometry.groups())};
        launch->work = workOf(choice, geometry);
        return {};
    };
    return choose(step, "product " + defines, std::array{geometry}, choices, plan);
}

Status addTiledExpansion(StepPlan& step, const Geometry& geometry, Activation activation,
                         size_t which, const Geometry& window, Activation depthwiseActivation) {
    const std::vector<Choice> choices =
            choicesOf(step, kExpansionForms, kMatrixExpansionForms, geometry,
                      [&](Choice& each) { return layTiles(each, geometry, window); });
    const WeightedSum sum = weightedSumOf(step, activation);
    const WeightedSum windowSum = weightedSumOf(step, depthwiseActivation, which);
    const Stages inner = stagesOf(step, {.first = 1, .end = which, .name = "INNER_STAGES"});
    const Stages stages = stagesOf(step, {.first = which + 1, .end = step.nodeCount()});
    const std::string defines = (geometry.isPointwise() ? define("POINTWISE") : "") +
                                define("DEPTHWISE") + define("FILTER_H", window.filterH) +
                                define("FILTER_W", window.filterW) +
                                define("V", storageOf(step.input(1, which).type)) +
                                storageDefines(step) + inner.defines + stages.defines;
    const auto plan = [&](StepPlan& own, const Choice& choice) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiled, defines + choice.defines(own)));
        addArguments(*launch, own, sum, geometry);
        launch->with(own.in(1, which)).with(own.in(2, which)).with(windowSum.multipliers);
        launch->with(choice.window).with(windowSum.numbers);
        launch->withAll(inner.arguments).withAll(stages.arguments);
        const int64_t columns = parts(geometry.channels, choice.form.channels);
        launch->items = {static_cast<size_t>(columns * kItems),
                         static_cast<size_t>(choice.groups / columns), 1};
        launch->work = workOf(choice, geometry);
        return {};
    };
    return choose(step, "expansion " + defines, std::array{geometry, window}, choices, plan);
}

bool fitsExpansion(const Shape& filter, const Window2d& window) {
    const int64_t reachH = int64_t{filter[1] - 1} * window.dilationH + 1;
    const int64_t reachW = int64_t{filter[2] - 1} * window.dilationW + 1;
    // Of a tile of two pixels by two, at the least.
    return (reachH + window.strideH) * (reachW + window.strideW) <=
           std::ranges::min(kExpansionForms, {}, &TileForm::pixels).pixels;
}

}  // namespace halyard::engine::gpu
