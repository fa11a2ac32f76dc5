// SPDX-License-Identifier: Apache-2.0
//
// 8-bit micro-kernels on NEON with sums of products of bytes, sdot and smmla. Rows are read 16
// bytes at a time and multiplied by lane, without copies of their elements. For sources that
// targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_NEON_DOT_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_NEON_DOT_TILES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_NEON_DOT_TILES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_NEON_DOT_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/neon_row_tiles-inl.h"
#include "engine/backends/cpu/vectors/integer_products-inl.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// sdot.
struct DotTiles {
    static constexpr std::string_view kName = "6x4";
    static constexpr int kGroup = 4;
    static constexpr int kGroupsTogether = 1;
    static constexpr int kRowStep = 1;  // rows that a tile is better a multiple of
    static constexpr int kMostPanels = 4;
    static constexpr int rowsOf(int panels) { return panels == 1 ? 8 : panels == 2 ? 6 : 3; }

    template <int kR, int kPanels>
    static void compute(const RowTiles& given) {
        const RowTiles tiles = given;  // which no store of bytes changes
        TileWalk<kR> walk(tiles);
        for (int64_t i = 0; i < tiles.tiles; ++i) {
            walk.begin(tiles);
            int32x4_t sums[kR][2 * kPanels];
            HALYARD_UNROLL
            for (int v = 0; v < 2 * kPanels; ++v) {
                const int32x4_t biases = biasesOf(tiles, v);
                HALYARD_UNROLL
                for (int r = 0; r < kR; ++r) {
                    sums[r][v] = biases;
                }
            }
            multiply<kR, kPanels>(tiles, walk.a, sums);
            if (HWY_UNLIKELY(tiles.rowSums != nullptr)) {
                addCorrections<kR, kPanels>(tiles, walk.rowSums, sums);
            }
            storeRows<kR, kPanels>(tiles, sums, walk.c);
            walk.end(tiles);
        }
    }

  private:
    // Four bytes of depth of each row, by lane.
    template <int kLane, int kR, int kPanels>
    static HWY_INLINE void step(const int8x16_t (&x)[kR], const int8_t* (&w)[kPanels],
                                int32x4_t (&sums)[kR][2 * kPanels]) {
        HALYARD_UNROLL
        for (int p = 0; p < kPanels; ++p) {
            const int8x16_t first = vld1q_s8(w[p]);
            const int8x16_t second = vld1q_s8(w[p] + 16);
            w[p] += 32;
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                sums[r][2 * p] = addDotLane<kLane>(sums[r][2 * p], first, x[r]);
                sums[r][2 * p + 1] = addDotLane<kLane>(sums[r][2 * p + 1], second, x[r]);
            }
        }
    }

    template <int kR, int kPanels>
    static HWY_INLINE void multiply(const RowTiles& tiles, const int8_t* a,
                                    int32x4_t (&sums)[kR][2 * kPanels]) {
        const int8_t* w[kPanels];
        HALYARD_UNROLL
        for (int p = 0; p < kPanels; ++p) {
            w[p] = weightsOf(tiles, p);
        }
        for (const ptrdiff_t run : tiles.runs) {
            const int8_t* rows[kR];
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                rows[r] = a + run + r * tiles.aRow;
            }
            int8x16_t x[kR];
            const int64_t whole = tiles.runLength / 16 * 16;
            for (int64_t k = 0; k < whole; k += 16) {
                HALYARD_UNROLL
                for (int r = 0; r < kR; ++r) {
                    x[r] = vld1q_s8(rows[r] + k);
                }
                step<0, kR, kPanels>(x, w, sums);
                step<1, kR, kPanels>(x, w, sums);
                step<2, kR, kPanels>(x, w, sums);
                step<3, kR, kPanels>(x, w, sums);
            }
            if ((tiles.runLength & 8) != 0) {
                HALYARD_UNROLL
                for (int r = 0; r < kR; ++r) {
                    x[r] = loadEight(rows[r] + whole);
                }
                step<0, kR, kPanels>(x, w, sums);
                step<1, kR, kPanels>(x, w, sums);
            }
            if ((tiles.runLength & 4) != 0) {
                HALYARD_UNROLL
                for (int r = 0; r < kR; ++r) {
                    x[r] = loadFour(rows[r] + (tiles.runLength - 4));
                }
                step<0, kR, kPanels>(x, w, sums);
            }
        }
    }
};

// smmla. Two rows at a time; the last row of an odd number is multiplied twice. The vectors of
// sums are squares: two columns of a row, and of the next one.
struct SquareTiles {
    static constexpr std::string_view kName = "6x4";
    static constexpr int kGroup = 8;
    static constexpr int kGroupsTogether = 1;
    static constexpr int kRowStep = 2;
    static constexpr int kMostPanels = 4;
    static constexpr int rowsOf(int panels) { return panels == 1 ? 8 : panels == 2 ? 6 : 2; }

