// SPDX-License-Identifier: Apache-2.0
//
// Sums of a tile in a work-group's registers, for each kernel that has tiles.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A tile has TM rows by TN columns. Each is the sum over K of a row of TM and one of TN in local
// memory, ROW_WORDS apart, of which a stage has ROW words. GROUP_SPLIT_K of the work-group's
// work-items have a share of K each. With MATRIX a warp has sums together, as MATRIX_MULTIPLY has.
//
// SUMS_OF_ITEM declares the work-item's `group_split`, where its rows and columns begin (`m`, `n`),
// and its sums, which are 0. MULTIPLY_TILES(xs, ws) adds a stage's, without MATRIX.
// PUT_DOWN_SUMS(sums) puts them into local memory, where whole_sum() adds up those of all shares.
inline constexpr std::string_view kTileAccumulateText = R"(
#define WORK_ITEMS 256
// A matrix unit may have local memory of its own.
#ifndef EXCHANGE
#define EXCHANGE
#endif
#define max_of(a, b) ((a) > (b) ? (a) : (b))
#define SUM_ROW (TN + 8)
#define SUM_WORDS (GROUP_SPLIT_K * TM * SUM_ROW)
#define LOCAL_WORDS max_of(PIPELINE_STAGES * TILE_WORDS, SUM_WORDS)

#ifdef MATRIX
#define WARPS_M (TM / 16 / WARP_TILES_M)
#define WARPS_N (TN / 8 / WARP_TILES_N)
#define SUMS_OF_ITEM                                             \
    const int warp = lane / 32;                                  \
    const int group_split = warp / (WARPS_M * WARPS_N);          \
    const int m = warp % WARPS_M * (16 * WARP_TILES_M);          \
    const int n = warp / WARPS_M % WARPS_N * (8 * WARP_TILES_N); \
    SUM sum[WARP_TILES_M][WARP_TILES_N][4];                      \
    UNROLL for (int i = 0; i < WARP_TILES_M; ++i) {              \
        UNROLL for (int j = 0; j < WARP_TILES_N; ++j) {          \
            UNROLL for (int c = 0; c < 4; ++c) {                 \
                sum[i][j][c] = 0;                                \
            }                                                    \
        }                                                        \
    }
#define PUT_DOWN_SUMS(sums)                                                                \
    UNROLL for (int i = 0; i < WARP_TILES_M; ++i) {                                        \
        UNROLL for (int j = 0; j < WARP_TILES_N; ++j) {                                    \
            const int to = (group_split * TM + m + 16 * i + lane % 32 / 4) * SUM_ROW + n + \
                           8 * j + lane % 4 * 2;                                           \
            sums[to] = sum[i][j][0];                                                       \
            sums[to + 1] = sum[i][j][1];                                                   \
            sums[to + 8 * SUM_ROW] = sum[i][j][2];                                         \
            sums[to + 8 * SUM_ROW + 1] = sum[i][j][3];                                     \
        }                                                                                  \
    }
#else
#define WORK_ITEMS_N (TN / RN)
#define WORK_ITEMS_M (TM / RM)
#define SUMS_OF_ITEM                                              \
    const int group_split = lane / (WORK_ITEMS_M * WORK_ITEMS_N); \
    const int m = lane / WORK_ITEMS_N % WORK_ITEMS_M;             \
    const int n = lane % WORK_ITEMS_N;                            \
    SUM sum[RM][RN];                                              \
    UNROLL for (int i = 0; i < RM; ++i) {                         \
        UNROLL for (int j = 0; j < RN; ++j) {                     \
            sum[i][j] = 0;                                        \
        }                                                         \
    }
#define MULTIPLY_TILES(xs, ws)                                                                    \
    UNROLL for (int at = group_split * 4; at < ROW; at += 4 * GROUP_SPLIT_K) {                    \
        uint4 factors[RN];                                                                        \
        UNROLL for (int j = 0; j < RN; ++j) {                                                     \
            factors[j] = *(const __local uint4*)((ws) + (n + j * WORK_ITEMS_N) * ROW_WORDS + at); \
        }                                                                                         \
        UNROLL for (int i = 0; i < RM; ++i) {                                                     \
            const uint4 factor =                                                                  \
                    *(const __local uint4*)((xs) + (m + i * WORK_ITEMS_M) * ROW_WORDS + at);      \
            UNROLL for (int j = 0; j < RN; ++j) {                                                 \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s0, factors[j].s0);                        \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s1, factors[j].s1);                        \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s2, factors[j].s2);                        \
                sum[i][j] = WORD_SUM(sum[i][j], factor.s3, factors[j].s3);                        \
            }                                                                                     \
        }                                                                                         \
    }
#define PUT_DOWN_SUMS(sums)                                                                    \
    UNROLL for (int i = 0; i < RM; ++i) {                                                      \
        UNROLL for (int j = 0; j < RN; ++j) {                                                  \
            sums[(group_split * TM + m + i * WORK_ITEMS_M) * SUM_ROW + n + j * WORK_ITEMS_N] = \
                    sum[i][j];                                                                 \
        }                                                                                      \
    }
#endif

SUM whole_sum(const __local SUM* const sums, const int row, const int column) {
    SUM whole = sums[row * SUM_ROW + column];
UNROLL
    for (int other = 1; other < GROUP_SPLIT_K; ++other) {
        whole += sums[(other * TM + row) * SUM_ROW + column];
    }
    return whole;
}
)";

}  // namespace halyard::engine::gpu
