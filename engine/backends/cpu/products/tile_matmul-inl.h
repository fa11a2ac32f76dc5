// SPDX-License-Identifier: Apache-2.0
//
// The product of tile_matmul.h for any unit that multiplies tiles, the processor's or one that a
// test makes up: for sources that targets.h compiles once for each instruction set.
//
// Tiles: eight registers of 16 rows of 64 bytes each, which are those of the thread between
// configure() and release(). Sums are tiles 0 to 3, as [two of rows][two of columns]; left ones 4
// and 5; right ones 6 and 7.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/products/tile_bytes-inl.h"
#include "engine/backends/cpu/products/tile_matmul.h"
#include "engine/backends/cpu/products/tile_places.h"
#include "engine/backends/cpu/products/tile_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Tiles of rows that may be multiplied with a panel at once, and one less; their bytes at most; and
// how far ahead of them the panel is then fetched, to the first cache.
constexpr int64_t kTallTiles = 4;
constexpr int64_t kTallBytes = int64_t{42} << 10;
constexpr int64_t kTallAhead = int64_t{4} << 10;
// Panels that stay in the second cache while rows go by.
constexpr int64_t kChunkBytes = int64_t{96} << 10;
// All panels that stay there from rows to rows.
constexpr int64_t kStayingBytes = int64_t{1} << 20;
constexpr int64_t kLine = 64;  // bytes that are fetched at once

template <typename Tiles, bool kSigned>
class TileProduct {
  public:
    HWY_INLINE explicit TileProduct(const TileBlock& block)
        : mBlock(block),
          mMatrix(block.matrix),
          mPanelBytes(kTilePanels.panelBytes(block.depth)),
          mEnd(block),
          mSums(reinterpret_cast<int32_t*>(block.memory)),
          mRowSums(mSums + kGroupInts) {}

    void run() {
        Tiles::configure();
        if (mBlock.rowsAtOnce == 0) {
            const int64_t pitch = mMatrix.lines == 1 ? mMatrix.rows : mMatrix.aLine / mMatrix.aRow;
            multiply(
                    {.a = static_cast<const uint8_t*>(mMatrix.a),
                     .stride = mMatrix.aRow,
                     .runs = mMatrix.runs,
                     .runLength = mMatrix.runLength,
                     .count = rowsInPlace(mMatrix.lines, mMatrix.rows, mMatrix.aLine, mMatrix.aRow),
                     .readable = 0,
                     .first = 0,
                     .pitch = pitch});
        } else {
            static constexpr ptrdiff_t kRun[] = {0};
            auto* const copies = reinterpret_cast<uint8_t*>(mBlock.memory + kTileSumsBytes);
            const int64_t pitch = copyPitch(mBlock.depth);
            const TileRows own(mMatrix, pitch, copies + mBlock.rowsAtOnce * pitch + kTileDepth);
            const int64_t all = mMatrix.lines * mMatrix.rows;
            for (int64_t first = 0; first < all; first += mBlock.rowsAtOnce) {
                const int64_t count = std::min(mBlock.rowsAtOnce, all - first);
                own.copy(first, count, copies);
                multiply({.a = copies,
                          .stride = pitch,
                          .runs = kRun,
                          .runLength = mBlock.depth,
                          .count = count,
                          .readable = mBlock.rowsAtOnce,
                          .first = first,
                          .pitch = mMatrix.rows});
            }
        }
        Tiles::release();
    }

  private:
    static_assert((kGroupInts + kGroupTiles * kTileInts) * sizeof(int32_t) <= kTileSumsBytes);

    // Where tiles of rows begin.
    using Lefts = std::array<const uint8_t*, kGroupTiles>;

    void multiply(const PlacedRows& rows) {
        const int64_t tiles = rows.tiles();
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        if (isTall(rows, tiles)) {
            multiplyTall(rows, tiles, panels);
            return;
        }
        const int64_t inChunk =
                std::max<int64_t>(kChunkBytes / mPanelBytes / kGroupPanels, 1) * kGroupPanels;
        for (int64_t chunk = 0; chunk < panels; chunk += inChunk) {
            const int64_t end = std::min(chunk + inChunk, panels);
            fetchBeyond(rows, chunk, end, (tiles + 1) / 2);
            int64_t tile = 0;
            for (; tile + 2 <= tiles; tile += 2) {
                multiplyRows<2>(rows, tile, chunk, end);
            }
            if (tile < tiles) {
                multiplyRows<1>(rows, tile, chunk, end);
            }
        }
    }