    template <int kR, int kPanels>
    static void compute(const RowTiles& given) {
        constexpr int kPairs = (kR + 1) / 2;
        const RowTiles tiles = given;  // which no store of bytes changes
        TileWalk<kR> walk(tiles);
        for (int64_t i = 0; i < tiles.tiles; ++i) {
            walk.begin(tiles);
            int32x4_t squares[kPairs][kPanels][4];
            HALYARD_UNROLL
            for (int v = 0; v < 4 * kPanels; ++v) {
                const int32x4_t biases = vreinterpretq_s32_s64(twice(tiles, v, 0));
                HALYARD_UNROLL
                for (int p = 0; p < kPairs; ++p) {
                    squares[p][v / 4][v % 4] = biases;
                }
            }
            multiply<kR, kPanels>(tiles, walk.a, squares);
            if (HWY_UNLIKELY(tiles.rowSums != nullptr)) {
                addSquareCorrections<kR, kPanels>(tiles, walk.rowSums, squares);
            }
            if (HWY_UNLIKELY(tiles.wantsSums)) {
                storeSquareSums<kR, kPanels>(tiles, squares, walk.c);
            } else {
                storeSquareBytes<kR, kPanels>(tiles, squares, walk.c);
            }
            walk.end(tiles);
        }
    }

  private:
    // The biases, or what lies so many bytes behind them, of two columns, and again.
    static HWY_INLINE int64x2_t twice(const RowTiles& tiles, int square, ptrdiff_t behind) {
        const std::byte* const panel = tiles.panels + square / 4 * tiles.panelBytes + behind;
        return vld1q_dup_s64(reinterpret_cast<const int64_t*>(panel) + square % 4);
    }

    template <int kR, int kPanels>
    static HWY_INLINE void addSquareCorrections(const RowTiles& tiles, const int32_t* rowSums,
                                                int32x4_t (&squares)[(kR + 1) / 2][kPanels][4]) {
        HALYARD_UNROLL
        for (int r = 0; r < kR; r += 2) {
            const int32x4_t correction =
                    vcombine_s32(vdup_n_s32(correctionOf(tiles, rowSums[r])),
                                 vdup_n_s32(correctionOf(tiles, rowSums[std::min(r + 1, kR - 1)])));
            HALYARD_UNROLL
            for (int v = 0; v < 4 * kPanels; ++v) {
                squares[r / 2][v / 4][v % 4] = vaddq_s32(squares[r / 2][v / 4][v % 4], correction);
            }
        }
    }

    // Eight bytes of depth of each row.
    template <int kPairs, int kPanels>
    static HWY_INLINE void step(const int8x16_t (&x)[kPairs], const int8_t* (&w)[kPanels],
                                int32x4_t (&squares)[kPairs][kPanels][4]) {
        HALYARD_UNROLL
        for (int v = 0; v < 4 * kPanels; v += 2) {
            const int8_t* const from = w[v / 4] + v % 4 * 16;
            const int8x16_t first = vld1q_s8(from);
            const int8x16_t second = vld1q_s8(from + 16);
            HALYARD_UNROLL
            for (int p = 0; p < kPairs; ++p) {
                int32x4_t* const two = squares[p][v / 4] + v % 4;
                two[0] = addSquare(two[0], x[p], first);
                two[1] = addSquare(two[1], x[p], second);
            }
        }
        HALYARD_UNROLL
        for (int p = 0; p < kPanels; ++p) {
            w[p] += 64;
        }
    }

