// SPDX-License-Identifier: Apache-2.0
//
// The 8-bit micro-kernel on NEON without sums of products of bytes.
// For sources that targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_NEON_WIDENING_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_NEON_WIDENING_TILES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_NEON_WIDENING_TILES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_NEON_WIDENING_TILES_INL_H_
#endif

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

// Products of 8 bytes of depth in 16 bits each, which are added to 32 bits in pairs: each column of
// a row has a vector of its own, whose lanes are added in the end. kSmallWeights: no weight is
// -128, so that the sum of two products fits 16 bits as well.
template <bool kSmallWeights>
struct WideningTiles {
    using OfSmallWeights = WideningTiles<true>;
    static constexpr std::string_view kName = "2x2";
    static constexpr int kGroup = 8;
    static constexpr int kGroupsTogether = 2;
    static constexpr int kRowStep = 1;
    static constexpr int kMostPanels = 1;
    static constexpr int rowsOf(int /*panels*/) { return 2; }

    template <int kR, int kPanels>
    static void compute(const RowTiles& given) {
        static_assert(kPanels == 1);
        const RowTiles tiles = given;  // which no store of bytes changes
        TileWalk<kR> walk(tiles);
        for (int64_t i = 0; i < tiles.tiles; ++i) {
            walk.begin(tiles);
            int32x4_t partial[kR][kPanelColumns];
            multiply<kR>(tiles, walk.a, partial);
            int32x4_t sums[kR][2];
            HALYARD_UNROLL
            for (int v = 0; v < 2; ++v) {
                const int32x4_t biases = biasesOf(tiles, v);
                HALYARD_UNROLL
                for (int r = 0; r < kR; ++r) {
                    const int32x4_t* const four = partial[r] + v * 4;
                    sums[r][v] = vaddq_s32(biases, vpaddq_s32(vpaddq_s32(four[0], four[1]),
                                                              vpaddq_s32(four[2], four[3])));
                }
            }
            if (HWY_UNLIKELY(tiles.rowSums != nullptr)) {
                addCorrections<kR, 1>(tiles, walk.rowSums, sums);
            }
            storeRows<kR, 1>(tiles, sums, walk.c);
            walk.end(tiles);
        }
    }

  private:
    template <bool kFirst>
    static HWY_INLINE void add(int32x4_t& sum, int16x8_t products) {
        sum = kFirst ? sumsOfPairs(products) : addPairs(sum, products);
    }

    // The products of rows with two columns of weights. kFirst: partial sums begin with these.
    // kDepth: 8 or 16 bytes.
    template <bool kFirst, int kDepth, int kR>
    static HWY_INLINE void twoColumns(const int8x16_t (&x)[kR], int8x16_t first, int8x16_t second,
                                      int32x4_t (&partial)[kR][kPanelColumns], int column) {
        int16x8_t products[kR][2];
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            products[r][0] = productsOfLower(x[r], first);
            products[r][1] = productsOfLower(x[r], second);
        }
        if constexpr (kDepth == 16 && !kSmallWeights) {
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                add<kFirst>(partial[r][column], products[r][0]);
                add<kFirst>(partial[r][column + 1], products[r][1]);
            }
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                products[r][0] = productsOfUpper(x[r], first);
                products[r][1] = productsOfUpper(x[r], second);
            }
        } else if constexpr (kDepth == 16) {
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                products[r][0] = addProductsOfUpper(products[r][0], x[r], first);
                products[r][1] = addProductsOfUpper(products[r][1], x[r], second);
            }
        }
        constexpr bool kBegins = kFirst && (kSmallWeights || kDepth == 8);
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            add<kBegins>(partial[r][column], products[r][0]);
            add<kBegins>(partial[r][column + 1], products[r][1]);
        }
    }

    // 16 bytes of depth. Weights are loaded before the products that come before theirs.
    template <bool kFirst, int kR>
    static HWY_INLINE void step(const int8_t* (&rows)[kR], const int8_t*& w,
                                int32x4_t (&partial)[kR][kPanelColumns]) {
        int8x16_t x[kR];
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            x[r] = vld1q_s8(rows[r]);
            rows[r] += 16;
        }
        int8x16_t columns[kPanelColumns];
        columns[0] = vld1q_s8(w);
        columns[1] = vld1q_s8(w + 16);
        HALYARD_UNROLL
        for (int c = 0; c < kPanelColumns; c += 2) {
            if (c + 2 < kPanelColumns) {
                columns[c + 2] = vld1q_s8(w + (c + 2) * 16);
                columns[c + 3] = vld1q_s8(w + (c + 3) * 16);
            }
            twoColumns<kFirst, 16>(x, columns[c], columns[c + 1], partial, c);
        }
        w += kPanelColumns * 16;
    }

    // The last 8, of which columns have no others behind them.
    template <bool kFirst, int kR>
    static HWY_INLINE void lastStep(const int8_t* (&rows)[kR], const int8_t*& w,
                                    int32x4_t (&partial)[kR][kPanelColumns]) {
        int8x16_t x[kR];
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            x[r] = loadEight(rows[r]);
        }
        HALYARD_UNROLL
        for (int c = 0; c < kPanelColumns; c += 2) {
            twoColumns<kFirst, 8>(x, loadEight(w + c * 8), loadEight(w + c * 8 + 8), partial, c);
        }
        w += kPanelColumns * 8;
    }

    template <int kR>
    static HWY_INLINE void beginRun(const RowTiles& tiles, const int8_t* a,
                                    const int8_t* (&rows)[kR]) {
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            rows[r] = a + r * tiles.aRow;
        }
    }

    template <int kR>
    static HWY_INLINE void multiply(const RowTiles& tiles, const int8_t* a,
                                    int32x4_t (&partial)[kR][kPanelColumns]) {
        const int64_t runLength = tiles.runLength;
        if (HWY_UNLIKELY(runLength == 0)) {
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                HALYARD_UNROLL
                for (int c = 0; c < kPanelColumns; ++c) {
                    partial[r][c] = vdupq_n_s32(0);
                }
            }
            return;
        }
        const int8_t* w = weightsOf(tiles, 0);
        const int8_t* rows[kR];
        const int64_t whole = runLength / 16;
        const bool hasLast = runLength % 16 != 0;
        beginRun(tiles, a + tiles.runs.front(), rows);
        int64_t left = whole;
        bool wantsLast = hasLast;
        if (left > 0) {
            step<true>(rows, w, partial);
            --left;
        } else {
            lastStep<true>(rows, w, partial);
            wantsLast = false;
        }
        for (const ptrdiff_t* run = tiles.runs.data();;) {
            if (left > 0) {
                do {
                    step<false>(rows, w, partial);
                } while (--left > 0);
            }
            if (wantsLast) {
                lastStep<false>(rows, w, partial);
            }
            if (++run == tiles.runs.data() + tiles.runs.size()) {
                break;
            }
            beginRun(tiles, a + *run, rows);
            left = whole;
            wantsLast = hasLast;
        }
    }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