    // Whether all rows are multiplied with each panel at once, so that weights are read once: where
    // these come from beyond the second cache, that is what takes the time. The first cache has to
    // keep the rows meanwhile.
    static bool isTall(const PlacedRows& rows, int64_t tiles) {
        return (tiles == kTallTiles || tiles == kTallTiles - 1) && rows.bytes() <= kTallBytes;
    }

    // A function of its own: what multiply() calls is then still part of it.
    HWY_NOINLINE void multiplyTall(const PlacedRows& rows, int64_t tiles, int64_t panels) {
        mAheadEnd = mMatrix.panels + panels * mPanelBytes + mBlock.bytesBehind;
        if (tiles == kTallTiles) {
            multiplyRows<kTallTiles>(rows, 0, 0, panels);
        } else {
            multiplyRows<kTallTiles - 1>(rows, 0, 0, panels);
        }
    }

    // What is fetched while so many blocks of rows are in work, in equal parts: the chunk behind,
    // once for all rows if the second cache keeps all panels. Never what other threads read: that
    // takes the time of what they wait for.
    void fetchBeyond(const PlacedRows& rows, int64_t panel, int64_t end, int64_t blocks) {
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        const std::byte* const behind = mMatrix.panels + end * mPanelBytes;
        const bool isThere = rows.first > 0 && panels * mPanelBytes <= kStayingBytes;
        const int64_t bytes = std::min((end - panel) * mPanelBytes,
                                       (panels - end) * mPanelBytes + mBlock.bytesBehind);
        const int64_t steps = blocks * ((end - panel + 1) / 2) * (mBlock.depth / kTileDepth);
        mAhead = behind;
        mAheadEnd = isThere ? behind : behind + bytes;
        mAheadStep = std::max<int64_t>(bytes / kLine / std::max<int64_t>(steps, 1), 1) * kLine;
    }

    template <int kR>
    HWY_INLINE void multiplyRows(const PlacedRows& rows, int64_t tile, int64_t panel, int64_t end) {
        Lefts a = {};
        bool isWhole = true;
        for (int r = 0; r < kR; ++r) {
            const int64_t first = rows.firstRow(tile + r);
            a[static_cast<size_t>(r)] = rows.a + first * rows.stride;
            ptrdiff_t* const to = &mRowOffsets[static_cast<size_t>(r * kTileRows)];
            isWhole &= rows.place(mMatrix, first, to);
            // What was there to be added may have been replaced.
            const int64_t again = (tile + r) * kTileRows - first;
            if (mEnd.addend != nullptr && again > 0) {
                std::fill_n(to, again, kNowhere);
                isWhole = false;
            }
        }
        mRowsAreWhole = isWhole;
        if (mMatrix.weightsZero != 0) {
            sumRows<kR>(rows, a);
        }
        for (; panel < end; panel += kGroupPanels) {
            computeGroup<kR>(rows, a, panel, std::min(panel + kGroupPanels, end));
        }
    }

    // What the weights' zero point makes of each row.
    template <int kR>
    void sumRows(const PlacedRows& rows, const Lefts& a) {
        alignas(64) static constexpr auto kOnes = [] {
            std::array<int8_t, kTileDepth> ones = {};
            ones.fill(1);
            return ones;
        }();
        Tiles::template load<6>(kOnes.data(), 0);
        for (int r = 0; r < kR; ++r) {
            Tiles::template zero<7>();
            for (const ptrdiff_t run : rows.runs) {
                for (int64_t k = 0; k < rows.runLength; k += kTileDepth) {
                    Tiles::template load<4>(a[static_cast<size_t>(r)] + run + k, rows.stride);
                    Tiles::template multiply<kSigned, 7, 4, 6>();
                }
            }
            Tiles::template store<7>(mRowSums + r * kTileInts, kSumsStride);
        }
        const auto factor = static_cast<uint32_t>(-mMatrix.weightsZero);
        for (int64_t row = 0; row < kR * kTileRows; ++row) {
            mCorrections[static_cast<size_t>(row)] = static_cast<int32_t>(
                    static_cast<uint32_t>(mRowSums[row * kTileColumns]) * factor);
        }
    }

