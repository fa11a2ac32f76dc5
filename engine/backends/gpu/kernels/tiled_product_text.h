// SPDX-License-Identifier: Apache-2.0
//
// The kernel of addTiledProduct() and its like, behind the texts of their family.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A group has TM pixels by TN channels of the output, of which it multiplies a round's part of the
// rows (kTileRowsText, which stands before) while those of the next are on their way. SLICES of the
// group's items take their own share of each round's products, and their sums come together in the
// end, so that many items have work where there are few pixels. What they have summed is then put
// down in local memory, from where items take neighbours: so stores are whole lines, and what
// follows is the same for each form of product.
//
// With MATRIX products are the device's own, of 16 pixels by 8 channels by 8 words, for the 32
// items of a warp together. With SPLITS groups share a tile where there are few: each has its part
// of the rows, and the last that is done adds up, always in the same order, and finishes. With
// POOLED a tile has the pixels of a picture, all of them, and the group stores means
// (kTileMeansText).
inline constexpr std::string_view kTilesText = R"(
// Rounds that are on their way while one is at work.
#ifdef COPIES
#define AHEAD (BUFFERS - 1)
#else
#define AHEAD 1
#endif

#ifdef SPLITS
// `count` groups share a tile, `length` elements of its rows each. What the last one of them finds
// in the counter, which it leaves at none, tells that the others are done.
typedef struct {
    int count;
    int length;
} Split;
#define SPLIT_PARAMETERS , OUT(partial_sums), OUT(done), const Split split
#define FIRST_SHARE (share == 0)
#ifdef QUANTIZED
#define ELEMENT_SUMS uint
#else
#define ELEMENT_SUMS float
#endif
#else
#define SPLIT_PARAMETERS
#define FIRST_SHARE 1
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void multiply_tiled(
        PARAMETERS SPLIT_PARAMETERS DEPTHWISE_PARAMETERS POOL_PARAMETERS STAGE_PARAMETERS) {
    BIND_ALL;
    __local uint room[ROOM] __attribute__((aligned(128)));
    EXCHANGE;
#ifdef SPLITS
    __local int is_last;
#endif
    const int lane = (int)get_local_id(0);
    const int tile = (int)get_global_id(1);
#ifdef SPLITS
    BIND_OUT(SUMS, partial_sums);
    BIND_OUT(I32, done);
    const int group = GROUP / split.count;
    const int share = GROUP - group * split.count;
#else
    const int group = GROUP;
#endif
    const int tile_channel = (int)(get_global_id(0) / ITEMS) * TN;
    const int group_channel = group * g.channels_per_group;
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
#elif defined(POOLED)
    const int picture_pixels = g.output_h * g.output_w;
#define PIXEL(m) ((m) < picture_pixels ? tile * picture_pixels + (m) : -1)
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
    SUM window_start = START_OF(window_bias, channel);
    const float window_multiplier = MULTIPLIER(window_multipliers, window_numbers, channel);
    VALUE(V) weights[FILTER_H * FILTER_W];
UNROLL
    for (int i = 0; i < FILTER_H * FILTER_W; ++i) {
        weights[i] = LOAD(V, pv, i * g.channels + channel);
#ifdef QUANTIZED
        weights[i] -= window_numbers.weight_zero;
        window_start -= (uint)(window_numbers.x_zero * weights[i]);
#endif
    }
#endif

    // What this item brings: always the same place of a row.
    const int my_vector = lane % VECTORS;
    Rows rows;
    rows.row = lane / VECTORS;
    rows.products = g.filter_h * g.filter_w * g.group_depth;
    rows.w_start = (group_channel + tile_channel + rows.row) * rows.products;
    rows.w_rows = g.channels_per_group - tile_channel - rows.row;
    int length = rows.products;
#ifndef POINTWISE
    rows.across = g.filter_w;
    rows.room = g.group_depth;
#ifdef GATHERS
    // Neighbours under a row of the filter are neighbours in memory, where nothing lies between.
    rows.is_whole = g.group_depth == g.depth && g.dilation_w == 1;
    rows.across = rows.is_whole ? 1 : g.filter_w;
    rows.part = rows.is_whole ? g.filter_w * g.group_depth : g.group_depth;
    rows.room = (rows.part + PACK - 1) / PACK * PACK;
    length = g.filter_h * rows.across * rows.room;
#endif
#endif
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        const int row = rows.row + i * ROWS_APART;
        const int pixel = BRINGS(row, TM) ? PIXEL(row) : -1;
#ifdef POINTWISE
        rows.starts[i] = pixel < 0 ? -1 : pixel * g.depth + group * g.group_depth;
#else
        const int line = pixel / g.output_w;
        const int batch_of_x = line / g.output_h;
        const int y = (line - batch_of_x * g.output_h) * g.stride_h - g.top;
        rows.ys[i] = pixel < 0 ? -1000000000 : y;
        rows.xs[i] = (pixel - line * g.output_w) * g.stride_w - g.left;
        rows.starts[i] = ((batch_of_x * g.height + y) * g.width + rows.xs[i]) * g.depth +
                         group * g.group_depth;
#endif
    }
    int begin = 0;