    template <int kR, int kPanels>
    static HWY_INLINE void multiply(const RowTiles& tiles, const int8_t* a,
                                    int32x4_t (&squares)[(kR + 1) / 2][kPanels][4]) {
        constexpr int kPairs = (kR + 1) / 2;
        const int8_t* w[kPanels];
        HALYARD_UNROLL
        for (int p = 0; p < kPanels; ++p) {
            w[p] = weightsOf(tiles, p);
        }
        for (const ptrdiff_t run : tiles.runs) {
            const int8_t* rows[kR];
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                rows[r] = a + run + r * tiles.aRow;
            }
            int8x16_t low[kPairs];
            int8x16_t high[kPairs];
            const int64_t whole = tiles.runLength / 16 * 16;
            for (int64_t k = 0; k < whole; k += 16) {
                HALYARD_UNROLL
                for (int p = 0; p < kPairs; ++p) {
                    const int8x16_t even = vld1q_s8(rows[2 * p] + k);
                    const int8x16_t odd = vld1q_s8(rows[std::min(2 * p + 1, kR - 1)] + k);
                    low[p] = lowerHalves(even, odd);
                    high[p] = upperHalves(even, odd);
                }
                step<kPairs, kPanels>(low, w, squares);
                step<kPairs, kPanels>(high, w, squares);
            }
            if ((tiles.runLength & 8) != 0) {
                HALYARD_UNROLL
                for (int p = 0; p < kPairs; ++p) {
                    low[p] = vcombine_s8(vld1_s8(rows[2 * p] + whole),
                                         vld1_s8(rows[std::min(2 * p + 1, kR - 1)] + whole));
                }
                step<kPairs, kPanels>(low, w, squares);
            }
        }
    }

    template <int kR, int kPanels>
    static HWY_INLINE void storeSquareSums(const RowTiles& tiles,
                                           const int32x4_t (&squares)[(kR + 1) / 2][kPanels][4],
                                           std::byte* to) {
        int32x4_t sums[kR][2 * kPanels];
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            HALYARD_UNROLL
            for (int v = 0; v < 2 * kPanels; ++v) {
                const int64x2_t left = vreinterpretq_s64_s32(squares[r / 2][v / 2][v % 2 * 2]);
                const int64x2_t right = vreinterpretq_s64_s32(squares[r / 2][v / 2][v % 2 * 2 + 1]);
                sums[r][v] = vreinterpretq_s32_s64(r % 2 == 0 ? vzip1q_s64(left, right)
                                                              : vzip2q_s64(left, right));
            }
        }
        storeSums<kR, kPanels>(tiles, sums, to);
    }

    template <int kPanels>
    static HWY_INLINE RowBytes<kPanels> bytesOfRow(uint16x8_t columns) {
        const uint8x16_t bytes = vreinterpretq_u8_u16(columns);
        if constexpr (kPanels == 1) {
            return vget_low_u8(bytes);
        } else {
            return bytes;
        }
    }

    // Two rows' bytes of a panel: two columns of the one and two of the other by turns.
    template <typename Type>
    static HWY_INLINE uint16x8_t roundPanel(const NarrowedBytes& round,
                                            const int32x4_t (&squares)[4],
                                            const float32x4_t (&by)[4]) {
        return vreinterpretq_u16_u8(round.bytes<Type::kSigned, Type::kBounds>(
                round.narrowed(squares[0], squares[1], by[0], by[1]),
                round.narrowed(squares[2], squares[3], by[2], by[3])));
    }

    template <typename Type, int kR, int kPanels>
    static HWY_INLINE void roundSquares(const NarrowedBytes& round,
                                        const int32x4_t (&squares)[(kR + 1) / 2][kPanels][4],
                                        const float32x4_t (&by)[kPanels][4],
                                        RowBytes<kPanels> (&bytes)[kR][kRowVectors<kPanels>]) {
        HALYARD_UNROLL
        for (int r = 0; r < kR; r += 2) {
            HALYARD_UNROLL
            for (int p = 0; p < kPanels; p += 2) {
                const int other = std::min(p + 1, kPanels - 1);
                const uint16x8_t first = roundPanel<Type>(round, squares[r / 2][p], by[p]);
                const uint16x8_t second =
                        kPanels == 1 ? first
                                     : roundPanel<Type>(round, squares[r / 2][other], by[other]);
                bytes[r][p / 2] = bytesOfRow<kPanels>(vuzp1q_u16(first, second));
                if (r + 1 < kR) {
                    bytes[r + 1][p / 2] = bytesOfRow<kPanels>(vuzp2q_u16(first, second));
                }
            }
        }
    }

    template <int kR, int kPanels>
    static HWY_INLINE void storeSquareBytes(const RowTiles& tiles,
                                            const int32x4_t (&squares)[(kR + 1) / 2][kPanels][4],
                                            std::byte* to) {
        float32x4_t multipliers[kPanels][4];
        HALYARD_UNROLL
        for (int v = 0; v < 4 * kPanels; ++v) {
            multipliers[v / 4][v % 4] =
                    vreinterpretq_f32_s64(twice(tiles, v, kPanelColumns * sizeof(int32_t)));
        }
        const NarrowedBytes round(tiles.zeroPoint, tiles.low, tiles.high);
        RowBytes<kPanels> bytes[kR][kRowVectors<kPanels>];
        withBytesType(tiles, [&]<typename Type>() HWY_ATTR {
            roundSquares<Type, kR, kPanels>(round, squares, multipliers, bytes);
        });
        storeByteRows<kR, kPanels>(tiles, bytes, to);
    }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