    // The sums of kR tiles of rows with up to kGroupPanels panels, which then become bytes: as long
    // as tiles are in work, vectors have half of the units that they have else.
    template <int kR>
    HWY_INLINE void computeGroup(const PlacedRows& rows, const Lefts& a, int64_t panel,
                                 int64_t end) {
        const SumsGroup group = groupOf<kR>(panel, end);
        if constexpr (kR > 2) {
            computeBlock<kR, 1, false>(rows, a, panel);
            noteTiles<kR, 1>(mSums);
            for (int64_t i = 1; panel + i < end; ++i) {
                computeBlock<kR, 1, true>(rows, a, panel + i);
                noteTiles<kR, 1>(mSums + i * group.panelInts);
            }
        } else if (panel + 2 <= end) {
            computeBlock<kR, 2, false>(rows, a, panel);
            noteTiles<kR, 2>(mSums);
            if (panel + 4 <= end) {
                computeBlock<kR, 2, true>(rows, a, panel + 2);
                noteTiles<kR, 2>(mSums + 2 * group.panelInts);
            } else if (panel + 3 <= end) {
                computeBlock<kR, 1, true>(rows, a, panel + 2);
                noteTiles<kR, 1>(mSums + 2 * group.panelInts);
            }
        } else {
            computeBlock<kR, 1, false>(rows, a, panel);
            noteTiles<kR, 1>(mSums);
        }
        storeTiles();
        if (group.isWhole) {
            storeGroup<true>(group);
        } else {
            storeGroup<false>(group);
        }
    }

    template <int kR>
    SumsGroup groupOf(int64_t panel, int64_t end) const {
        const int64_t column = panel * kTileColumns;
        const int64_t columns = std::min((end - panel) * kTileColumns, mMatrix.columns - column);
        SumsGroup group = {
                .sums = mSums,
                .panelInts = panelInts(kR),
                .rows = mRowOffsets.data(),
                .corrections = mMatrix.weightsZero != 0 ? mCorrections.data() : nullptr,
                .column = column,
                .columns = columns,
                .rowCount = kR * kTileRows,
                .isWhole = mRowsAreWhole && columns == kGroupColumns && mMatrix.weightsZero == 0};
        for (int64_t i = 0; i < kGroupPanels; ++i) {
            group.multipliers[static_cast<size_t>(i)] =
                    multipliersOf(mMatrix.panels + std::min(panel + i, end - 1) * mPanelBytes);
        }
        return group;
    }

