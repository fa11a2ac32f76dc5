// SPDX-License-Identifier: Apache-2.0
//
// The kernel of addTiledBatchGemm(), behind the texts of its family.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A work-group computes a tile of TM rows by TN columns of one result of the batch. A stage of the
// pipeline has ROW words of each row of a and each column of b in local memory. GROUP_SPLIT_K is
// split-K within the work-group.
//
// An operand comes vector by vector along K, or with ..._ACROSS element by element: eight
// neighbours across K for every four along it. So a warp reads whole sectors of memory, and writes
// to every bank of local memory once.
inline constexpr std::string_view kTiledBatchGemmText = R"(
#define STEP (ROW * PACK)
#define ROW_WORDS (ROW + 4)
#define VECTORS (STEP / VECTOR_ELEMENTS)
#define ROWS_APART (WORK_ITEMS / VECTORS)
#define TILE_WORDS ((TM + TN) * ROW_WORDS)

#if PACK == 1
#define ONE(T, p, i) as_uint((float)LOAD(T, p, i))
#define KEEP_ONE(row, k, bits) (row)[k] = (bits)
#else
#define ONE(T, p, i) (uint)((const __global BITS(T)*)(p))[i]
#define KEEP_ONE(row, k, bits) ((__local BITS(X)*)(row))[k] = (BITS(X))(bits)
#endif

// A work-item brings so many vectors or elements of ROWS: number i is at row MY_ROW and MY_K of a
// stage.
#define ROWS_VECTORS(ROWS) ((ROWS + ROWS_APART - 1) / ROWS_APART)
#define ROWS_ACROSS(ROWS) (ROWS * STEP / WORK_ITEMS)
#define PLACE_ACROSS(i) (lane / 32 + (i) * (WORK_ITEMS / 32))
#define MY_ROW_ACROSS(ROWS, i) (PLACE_ACROSS(i) % (ROWS / 8) * 8 + lane % 8)
#define MY_K_ACROSS(ROWS, i) (PLACE_ACROSS(i) / (ROWS / 8) * 4 + lane / 8 % 4)
#define MY_ROW_VECTORS(ROWS, i) (lane / VECTORS + (i) * ROWS_APART)
#define MY_K_VECTORS(ROWS, i) (lane % VECTORS * VECTOR_ELEMENTS)
#define FETCH_ACROSS(T, p, i) ONE(T, p, i)
#define FETCH_VECTORS(T, p, i) FETCH(T, p, i)
#define KEEP_ACROSS(row, k, bits) KEEP_ONE(row, k, bits)
#if VECTOR_ELEMENTS == 1
#define KEEP_VECTORS(row, k, bits) KEEP_ONE(row, k, bits)
#else
#define KEEP_VECTORS(row, k, bits) KEEP(row, (k) / VECTOR_ELEMENTS, bits)
#endif
#define Fetched_ACROSS uint
#define Fetched_VECTORS Vector
#define FETCH_ROWS(WAY, T, ROWS, next, p, start, first, end, row_stride, k_stride) \
    for (int i = 0; i < ROWS_##WAY(ROWS); ++i) { \
        const int row = MY_ROW_##WAY(ROWS, i); \
        const int k = begin + STEP + MY_K_##WAY(ROWS, i); \
        next[i] = (Fetched_##WAY)(0); \
        if (row < ROWS && (first) + row < (end) && k < numbers.depth) { \
            next[i] = FETCH_##WAY( \
                    T, p, (start) + ((first) + row) * (row_stride) + k * (k_stride)); \
        } \
    }
#define KEEP_ROWS(WAY, ROWS, next, rows) \
    for (int i = 0; i < ROWS_##WAY(ROWS); ++i) { \
        const int row = MY_ROW_##WAY(ROWS, i); \
        if (row < ROWS) { \
            KEEP_##WAY((rows) + row * ROW_WORDS, MY_K_##WAY(ROWS, i), next[i]); \
        } \
    }

#ifdef A_ACROSS
#define A_EACH ROWS_ACROSS(TM)
#define Fetched_A Fetched_ACROSS
#define FETCH_A \
    FETCH_ROWS(ACROSS, X, TM, next_a, pa, a_start, tile_row, numbers.rows, numbers.a_row, \
               numbers.a_inner)
#define KEEP_A(rows) KEEP_ROWS(ACROSS, TM, next_a, rows)
#else
#define A_EACH ROWS_VECTORS(TM)
#define Fetched_A Fetched_VECTORS
#define FETCH_A \
    FETCH_ROWS(VECTORS, X, TM, next_a, pa, a_start, tile_row, numbers.rows, numbers.a_row, 1)
