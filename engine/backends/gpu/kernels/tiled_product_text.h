// SPDX-License-Identifier: Apache-2.0
//
// The kernel of addTiledProduct() and addTiledExpansion(), behind the texts of their family.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A group has TM pixels by TN channels of the output. Rows of both factors, ROW words of each at a
// time, lie in local memory while those of the next round are on their way. SLICES of the group's
// items take their own share of each round's products, and their sums come together in the end, so
// that many items have work where there are few pixels. What they have summed is then put down in
// local memory, from where items take neighbours: so stores are whole lines, and what follows is
// the same for each form of product.
//
// With MATRIX products are the device's own, of 16 pixels by 8 channels by 8 words, for the 32
// items of a warp together.
inline constexpr std::string_view kTilesText = R"(
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
    const int group = GROUP;
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

}  // namespace halyard::engine::gpu
