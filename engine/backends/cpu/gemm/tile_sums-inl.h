// SPDX-License-Identifier: Apache-2.0
//
// Sums of products that are in tiles, for amx_int8_gemm-inl.h: for sources that targets.h compiles
// once for each instruction set.
//
// Tiles: eight registers of 16 rows of 64 bytes each, which are those of the thread between
// configure() and release(). Sums are tiles 0 to 3, as [two of rows][two of columns]; left ones 4
// and 5; right ones 6 and 7.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_TILE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_TILE_SUMS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_TILE_SUMS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_TILE_SUMS_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/gemm/tile_bytes-inl.h"
#include "engine/backends/cpu/gemm/tile_places.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// How far ahead of four tiles of rows a panel is fetched, to the L1d.
constexpr int64_t kTallAhead = int64_t{4} << 10;
constexpr int64_t kLine = 64;  // bytes that are fetched at once
constexpr ptrdiff_t kSumsStride = kTileColumns * sizeof(int32_t);

// In place of RowsBetween, where no rows become bytes.
struct NoRows {
    template <int kProduct>
    HWY_INLINE void behind() {}
};

template <typename Tiles, bool kSigned>
class TileSums {
  public:
    // Where tiles of rows begin.
    using Lefts = std::array<const uint8_t*, kGroupTiles>;

    // Tiles of sums that are none go to `nowhere`.
    HWY_INLINE TileSums(int64_t panelBytes, int32_t* nowhere)
        : mPanelBytes(panelBytes), mNowhere(nowhere) {}

    // From now on panels are fetched while tiles are in work: these, so many bytes at each depth.
    // Of blocks of more than two tiles of rows, the panel's own, as far as these go.
    void fetch(const std::byte* begin, const std::byte* end, int64_t bytes) {
        mAhead = begin;
        mAheadEnd = end;
        mAheadStep = bytes;
    }

    // The sums of kR tiles of rows with kV panels, which stay in tiles. kStores: those of the block
    // before go to memory as soon as each tile is wanted. kFirst: that block was the last one of
    // the rows that become bytes meanwhile.
    template <int kR, int kV, bool kStores, bool kFirst, typename Between>
    HWY_INLINE void compute(const PlacedRows& rows, const Lefts& a, const std::byte* panel,
                            Between& between) {
        const std::byte* w = panel + sizeof(PanelHead);
        Step step = {.stride = rows.stride, .toSecond = mPanelBytes};
        for (size_t r = 1; r < kR; ++r) {
            step.toRows[r] = a[r] - a[0];
        }
        const std::byte* ahead = mAhead;
        const auto fetch = [&]() HWY_ATTR __attribute__((always_inline)) {
            if constexpr (kR > 2) {
                if (w + kTallAhead < mAheadEnd) {
                    HALYARD_UNROLL
                    for (int64_t i = 0; i < kTileBytes; i += kLine) {
                        __builtin_prefetch(w + kTallAhead + i, 0, 3);
                    }
                }
                return;
            }
            for (int64_t i = 0; i < mAheadStep && ahead < mAheadEnd; i += kLine) {
                __builtin_prefetch(ahead, 0, 2);
                ahead += kLine;
            }
        };
        bool begins = true;
        for (const ptrdiff_t run : rows.runs) {
            const uint8_t* x = a[0] + run;
            const uint8_t* const end = x + rows.runLength;
            if (begins) {
                begins = false;
                multiplyStep<kR, kV, true, kStores, kFirst>(x, w, step, between);
                fetch();
                x += kTileDepth;
                w += kTileBytes;
            }
            for (; x < end; x += kTileDepth) {
                multiplyStep<kR, kV, false, false, false>(x, w, step, between);
                fetch();
                w += kTileBytes;
            }
        }
        mAhead = ahead;
    }