#ifdef SPLITS
    begin = share * split.length;
    length = min(length, begin + split.length);
#endif
    start_rows(&rows, begin + my_vector * VECTOR_ELEMENTS, length);
    __local uint* const my_room = room + rows.row * ROW_WORDS + my_vector * VECTOR_WORDS;
    Vector next_x[X_EACH];
    Vector next_w[W_EACH];
    SUMS_OF_ITEM
#ifdef MATRIX
    // Of the row of a matrix that this item tells the warp of.
    const LocalAddress x_room = LOCAL_ADDRESS(room) +
                        ((m + lane % 16) * ROW_WORDS + slice * 8 + lane % 32 / 16 * 4) * 4;
    const LocalAddress w_room = LOCAL_ADDRESS(room) +
                        ((TM + n + lane % 8 + lane % 32 / 16 * 8) * ROW_WORDS + slice * 8 +
                         lane / 8 % 2 * 4) * 4;
#endif
#ifdef QUANTIZED
#ifdef MATRIX
    // One warp adds up what several multiply.
    const bool adds_x = WEIGHT_ZERO != 0 && n == 0;
    const bool adds_w = numbers.x_zero != 0 && m == 0;
    uint x_sum[WARP_TILES_M][2];
    uint w_sum[WARP_TILES_N];
UNROLL
    for (int i = 0; i < WARP_TILES_M; ++i) {
        x_sum[i][0] = 0;
        x_sum[i][1] = 0;
    }
UNROLL
    for (int j = 0; j < WARP_TILES_N; ++j) {
        w_sum[j] = 0;
    }
#else
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
#endif
#ifdef QUANTIZED
    const uint padding = (uint)(numbers.x_zero & 255) * ONES;
#else
    const uint padding = 0;
#endif
    int full = 0;
#ifdef COPIES
    int empty = AHEAD;
    for (int i = 0; i < AHEAD; ++i) {
        bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_room + i * TILE_WORDS);
        END_COPIES();
        move_rows(&rows);
    }
#else
    bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_room);
    move_rows(&rows);