    // The sums of kR tiles of rows with kV panels, which stay in tiles. kStores: those of the block
    // before go to memory as soon as each tile is wanted.
    template <int kR, int kV, bool kStores>
    HWY_INLINE void computeBlock(const PlacedRows& rows, const Lefts& a, int64_t panel) {
        const std::byte* w = mMatrix.panels + panel * mPanelBytes + kPanelHead;
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
                beginStep<kR, kV, kStores>(x, w, step);
                fetch();
                x += kTileDepth;
                w += kTileBytes;
            }
            for (; x < end; x += kTileDepth) {
                multiplyStep<kR, kV>(x, w, step);
                fetch();
                w += kTileBytes;
            }
        }
        mAhead = ahead;
    }

    // Where the sums of a block go that are in tiles: from `sums` on. Tiles that the block does not
    // have go where nobody looks.
    template <int kR, int kV>
    HWY_INLINE void noteTiles(int32_t* sums) {
        for (int tile = 0; tile < 4; ++tile) {
            mInTiles[static_cast<size_t>(tile)] =
                    tile < kR * kV ? sums + tile % kV * panelInts(kR) + tile / kV * kTileInts
                                   : mRowSums;
        }
    }
    HWY_INLINE void storeTiles() const {
        storeTile<0>();
        storeTile<1>();
        storeTile<2>();
        storeTile<3>();
    }

    template <bool kWhole>
    HWY_INLINE void storeGroup(const SumsGroup& group) const {
        switch (mEnd.bounds) {
            case ByteBounds::ANY:
                storeRows<kWhole, ByteBounds::ANY>(group);
                break;
            case ByteBounds::TYPE:
                storeRows<kWhole, ByteBounds::TYPE>(group);
                break;
            case ByteBounds::FROM_ZERO:
                storeRows<kWhole, ByteBounds::FROM_ZERO>(group);
                break;
        }
    }
    template <bool kWhole, ByteBounds kBounds>
    HWY_INLINE void storeRows(const SumsGroup& group) const {
        // Not const: GCC keeps nothing in registers that a constructor writes to read-only memory.
        GroupBytes<kSigned, kWhole> bytes(mEnd, group);
        for (int64_t row = 0; row < group.rowCount; ++row) {
            bytes.template store<kBounds>(row);
        }
    }

    // What is the same for all of a block.
    struct Step {
        ptrdiff_t stride = 0;
        int64_t toSecond = 0;  // from a panel to the next
        // From the first tile's rows to those of each.
        std::array<ptrdiff_t, kGroupTiles> toRows = {};
    };

    // A depth of kTileDepth: from `x` on of the rows, from `w` on of the panels.
    template <int kR, int kV>
    HWY_INLINE void multiplyStep(const uint8_t* x, const std::byte* w, const Step& step) const {
        if constexpr (kR > 2) {
            Tiles::template load<6>(w, kTileDepth);
            multiplyRowsTile<kR, 0>(x, step);
            multiplyRowsTile<kR, 1>(x, step);
            multiplyRowsTile<kR, 2>(x, step);
            multiplyRowsTile<kR, 3>(x, step);
            return;
        }
        // All of them before the first product: where another thread is on the core, loads and
        // products in turns take a tenth longer.
        Tiles::template load<4>(x, step.stride);
        Tiles::template load<6>(w, kTileDepth);
        if constexpr (kV > 1) {
            Tiles::template load<7>(w + step.toSecond, kTileDepth);
        }
        if constexpr (kR > 1) {
            Tiles::template load<5>(x + step.toRows[1], step.stride);
        }
        multiplyTile<kR, kV, 0>();
        multiplyTile<kR, kV, 1>();
        multiplyTile<kR, kV, 2>();
        multiplyTile<kR, kV, 3>();
    }
    template <int kR, int kV, int kSum>
    HWY_INLINE void multiplyTile() const {
        if constexpr (kSum < kR * kV) {
            Tiles::template multiply<kSigned, kSum, rowTile(kSum / kV), 6 + kSum % kV>();
        }
    }
    // Of a block of one panel, whose weights are loaded.
    template <int kR, int kRow>
    HWY_INLINE void multiplyRowsTile(const uint8_t* x, const Step& step) const {
        if constexpr (kRow < kR) {
            Tiles::template load<rowTile(kRow)>(x + step.toRows[kRow], step.stride);
            multiplyTile<kR, 1, kRow>();
        }
    }
    // The tile that has the rows of a block's so many-th: there are two for all of them.
    static constexpr int rowTile(int row) { return 4 + row % 2; }

    // The first one of a block, whose biases come before. kStores: tiles have sums of the block
    // before.
    template <int kR, int kV, bool kStores>
    HWY_INLINE void beginStep(const uint8_t* x, const std::byte* w, const Step& step) const {
        beginTile<kR, kV, kStores, 0>(x, w, step);
        beginTile<kR, kV, kStores, 1>(x, w, step);
        beginTile<kR, kV, kStores, 2>(x, w, step);
        beginTile<kR, kV, kStores, 3>(x, w, step);
    }

    // One of the tiles of sums. A tile of rows is read for the first of its products, and one of a
    // panel as well.
    template <int kR, int kV, bool kStores, int kSum>
    HWY_INLINE void beginTile(const uint8_t* x, const std::byte* w, const Step& step) const {
        constexpr int kRow = kSum / kV;
        constexpr int kColumn = kSum % kV;
        const std::byte* const panel = w + kColumn * step.toSecond;
        if constexpr (kStores) {
            storeTile<kSum>();
        }
        if constexpr (kSum < kR * kV) {
            Tiles::template load<kSum>(panel - kPanelHead, 0);
            if constexpr (kColumn == 0) {
                Tiles::template load<rowTile(kRow)>(x + step.toRows[kRow], step.stride);
            }
            if constexpr (kRow == 0) {
                Tiles::template load<6 + kColumn>(panel, kTileDepth);
            }
            multiplyTile<kR, kV, kSum>();
        }
    }

    template <int kTile>
    HWY_INLINE void storeTile() const {
        Tiles::template store<kTile>(mInTiles[kTile], kSumsStride);
    }

    static constexpr ptrdiff_t kSumsStride = kTileColumns * sizeof(int32_t);
    static constexpr int64_t kPanelHead = kTileColumns * int64_t{sizeof(int32_t) + sizeof(float)};
    static const float* multipliersOf(const std::byte* panel) {
        return reinterpret_cast<const float*>(panel + kTileColumns * sizeof(int32_t));
    }

    const TileBlock& mBlock;
    const QuantizedBlock& mMatrix;
    const int64_t mPanelBytes;
    const SumsEnd<kSigned> mEnd;
    int32_t* const mSums;  // of a group
    int32_t* const mRowSums;
    RowOffsets mRowOffsets = {};
    bool mRowsAreWhole = false;
    std::array<int32_t, kGroupRows> mCorrections = {};
    std::array<int32_t*, 4> mInTiles = {mSums, mSums, mSums, mSums};  // where sums in tiles go
    const std::byte* mAhead = nullptr;
    const std::byte* mAheadEnd = nullptr;
    int64_t mAheadStep = 0;
};

template <typename Tiles>
void multiplyTiles(const TileBlock& block) {
    if (block.signedLeft) {
        TileProduct<Tiles, true>(block).run();
    } else {
        TileProduct<Tiles, false>(block).run();
    }
}

template <typename Tiles>
const TileMatmul* tileForm() {
    static const TileMatmul kForm = {.tile = "32x32", .compute = multiplyTiles<Tiles>};
    return &kForm;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