    // Where the sums of a block go that are in tiles: from `sums` on. Tiles that the block does not
    // have go to memory that is never read.
    template <int kR, int kV>
    HWY_INLINE void note(int32_t* sums) {
        for (int tile = 0; tile < 4; ++tile) {
            mInTiles[static_cast<size_t>(tile)] =
                    tile < kR * kV ? sums + tile % kV * panelInts(kR) + tile / kV * kTileInts
                                   : mNowhere;
        }
    }
    HWY_INLINE void store() const {
        storeTile<0>();
        storeTile<1>();
        storeTile<2>();
        storeTile<3>();
    }

  private:
    // The values that all of a block share.
    struct Step {
        ptrdiff_t stride = 0;
        int64_t toSecond = 0;  // from a panel to the next
        // From the first tile's rows to those of each.
        std::array<ptrdiff_t, kGroupTiles> toRows = {};
    };

    // A depth of kTileDepth: from `x` on of the rows, from `w` on of the panels. kBegins: the first
    // one of a block. kStores: tiles have sums of the block before.
    template <int kR, int kV, bool kBegins, bool kStores, bool kFirst, typename Between>
    HWY_INLINE void multiplyStep(const uint8_t* x, const std::byte* w, const Step& step,
                                 Between& between) const {
        multiplyTile<kR, kV, kBegins, kStores, kFirst, 0>(x, w, step, between);
        multiplyTile<kR, kV, kBegins, kStores, kFirst, 1>(x, w, step, between);
        multiplyTile<kR, kV, kBegins, kStores, kFirst, 2>(x, w, step, between);
        multiplyTile<kR, kV, kBegins, kStores, kFirst, 3>(x, w, step, between);
    }

    // The product of one of the tiles of sums. A tile of rows is read for the first of its
    // products, and one of a panel as well. Behind the last one it is zeroed: where two threads are
    // on a core, each has so few registers behind the names of its eight tiles that a load waits
    // until what was there has been multiplied. A tile of zeros has none.
    template <int kR, int kV, bool kBegins, bool kStores, bool kFirst, int kSum, typename Between>
    HWY_INLINE void multiplyTile(const uint8_t* x, const std::byte* w, const Step& step,
                                 Between& between) const {
        constexpr int kRow = kSum / kV;
        constexpr int kColumn = kSum % kV;
        if constexpr (kStores) {
            storeTile<kSum>();
        }
        if constexpr (kSum < kR * kV) {
            if constexpr (kBegins) {
                Tiles::template zero<kSum>();
            }
            if constexpr (kColumn == 0) {
                Tiles::template load<rowTile(kRow)>(x + step.toRows[kRow], step.stride);
            }
            if constexpr (kRow == 0) {
                Tiles::template load<6 + kColumn>(w + kColumn * step.toSecond, kTileDepth);
            }
            Tiles::template multiply<kSigned, kSum, rowTile(kRow), 6 + kColumn>();
            // In a block's first step vectors have the most to do, and zeros would take a tenth of
            // their time.
            if constexpr (!kBegins && kColumn == kV - 1) {
                Tiles::template zero<rowTile(kRow)>();
            }
            if constexpr (!kBegins && kRow == kR - 1) {
                Tiles::template zero<6 + kColumn>();
            }
            if constexpr (!kFirst || kSum > 0) {
                between.template behind<kSum>();
            }
        }
        // kFirst: the sums of a row's panels are there once two tiles of them have been stored, or
        // all.
        if constexpr (kFirst && kSum == 3) {
            between.template behind<0>();
        }
    }
    // The tile that has the rows of a block's so many-th: there are two for all of them.
    static constexpr int rowTile(int row) { return 4 + row % 2; }

    template <int kTile>
    HWY_INLINE void storeTile() const {
        Tiles::template store<kTile>(mInTiles[kTile], kSumsStride);
    }

    const int64_t mPanelBytes;
    int32_t* const mNowhere;
    std::array<int32_t*, 4> mInTiles = {};  // where sums in tiles go
    const std::byte* mAhead = nullptr;
    const std::byte* mAheadEnd = nullptr;
    int64_t mAheadStep = 0;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
