// SPDX-License-Identifier: Apache-2.0
//
// The kernel of addTiledGemm() and of what is fused with it, behind the texts of its family.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A work-group computes a tile of TM rows (positions) by TN columns (channels) of the output. It
// multiplies one stage of its operands (kTileLoadText) while the next stages are filled.
// GROUP_SPLIT_K is split-K within the work-group: so many of its work-items have work where a tile
// is small. Sums go to local memory at the end, from where neighbouring work-items take
// neighbouring elements, so that stores are whole lines, and the epilogue is the same for each
// form.
//
// MATRIX: the device's matrix unit multiplies (vendor/matrix_unit.h). SPLIT_K: work-groups share a
// tile, each has its part of K, and the last of them adds up, always in the same order. POOLED: a
// tile has all positions of a feature map, and the work-group stores means (kTileMeanText).
inline constexpr std::string_view kTiledGemmText = R"(
// Stages of the pipeline that are filled while one is multiplied.
#ifdef ASYNC_COPY
#define STAGES_AHEAD (PIPELINE_STAGES - 1)
#else
#define STAGES_AHEAD 1
#endif

#ifdef SPLIT_K
// `count` work-groups share a tile, and each has `length` elements of K. The last of them finds in
// the counter that the others are done, and leaves it at 0.
typedef struct {
    int count;
    int length;
} SplitK;
#define SPLIT_K_PARAMETERS , OUT(partial_sums), OUT(done), const SplitK split
#define FIRST_SPLIT (split_index == 0)
#ifdef QUANTIZED
#define ELEMENT_SUMS uint
#else
#define ELEMENT_SUMS float
#endif
#else
#define SPLIT_K_PARAMETERS
#define FIRST_SPLIT 1
#endif

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void tiled_gemm(
        PARAMETERS SPLIT_K_PARAMETERS DEPTHWISE_PARAMETERS POOL_PARAMETERS EPILOGUES_PARAMETERS) {
    BIND_ALL;
    __local uint local_memory[LOCAL_WORDS] __attribute__((aligned(128)));
    EXCHANGE;
#ifdef SPLIT_K
    __local int is_last;
#endif
    const int lane = (int)get_local_id(0);
    const int tile = (int)get_global_id(1);
#ifdef SPLIT_K
    BIND_OUT(SUMS, partial_sums);
    BIND_OUT(I32, done);
    const int group = GROUP / split.count;
    const int split_index = GROUP - group * split.count;
#else
    const int group = GROUP;
#endif
    const int tile_channel = (int)(get_global_id(0) / WORK_ITEMS) * TN;
    const int group_channel = group * g.channels_per_group;
#ifdef QUANTIZED
    __local int x_sums[TM];
    __local int w_sums[TN];
    for (int i = lane; i < TM; i += WORK_ITEMS) {
        x_sums[i] = 0;
    }
    for (int i = lane; i < TN; i += WORK_ITEMS) {
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
// The position of the output that is row m of the tile, or -1.
#ifdef DEPTHWISE
    __local int positions[TM];
    if (lane < TM) {
        const int down = lane / d.halo_w;
        const int y = halo_y + down;
        const int x = halo_x + lane - down * d.halo_w;
        positions[lane] = down < d.halo_h && y >= 0 && y < g.output_h && x >= 0 && x < g.output_w
                               ? (batch * g.output_h + y) * g.output_w + x
                               : -1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#define POSITION(m) positions[m]
#elif defined(POOLED)
    const int map_positions = g.output_h * g.output_w;
#define POSITION(m) ((m) < map_positions ? tile * map_positions + (m) : -1)
#else
#define POSITION(m) (tile * TM + (m) < g.positions ? tile * TM + (m) : -1)
#endif

    // A work-item finishes sums of one channel alone.
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

    // This work-item brings the same place of each of its rows.
    const int my_vector = lane % VECTORS;
    Rows rows;
    rows.row = lane / VECTORS;
    rows.depth = g.filter_h * g.filter_w * g.group_depth;
    rows.w_start = (group_channel + tile_channel + rows.row) * rows.depth;
    rows.w_rows = g.channels_per_group - tile_channel - rows.row;
    int length = rows.depth;
#ifndef POINTWISE
    rows.across = g.filter_w;
    rows.padded_part = g.group_depth;
#ifdef GATHERS
    // Neighbours under a row of the filter are neighbours in memory, where nothing lies between.
    rows.is_whole = g.group_depth == g.depth && g.dilation_w == 1;
    rows.across = rows.is_whole ? 1 : g.filter_w;
    rows.part = rows.is_whole ? g.filter_w * g.group_depth : g.group_depth;
    rows.padded_part = (rows.part + PACK - 1) / PACK * PACK;
    length = g.filter_h * rows.across * rows.padded_part;
#endif
#endif
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        const int row = rows.row + i * ROWS_APART;
        const int position = BRINGS(row, TM) ? POSITION(row) : -1;
#ifdef POINTWISE
        rows.starts[i] = position < 0 ? -1 : position * g.depth + group * g.group_depth;
#else
        const int line = position / g.output_w;
        const int batch_of_x = line / g.output_h;
        const int y = (line - batch_of_x * g.output_h) * g.stride_h - g.top;
        rows.ys[i] = position < 0 ? -1000000000 : y;
        rows.xs[i] = (position - line * g.output_w) * g.stride_w - g.left;
        rows.starts[i] = ((batch_of_x * g.height + y) * g.width + rows.xs[i]) * g.depth +
                         group * g.group_depth;
#endif
    }
    int begin = 0;
#ifdef SPLIT_K
    begin = split_index * split.length;
    length = min(length, begin + split.length);
#endif
    start_rows(&rows, begin + my_vector * VECTOR_ELEMENTS, length);
    __local uint* const my_words = local_memory + rows.row * ROW_WORDS + my_vector * VECTOR_WORDS;
    Vector next_x[X_EACH];
    Vector next_w[W_EACH];
    SUMS_OF_ITEM
#ifdef MATRIX
    // The address of the matrix row that this work-item tells the warp of.
    const LocalAddress x_address = LOCAL_ADDRESS(local_memory) +
                        ((m + lane % 16) * ROW_WORDS + group_split * 8 + lane % 32 / 16 * 4) * 4;
    const LocalAddress w_address = LOCAL_ADDRESS(local_memory) +
                        ((TM + n + lane % 8 + lane % 32 / 16 * 8) * ROW_WORDS + group_split * 8 +
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
#ifdef ASYNC_COPY
    int empty = STAGES_AHEAD;
    for (int i = 0; i < STAGES_AHEAD; ++i) {
        bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_words + i * TILE_WORDS);
        COMMIT_STAGE();
        move_rows(&rows);
    }
#else
    bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_words);
    move_rows(&rows);
#endif
    for (; begin < length; begin += STEP) {
#ifdef ASYNC_COPY
        WAIT_FOR_STAGES(STAGES_AHEAD - 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_words + empty * TILE_WORDS);
        COMMIT_STAGE();
        empty = empty == PIPELINE_STAGES - 1 ? 0 : empty + 1;
#else
        __local uint* const xs = local_memory + full * TILE_WORDS;
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
        bring_rows(&rows, px, pw, g, padding, next_x, next_w, my_words);
#endif
#ifdef MATRIX
UNROLL
        for (int at = 0; at < ROW; at += 8 * GROUP_SPLIT_K) {
            const uint from = (full * TILE_WORDS + at) * 4;
            uint w[WARP_TILES_N][2];
UNROLL
            for (int j = 0; j + 1 < WARP_TILES_N; j += 2) {
                LOAD_FOUR(w[j][0], w[j][1], w[j + 1][0], w[j + 1][1],
                          w_address + from + 8 * j * ROW_WORDS * 4);
            }
#if WARP_TILES_N % 2 != 0
            LOAD_TWO(w[WARP_TILES_N - 1][0], w[WARP_TILES_N - 1][1],
                     w_address + from + 8 * (WARP_TILES_N - 1) * ROW_WORDS * 4);
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
                LOAD_FOUR(x[0], x[1], x[2], x[3], x_address + from + 16 * i * ROW_WORDS * 4);
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
#ifdef ASYNC_COPY
        const __local uint* const xs = local_memory + full * TILE_WORDS;
        const __local uint* const ws = xs + TM * ROW_WORDS;
#endif
        MULTIPLY_TILES(xs, ws)
#endif
        move_rows(&rows);
        full = full == PIPELINE_STAGES - 1 ? 0 : full + 1;
#if PIPELINE_STAGES == 1
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
#ifdef ASYNC_COPY
    WAIT_FOR_STAGES(0);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

    __local SUM* const sums = (__local SUM*)local_memory;
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
    __local VALUE(X)* const values = (__local VALUE(X)*)local_memory;
#endif
    SUM whole[TM * TN / WORK_ITEMS];
UNROLL
    for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {
        const int row = lane / TN + i * (WORK_ITEMS / TN);
        whole[i] = whole_sum(sums, row, column);
#ifdef QUANTIZED
        whole[i] = WITH_ZEROS(whole[i], FIRST_SPLIT ? rows.depth : 0, x_sums[row],
                              w_sums[column]);
#endif
    }
#ifdef SPLIT_K
    const int tiles_across = (g.channels_per_group + TN - 1) / TN;
#ifdef POOLED
    const int tiles_down = g.positions / map_positions;
#else
    const int tiles_down = (g.positions + TM - 1) / TM;
#endif
    const int tile_number = (group * tiles_down + tile) * tiles_across + tile_channel / TN;
    __global SUM* const partials = partial_sums + tile_number * split.count * TM * TN + lane;
UNROLL
    for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {
        partials[split_index * TM * TN + i * WORK_ITEMS] = whole[i];
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
        for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {
            whole[i] += partials[other * TM * TN + i * WORK_ITEMS];
        }
    }
#endif
#ifndef DEPTHWISE
    // All are ready before the first is stored: what the epilogue reads may then come together.
    VALUE(R) values[TM * TN / WORK_ITEMS];
#endif
UNROLL
    for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {
        const int row = lane / TN + i * (WORK_ITEMS / TN);
        const int position = POSITION(row);
        const int at = max(position, 0) * g.channels + channel;
        whole[i] += start;
#ifdef DEPTHWISE
        VALUE(X) value = FINISH_WITH(whole[i], multiplier);
        INNER_EPILOGUE(value, at)
        values[row * SUM_ROW + column] =
                position >= 0 && has_channel ? value : window_numbers.x_zero;
#else
        VALUE(R) value = FINISH_WITH(whole[i], multiplier);
        EPILOGUE_OF_GEMM(value, at)
        values[i] = value;
#endif
    }
#ifdef POOLED
    STORE_MEANS(values)
#elif !defined(DEPTHWISE)
UNROLL
    for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {
        const int position = POSITION(lane / TN + i * (WORK_ITEMS / TN));
        if (position >= 0 && has_channel) {
            STORE(R, output, position * g.channels + channel, values[i]);
        }
    }
#endif
#ifdef DEPTHWISE
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = lane / TN; e < d.tile_h * d.tile_w; e += WORK_ITEMS / TN) {
        const int y = e / d.tile_w;
        const int x = e - y * d.tile_w;
        if (tile_y + y < d.output_h && tile_x + x < d.output_w && has_channel) {
            VALUE(R) value = depthwise(
                    values + (y * d.stride_h * d.halo_w + x * d.stride_w) * SUM_ROW + column,
                    weights, window_start, window_multiplier, d, window_numbers);
            const int at = ((batch * d.output_h + tile_y + y) * d.output_w + tile_x + x) *
                                   g.channels + channel;
            EPILOGUE(value, at)
            STORE(R, output, at, value);
        }
    }
#endif
}
)";

}  // namespace halyard::engine::gpu
