// SPDX-License-Identifier: Apache-2.0
//
// What items of a group sum up for a tile, for each kernel that has tiles.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A tile has TM rows by TN columns, each the sum of the products of a row of TM and one of TN in
// local memory, of ROW_WORDS words, of which ROW count. SLICES of the group's items take their own
// share of these. With MATRIX a warp's items have sums together, as MATRIX_MULTIPLY has them.
//
// SUMS_OF_ITEM declares the item's `slice`, where its rows and columns begin (`m`, `n`), and its
// sums, which are none yet. ADD_PRODUCTS(xs, ws) adds a round's, without MATRIX.
// PUT_DOWN_SUMS(sums) puts them into local memory, where whole_sum() is an element's of all slices.
inline constexpr std::string_view kTileSumsText = R"(
#define ITEMS 256
#define max_of(a, b) ((a) > (b) ? (a) : (b))
#define SUM_ROW (TN + 8)
#define SUM_WORDS (SLICES * TM * SUM_ROW)
#define ROOM max_of(BUFFERS * TILE_WORDS, SUM_WORDS)

#ifdef MATRIX
#define WARPS_M (TM / 16 / WARP_TILES_M)
#define WARPS_N (TN / 8 / WARP_TILES_N)
#define SUMS_OF_ITEM                                                   \
    const int warp = lane / 32;                                        \
    const int slice = warp / (WARPS_M * WARPS_N);                      \
    const int m = warp % WARPS_M * (16 * WARP_TILES_M);                \
    const int n = warp / WARPS_M % WARPS_N * (8 * WARP_TILES_N);       \
    SUM sum[WARP_TILES_M][WARP_TILES_N][4];                            \
    UNROLL for (int i = 0; i < WARP_TILES_M; ++i) {                    \
        UNROLL for (int j = 0; j < WARP_TILES_N; ++j) {                \
            UNROLL for (int c = 0; c < 4; ++c) {                       \
                sum[i][j][c] = 0;                                      \
            }                                                          \
        }                                                              \
    }
#define PUT_DOWN_SUMS(sums)                                                             \
    UNROLL for (int i = 0; i < WARP_TILES_M; ++i) {                                     \
        UNROLL for (int j = 0; j < WARP_TILES_N; ++j) {                                 \
            const int to = (slice * TM + m + 16 * i + lane % 32 / 4) * SUM_ROW + n +    \
                           8 * j + lane % 4 * 2;                                        \
            sums[to] = sum[i][j][0];                                                    \
            sums[to + 1] = sum[i][j][1];                                                \
            sums[to + 8 * SUM_ROW] = sum[i][j][2];                                      \
            sums[to + 8 * SUM_ROW + 1] = sum[i][j][3];                                  \
        }                                                                               \
    }
#else
#define ITEMS_N (TN / RN)
#define ITEMS_M (TM / RM)
#define SUMS_OF_ITEM                                  \
    const int slice = lane / (ITEMS_M * ITEMS_N);     \
    const int m = lane / ITEMS_N % ITEMS_M;           \
    const int n = lane % ITEMS_N;                     \
    SUM sum[RM][RN];                                  \
    UNROLL for (int i = 0; i < RM; ++i) {             \
        UNROLL for (int j = 0; j < RN; ++j) {         \
            sum[i][j] = 0;                            \
        }                                             \
    }
#define ADD_PRODUCTS(xs, ws)                                                                      \
    UNROLL for (int at = slice * 4; at < ROW; at += 4 * SLICES) {                                 \
        uint4 factors[RN];                                                                        \
        UNROLL for (int j = 0; j < RN; ++j) {                                                     \
            factors[j] = *(const __local uint4*)((ws) + (n + j * ITEMS_N) * ROW_WORDS + at);      \
        }                                                                                         \
        UNROLL for (int i = 0; i < RM; ++i) {                                                     \
            const uint4 factor =                                                                  \
                    *(const __local uint4*)((xs) + (m + i * ITEMS_M) * ROW_WORDS + at);           \
            UNROLL for (int j = 0; j < RN; ++j) {                                                 \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s0, factors[j].s0);                        \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s1, factors[j].s1);                        \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s2, factors[j].s2);                        \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s3, factors[j].s3);                        \
            }                                                                                     \
        }                                                                                         \
    }
#define PUT_DOWN_SUMS(sums)                                                                       \
    UNROLL for (int i = 0; i < RM; ++i) {                                                         \
        UNROLL for (int j = 0; j < RN; ++j) {                                                     \
            sums[(slice * TM + m + i * ITEMS_M) * SUM_ROW + n + j * ITEMS_N] = sum[i][j];         \
        }                                                                                         \
    }
#endif

SUM whole_sum(const __local SUM* const sums, const int row, const int column) {
    SUM whole = sums[row * SUM_ROW + column];
UNROLL
    for (int other = 1; other < SLICES; ++other) {
        whole += sums[(other * TM + row) * SUM_ROW + column];
    }
    return whole;
}
)";

}  // namespace halyard::engine::gpu