#define KEEP_A(rows) KEEP_ROWS(VECTORS, TM, next_a, rows)
#endif
#ifdef B_ACROSS
#define B_EACH ROWS_ACROSS(TN)
#define Fetched_B Fetched_ACROSS
#define FETCH_B \
    FETCH_ROWS(ACROSS, W, TN, next_b, pb, b_start, tile_column, numbers.columns, \
               numbers.b_column, numbers.b_inner)
#define KEEP_B(rows) KEEP_ROWS(ACROSS, TN, next_b, rows)
#else
#define B_EACH ROWS_VECTORS(TN)
#define Fetched_B Fetched_VECTORS
#define FETCH_B \
    FETCH_ROWS(VECTORS, W, TN, next_b, pb, b_start, tile_column, numbers.columns, \
               numbers.b_column, 1)
#define KEEP_B(rows) KEEP_ROWS(VECTORS, TN, next_b, rows)
#endif

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void tiled_batch_gemm(
        GEMM_PARAMETERS EPILOGUES_PARAMETERS) {
    __local uint local_memory[LOCAL_WORDS] __attribute__((aligned(128)));
    EXCHANGE;
    const int lane = (int)get_local_id(0);
    const int tile_column = (int)(get_global_id(0) / WORK_ITEMS) * TN;
    const int tile_row = (int)get_global_id(1) * TM;
    const int batch = (int)get_global_id(2);
    BIND_GEMM;
    Fetched_A next_a[A_EACH];
    Fetched_B next_b[B_EACH];
#ifdef QUANTIZED
    __local int row_sums[TM + TN];
    int row_sum = 0;
#endif
    SUMS_OF_ITEM
    int buffer = 0;
    for (int begin = -STEP; begin < numbers.depth; begin += STEP) {
        __local uint* const as = local_memory + buffer * TILE_WORDS;
        __local uint* const bs = as + TM * ROW_WORDS;
        buffer = PIPELINE_STAGES - 1 - buffer;
        if (begin >= 0) {
UNROLL
            KEEP_A(as)
UNROLL
            KEEP_B(bs)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (begin + STEP < numbers.depth) {
UNROLL
            FETCH_A
UNROLL
            FETCH_B
        }
        if (begin >= 0) {
#ifdef QUANTIZED
            if (lane < TM + TN) {
                const __local uint* const row = as + lane * ROW_WORDS;
                for (int at = 0; at < ROW; ++at) {
                    row_sum += lane < TM ? WORD_BYTES(X, row[at]) : WORD_BYTES(W, row[at]);
                }
            }
#endif
#ifdef MATRIX
UNROLL
            for (int at = group_split * 8; at < ROW; at += 8 * GROUP_SPLIT_K) {
                uint b[WARP_TILES_N][2];
UNROLL
                for (int j = 0; j < WARP_TILES_N; ++j) {
                    const __local uint* const from =
                            bs + (n + 8 * j + lane % 32 / 4) * ROW_WORDS + at + lane % 4;
                    b[j][0] = FACTOR(from[0]);
                    b[j][1] = FACTOR(from[4]);
                }
UNROLL
                for (int i = 0; i < WARP_TILES_M; ++i) {
                    const __local uint* const from =
                            as + (m + 16 * i + lane % 32 / 4) * ROW_WORDS + at + lane % 4;
                    const uint a0 = FACTOR(from[0]);
                    const uint a1 = FACTOR(from[8 * ROW_WORDS]);
                    const uint a2 = FACTOR(from[4]);
                    const uint a3 = FACTOR(from[8 * ROW_WORDS + 4]);
UNROLL
                    for (int j = 0; j < WARP_TILES_N; ++j) {
                        MATRIX_MULTIPLY(sum[i][j], a0, a1, a2, a3, b[j][0], b[j][1]);
                    }
                }
            }
#else
            MULTIPLY_TILES(as, bs)
#endif
        }
#if PIPELINE_STAGES == 1
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
#if PIPELINE_STAGES > 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

    __local SUM* const sums = (__local SUM*)local_memory;
    PUT_DOWN_SUMS(sums)
#ifdef QUANTIZED
    if (lane < TM + TN) {
        row_sums[lane] = row_sum;
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

    const int column = lane % TN;
UNROLL
    for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {
        const int row = lane / TN + i * (WORK_ITEMS / TN);
        if (tile_row + row < numbers.rows && tile_column + column < numbers.columns) {
            SUM whole = whole_sum(sums, row, column);
#ifdef QUANTIZED
            whole = WITH_ZEROS(whole, numbers.depth, row_sums[row], row_sums[TM + column]);
#endif
            PUT(whole, tile_row + row, tile_column + column);
        }
    }
}
)";

}  // namespace halyard::engine::gpu