#endif
    for (; begin < length; begin += STEP) {
#ifdef COPIES
        WAIT_FOR_COPIES(AHEAD - 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_room + empty * TILE_WORDS);
        END_COPIES();
        empty = empty == BUFFERS - 1 ? 0 : empty + 1;
#else
        __local uint* const xs = room + full * TILE_WORDS;
        __local uint* const ws = xs + TM * ROW_WORDS;
UNROLL
        for (int i = 0; i < X_EACH; ++i) {
            if (BRINGS(rows.row + i * ROWS_APART, TM)) {
                KEEP(xs + (rows.row + i * ROWS_APART) * ROW_WORDS, my_vector, next_x[i]);
#if defined(QUANTIZED) && !defined(MATRIX)
                x_sum[i] += WEIGHT_ZERO != 0 ? ROW_SUM(X, next_x[i]) : 0;
#endif
            }
        }
UNROLL
        for (int i = 0; i < W_EACH; ++i) {
            if (BRINGS(rows.row + i * ROWS_APART, TN)) {
                KEEP(ws + (rows.row + i * ROWS_APART) * ROW_WORDS, my_vector, next_w[i]);
#if defined(QUANTIZED) && !defined(MATRIX)
                w_sum[i] += ROW_SUM(W, next_w[i]);
#endif
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_room);
#endif
#ifdef MATRIX
UNROLL
        for (int at = 0; at < ROW; at += 8 * SLICES) {
            const uint from = (full * TILE_WORDS + at) * 4;
            uint w[WARP_TILES_N][2];
UNROLL
            for (int j = 0; j + 1 < WARP_TILES_N; j += 2) {
                LOAD_FOUR(w[j][0], w[j][1], w[j + 1][0], w[j + 1][1],
                          w_room + from + 8 * j * ROW_WORDS * 4);
            }
#if WARP_TILES_N % 2 != 0
            LOAD_TWO(w[WARP_TILES_N - 1][0], w[WARP_TILES_N - 1][1],
                     w_room + from + 8 * (WARP_TILES_N - 1) * ROW_WORDS * 4);
#endif
UNROLL
            for (int j = 0; j < WARP_TILES_N; ++j) {
                w[j][0] = FACTOR(w[j][0]);
                w[j][1] = FACTOR(w[j][1]);
#ifdef QUANTIZED
                if (adds_w) {
                    w_sum[j] = dot4(ONES, w[j][0], dot4(ONES, w[j][1], w_sum[j]));
                }
#endif
            }
UNROLL
            for (int i = 0; i < WARP_TILES_M; ++i) {
                uint x[4];
                LOAD_FOUR(x[0], x[1], x[2], x[3], x_room + from + 16 * i * ROW_WORDS * 4);
#ifdef QUANTIZED
                if (adds_x) {
                    x_sum[i][0] = dot4(x[0], ONES, dot4(x[2], ONES, x_sum[i][0]));
                    x_sum[i][1] = dot4(x[1], ONES, dot4(x[3], ONES, x_sum[i][1]));
                }
#endif
UNROLL
                for (int c = 0; c < 4; ++c) {
                    x[c] = FACTOR(x[c]);
                }
UNROLL
                for (int j = 0; j < WARP_TILES_N; ++j) {
                    MATRIX_MULTIPLY(sum[i][j], x[0], x[1], x[2], x[3], w[j][0], w[j][1]);
                }
            }
        }
#else
#ifdef COPIES
        const __local uint* const xs = room + full * TILE_WORDS;
        const __local uint* const ws = xs + TM * ROW_WORDS;
#endif
        ADD_PRODUCTS(xs, ws)
#endif
        move_rows(&rows);
        full = full == BUFFERS - 1 ? 0 : full + 1;
#if BUFFERS == 1
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
#ifdef COPIES
    WAIT_FOR_COPIES(0);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

    __local SUM* const sums = (__local SUM*)room;
    PUT_DOWN_SUMS(sums)
#if defined(QUANTIZED) && defined(MATRIX)
    if (adds_x) {
UNROLL
        for (int i = 0; i < WARP_TILES_M; ++i) {
            atomic_add(x_sums + m + 16 * i + lane % 32 / 4, (int)x_sum[i][0]);
            atomic_add(x_sums + m + 16 * i + lane % 32 / 4 + 8, (int)x_sum[i][1]);
        }
    }
    if (adds_w) {
UNROLL
        for (int j = 0; j < WARP_TILES_N; ++j) {
            atomic_add(w_sums + n + 8 * j + lane % 32 / 4, (int)w_sum[j]);
        }
    }
#elif defined(QUANTIZED)
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        if (rows.row + i * ROWS_APART < TM) {
            atomic_add(x_sums + rows.row + i * ROWS_APART, x_sum[i]);
        }
    }
UNROLL
    for (int i = 0; i < W_EACH; ++i) {
        if (rows.row + i * ROWS_APART < TN) {
            atomic_add(w_sums + rows.row + i * ROWS_APART, w_sum[i]);
        }
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

#ifdef DEPTHWISE
    __local VALUE(X)* const values = (__local VALUE(X)*)room;
#endif
    SUM whole[TM * TN / ITEMS];
UNROLL
    for (int i = 0; i < TM * TN / ITEMS; ++i) {
        const int row = lane / TN + i * (ITEMS / TN);
        whole[i] = whole_sum(sums, row, column);
#ifdef QUANTIZED
        whole[i] = WITH_ZEROS(whole[i], FIRST_SHARE ? rows.products : 0, x_sums[row],
                              w_sums[column]);
#endif
    }
#ifdef SPLITS
    const int tiles_across = (g.channels_per_group + TN - 1) / TN;
#ifdef POOLED
    const int tiles_down = g.pixels / picture_pixels;
#else
    const int tiles_down = (g.pixels + TM - 1) / TM;
#endif
    const int tile_number = (group * tiles_down + tile) * tiles_across + tile_channel / TN;
    __global SUM* const shares = partial_sums + tile_number * split.count * TM * TN + lane;
UNROLL
    for (int i = 0; i < TM * TN / ITEMS; ++i) {
        shares[share * TM * TN + i * ITEMS] = whole[i];
        whole[i] = 0;
    }
    FENCE();
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (lane == 0) {
        is_last = atomic_add(done + tile_number, 1) == split.count - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!is_last) {
        return;
    }
    FENCE();
    if (lane == 0) {
        done[tile_number] = 0;
    }
    _Pragma("unroll 4") for (int other = 0; other < split.count; ++other) {
UNROLL
        for (int i = 0; i < TM * TN / ITEMS; ++i) {
            whole[i] += shares[other * TM * TN + i * ITEMS];
        }
    }
#endif
#ifndef DEPTHWISE
    // All are ready before the first is stored: what a stage reads may then come together.
    VALUE(R) values[TM * TN / ITEMS];
#endif
UNROLL
    for (int i = 0; i < TM * TN / ITEMS; ++i) {
        const int row = lane / TN + i * (ITEMS / TN);
        const int pixel = PIXEL(row);
        const int at = max(pixel, 0) * g.channels + channel;
        whole[i] += start;
#ifdef DEPTHWISE
        VALUE(X) value = FINISH_WITH(whole[i], multiplier);
        INNER_STAGES(value, at)
        values[row * SUM_ROW + column] = pixel >= 0 && has_channel ? value : window_numbers.x_zero;
#else
        VALUE(R) value = FINISH_WITH(whole[i], multiplier);
        STAGES_OF_PRODUCT(value, at)
        values[i] = value;
#endif
    }
#ifdef POOLED
    STORE_MEANS(values)
#elif !defined(DEPTHWISE)
UNROLL
    for (int i = 0; i < TM * TN / ITEMS; ++i) {
        const int pixel = PIXEL(lane / TN + i * (ITEMS / TN));
        if (pixel >= 0 && has_channel) {
            STORE(R, output, pixel * g.channels + channel, values[i]);
        }
    }
#endif
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
