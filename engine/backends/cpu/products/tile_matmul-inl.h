// SPDX-License-Identifier: Apache-2.0
//
// The product of tile_matmul.h for any unit that multiplies tiles, the processor's or one that a
// test makes up: for sources that targets.h compiles once for each instruction set.
//
// Tiles: eight registers of 16 rows of 64 bytes each, which are those of the thread between
// configure() and release(). Sums are tiles 0 to 3, as [two of rows][two of columns] or as up to
// four of rows with one of columns; left ones 4 and 5; right ones 6 and 7, of which 7 is a left one
// where there is one of columns.

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
#include <numeric>

#include <hwy/highway.h>

#include "engine/backends/cpu/products/tile_bytes-inl.h"
#include "engine/backends/cpu/products/tile_matmul.h"
#include "engine/backends/cpu/products/tile_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Panels that stay in the second cache while rows go by.
constexpr int64_t kChunkBytes = int64_t{96} << 10;
// All panels that stay there from rows to rows.
constexpr int64_t kStayingBytes = int64_t{1} << 20;
constexpr int64_t kLine = 64;  // bytes that are fetched at once
// How far ahead panels are fetched that are read once.
constexpr int64_t kNearBytes = int64_t{16} << 10;

template <typename Tiles, bool kSigned>
class TileProduct {
  public:
    HWY_INLINE explicit TileProduct(const TileBlock& block)
        : mBlock(block),
          mMatrix(block.matrix),
          mPanelBytes(kTilePanels.panelBytes(block.depth)),
          mEnd(block),
          mSums(reinterpret_cast<int32_t*>(block.memory)),
          mRowSums(mSums + kSides * kGroupInts) {}

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
    // Groups of high blocks: the one in work, the one before, of which the last sums are still in
    // tiles, and the one before that, which becomes bytes. They may be of as many blocks of rows.
    static constexpr size_t kSides = 3;
    static_assert((kSides * kGroupInts + kGroupTiles * kTileInts) * sizeof(int32_t) <=
                  kTileSumsBytes);

    struct Rows {
        const uint8_t* a = nullptr;
        ptrdiff_t stride = 0;
        std::span<const ptrdiff_t> runs;
        int64_t runLength = 0;
        int64_t count = 0;
        int64_t readable = 0;  // rows of memory, where those are more
        int64_t first = 0;     // number of the first in the block
        int64_t pitch = 0;     // rows from a line to the next
    };

    // Rows of a group that become bytes, as many after each of some products.
    class SomeRows {
      public:
        SomeRows() = default;
        SomeRows(int64_t rows, int64_t products)
            : mRows(rows), mEach(((rows << kShift) + products - 1) / products) {}

        template <typename Bytes>
        HWY_INLINE void store(const Bytes& bytes) {
            int64_t row = mDone >> kShift;
            mDone += mEach;
            for (const int64_t end = std::min(mDone >> kShift, mRows); row < end; ++row) {
                bytes.store(row);
            }
        }

      private:
        static constexpr int kShift = 16;  // parts of a row

        int64_t mRows = 0;
        int64_t mEach = 0;
        int64_t mDone = 0;
    };

    // In place of bytes, where none are made.
    struct NoBytes {
        HWY_INLINE void store(int64_t /*row*/) const {}
    };

    // Where tiles of rows begin.
    using Lefts = std::array<const uint8_t*, kGroupTiles>;

    // Where a tile of rows begins. In place, the last one overlaps the one before: nothing behind
    // the last row may be read.
    static int64_t firstRow(const Rows& rows, int64_t tile) {
        return rows.readable > 0 ? tile * kTileRows
                                 : std::min(tile * kTileRows, rows.count - kTileRows);
    }

    void multiply(const Rows& rows) {
        const int64_t tiles = (rows.count + kTileRows - 1) / kTileRows;
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        const int64_t inChunk =
                std::max<int64_t>(kChunkBytes / mPanelBytes / kGroupPanels, 1) * kGroupPanels;
        const int64_t height = heightOfBlocks(rows, tiles);
        for (int64_t chunk = 0; chunk < panels; chunk += inChunk) {
            const int64_t end = std::min(chunk + inChunk, panels);
            fetchBeyond(rows, chunk, end, height, (tiles + 1) / 2);
            for (int64_t tile = 0; tile < tiles; tile += height) {
                switch (std::min(height, tiles - tile)) {
                    case 1:
                        multiplyRows<1>(rows, tile, chunk, end);
                        break;
                    case 2:
                        multiplyRows<2>(rows, tile, chunk, end);
                        break;
                    case 3:
                        multiplyRows<3>(rows, tile, chunk, end);
                        break;
                    default:
                        multiplyRows<4>(rows, tile, chunk, end);
                }
            }
        }
        if (height > 2) {
            finish();
        }
    }

    // What is still in work of high blocks.
    void finish() {
        storeTiles();
        for (const size_t side : {(mSide + kSides - 1) % kSides, mSide}) {
            storeGroup<false>(mGroups[side]);
            mGroups[side].rowCount = 0;
        }
    }

    // Blocks are two tiles high and two panels wide. Or all rows high and one wide: panels that
    // come from far away are best read once. But not where the rows' lines fall into few sets of
    // the first cache, which then has no room for them.
    static int64_t heightOfBlocks(const Rows& rows, int64_t tiles) {
        constexpr int64_t kSets = 64;
        constexpr int64_t kMostShared = 8;
        const bool isShort = tiles == 3 || tiles == 4;
        return isShort && std::gcd(rows.stride / kLine, kSets) <= kMostShared ? 4 : 2;
    }

    // What is fetched while blocks of so many tiles are in work, in equal parts: the chunk behind,
    // once for all rows if the second cache keeps all panels; or, where there are no other rows,
    // what is soon to come.
    void fetchBeyond(const Rows& rows, int64_t panel, int64_t end, int64_t height, int64_t blocks) {
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        const std::byte* const behind = mMatrix.panels + end * mPanelBytes;
        if (height == 4) {
            // Lines are fetched in pairs.
            mAhead = mMatrix.panels + panel * mPanelBytes + kNearBytes;
            mAheadEnd = behind + kNearBytes;
            mAheadStep = kTileBytes;
            mAheadLine = 2 * kLine;
            return;
        }
        const bool isThere = rows.first > 0 && panels * mPanelBytes <= kStayingBytes;
        const int64_t bytes = (end - panel) * mPanelBytes;
        const int64_t steps = blocks * ((end - panel + 1) / 2) * (mBlock.depth / kTileDepth);
        mAhead = behind;
        mAheadEnd = isThere ? behind : behind + bytes;
        mAheadStep = std::max<int64_t>(bytes / kLine / std::max<int64_t>(steps, 1), 1) * kLine;
        mAheadLine = kLine;
    }

    template <int kR>
    void multiplyRows(const Rows& rows, int64_t tile, int64_t panel, int64_t end) {
        // Those of two high blocks before are still in use.
        mRowsSide = (mRowsSide + 1) % kSides;
        Lefts a = {};
        bool isWhole = true;
        for (int r = 0; r < kR; ++r) {
            const int64_t first = firstRow(rows, tile + r);
            a[static_cast<size_t>(r)] = rows.a + first * rows.stride;
            ptrdiff_t* const to = &mRowOffsets[mRowsSide][static_cast<size_t>(r * kTileRows)];
            isWhole &= placeRows(rows, first, to);
            // What was there to be added may have been replaced.
            const int64_t again = (tile + r) * kTileRows - first;
            if (mEnd.addend != nullptr && again > 0) {
                std::fill_n(to, again, kNowhere);
                isWhole = false;
            }
        }
        mRowsAreWhole[mRowsSide] = isWhole;
        if (mMatrix.weightsZero != 0) {
            sumRows<kR>(rows, a);
        }
        for (; panel < end; panel += kGroupPanels) {
            computeGroup<kR>(rows, a, panel, std::min(panel + kGroupPanels, end));
        }
    }

    // Where a tile's rows go. Whether all of them are wanted.
    bool placeRows(const Rows& rows, int64_t first, ptrdiff_t* to) const {
        int64_t line = (rows.first + first) / rows.pitch;
        int64_t row = (rows.first + first) % rows.pitch;
        if (row + kTileRows <= mMatrix.rows && first + kTileRows <= rows.count) {
            ptrdiff_t at = line * mMatrix.cLine + row * mMatrix.cRow;
            for (int64_t i = 0; i < kTileRows; ++i, at += mMatrix.cRow) {
                to[i] = at;
            }
            return true;
        }
        bool isWhole = true;
        for (int64_t i = 0; i < kTileRows; ++i) {
            const bool wanted = row < mMatrix.rows && first + i < rows.count;
            to[i] = wanted ? line * mMatrix.cLine + row * mMatrix.cRow : kNowhere;
            isWhole &= wanted;
            if (++row == rows.pitch) {
                row = 0;
                ++line;
            }
        }
        return isWhole;
    }

    // What the weights' zero point makes of each row.
    template <int kR>
    void sumRows(const Rows& rows, const Lefts& a) {
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
            mCorrections[mRowsSide][static_cast<size_t>(row)] = static_cast<int32_t>(
                    static_cast<uint32_t>(mRowSums[row * kTileColumns]) * factor);
        }
    }

    template <int kR>
    HWY_INLINE void computeGroup(const Rows& rows, const Lefts& a, int64_t panel, int64_t end) {
        if constexpr (kR > 2) {
            if (mGroups[(mSide + kSides - 1) % kSides].isWhole) {
                computeHighGroup<kR, true>(rows, a, panel, end);
            } else {
                computeHighGroup<kR, false>(rows, a, panel, end);
            }
        } else {
            computeFlatGroup<kR>(rows, a, panel, end);
        }
    }

    // The sums of kR tiles of rows with up to kGroupPanels panels, which then become bytes: as long
    // as tiles are in work, vectors have half of the units that they have else.
    template <int kR>
    HWY_INLINE void computeFlatGroup(const Rows& rows, const Lefts& a, int64_t panel, int64_t end) {
        const SumsGroup group = groupOf<kR>(panel, end, mSums);
        int32_t* sums = group.sums;
        if (panel + 2 <= end) {
            computeBlock<kR, 2, false>(rows, a, panel, NoBytes(), SomeRows());
            noteTiles<kR, 2>(sums);
            if (panel + 4 <= end) {
                computeBlock<kR, 2, true>(rows, a, panel + 2, NoBytes(), SomeRows());
                noteTiles<kR, 2>(sums + 2 * group.panelInts);
            } else if (panel + 3 <= end) {
                computeBlock<kR, 1, true>(rows, a, panel + 2, NoBytes(), SomeRows());
                noteTiles<kR, 1>(sums + 2 * group.panelInts);
            }
        } else {
            computeBlock<kR, 1, false>(rows, a, panel, NoBytes(), SomeRows());
            noteTiles<kR, 1>(sums);
        }
        storeTiles();
        if (group.isWhole) {
            storeGroup<true>(group);
        } else {
            storeGroup<false>(group);
        }
    }

    // The same of more tiles of rows, whose panels come from far away. Meanwhile the sums of the
    // group before the last become bytes, some after each product.
    template <int kR, bool kWaitingIsWhole>
    HWY_INLINE void computeHighGroup(const Rows& rows, const Lefts& a, int64_t panel, int64_t end) {
        // A copy, which no asm can change.
        const SumsGroup waiting = mGroups[(mSide + kSides - 1) % kSides];
        mSide = (mSide + 1) % kSides;
        SumsGroup& group = mGroups[mSide];
        group = groupOf<kR>(panel, end, mSums + static_cast<int64_t>(mSide) * kGroupInts);
        SomeRows some(waiting.rowCount, mBlock.depth / kTileDepth * kR * (end - panel));
        for (int32_t* sums = group.sums; panel < end; ++panel, sums += group.panelInts) {
            // Not const, as in storeRows().
            GroupBytes<kSigned, kWaitingIsWhole> bytes(mEnd, waiting);
            some = computeBlock<kR, 1, true>(rows, a, panel, bytes, some);
            noteTiles<kR, 1>(sums);
        }
    }

    template <int kR>
    SumsGroup groupOf(int64_t panel, int64_t end, int32_t* sums) const {
        const int64_t column = panel * kTileColumns;
        const int64_t columns = std::min((end - panel) * kTileColumns, mMatrix.columns - column);
        SumsGroup group = {
                .sums = sums,
                .panelInts = panelInts(kR),
                .rows = &mRowOffsets[mRowsSide],
                .corrections = mMatrix.weightsZero != 0 ? mCorrections[mRowsSide].data() : nullptr,
                .column = column,
                .columns = columns,
                .rowCount = kR * kTileRows,
                .isWhole = mRowsAreWhole[mRowsSide] && columns == kGroupColumns &&
                           mMatrix.weightsZero == 0};
        for (int64_t i = 0; i < kGroupPanels; ++i) {
            group.multipliers[static_cast<size_t>(i)] =
                    multipliersOf(mMatrix.panels + std::min(panel + i, end - 1) * mPanelBytes);
        }
        return group;
    }

    // The sums of kR tiles of rows with kV panels, which stay in tiles. kStores: those of the block
    // before go to memory as soon as each tile is wanted. Makes bytes of some rows of another
    // group, and returns which are left.
    template <int kR, int kV, bool kStores, typename Bytes>
    HWY_INLINE SomeRows computeBlock(const Rows& rows, const Lefts& a, int64_t panel,
                                     const Bytes& bytes, SomeRows some) {
        const std::byte* w = mMatrix.panels + panel * mPanelBytes + kPanelHead;
        Step step = {.stride = rows.stride, .toSecond = mPanelBytes};
        for (int r = 1; r < kR; ++r) {
            step.toRows[r] = a[static_cast<size_t>(r)] - a[0];
        }
        const std::byte* ahead = mAhead;
        const auto fetch = [&]() HWY_ATTR __attribute__((always_inline)) {
            for (int64_t i = 0; i < mAheadStep && ahead < mAheadEnd; i += mAheadLine) {
                __builtin_prefetch(ahead, 0, 2);
                ahead += mAheadLine;
            }
        };
        bool begins = true;
        for (const ptrdiff_t run : rows.runs) {
            const uint8_t* x = a[0] + run;
            const uint8_t* const end = x + rows.runLength;
            if (begins) {
                begins = false;
                some = multiplyStep<kR, kV, true, kStores>(x, w, step, bytes, some);
                fetch();
                x += kTileDepth;
                w += kTileBytes;
            }
            for (; x < end; x += kTileDepth) {
                some = multiplyStep<kR, kV, false, false>(x, w, step, bytes, some);
                fetch();
                w += kTileBytes;
            }
        }
        mAhead = ahead;
        return some;
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
        int64_t toSecond = 0;                // from a panel to the next
        ptrdiff_t toRows[kGroupTiles] = {};  // from the first tile's rows to each one's
    };

    // A depth of kTileDepth: from `x` on of the rows, from `w` on of the panels. kBegins: biases
    // come first. kStores: tiles have sums of the block before.
    template <int kR, int kV, bool kBegins, bool kStores, typename Bytes>
    HWY_INLINE SomeRows multiplyStep(const uint8_t* x, const std::byte* w, const Step& step,
                                     const Bytes& bytes, SomeRows some) const {
        some = multiplyTile<kV, kBegins, kStores, 0, kR * kV>(x, w, step, bytes, some);
        some = multiplyTile<kV, kBegins, kStores, 1, kR * kV>(x, w, step, bytes, some);
        some = multiplyTile<kV, kBegins, kStores, 2, kR * kV>(x, w, step, bytes, some);
        return multiplyTile<kV, kBegins, kStores, 3, kR * kV>(x, w, step, bytes, some);
    }

    // One of the kCount tiles of sums. A tile of rows is read for the first of its products, and
    // one of a panel as well.
    template <int kV, bool kBegins, bool kStores, int kSum, int kCount, typename Bytes>
    HWY_INLINE SomeRows multiplyTile(const uint8_t* x, const std::byte* w, const Step& step,
                                     const Bytes& bytes, SomeRows some) const {
        constexpr int kR = kSum / kV;
        constexpr int kLeft = kR == 2 ? 7 : 4 + kR % 2;
        constexpr int kRight = 6 + kSum % kV;
        const std::byte* const panel = w + kSum % kV * step.toSecond;
        if constexpr (kStores) {
            storeTile<kSum>();
        }
        if constexpr (kSum < kCount) {
            if constexpr (kBegins) {
                Tiles::template load<kSum>(panel - kPanelHead, 0);
            }
            if constexpr (kSum % kV == 0) {
                Tiles::template load<kLeft>(x + step.toRows[kR], step.stride);
            }
            if constexpr (kR == 0) {
                Tiles::template load<kRight>(panel, kTileDepth);
            }
            Tiles::template multiply<kSigned, kSum, kLeft, kRight>();
            some.store(bytes);
        }
        return some;
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
    int32_t* const mSums;  // of kSides groups
    int32_t* const mRowSums;
    size_t mSide = 0;
    size_t mRowsSide = 0;
    std::array<SumsGroup, kSides> mGroups = {};
    std::array<RowOffsets, kSides> mRowOffsets = {};
    std::array<bool, kSides> mRowsAreWhole = {};
    std::array<std::array<int32_t, kGroupRows>, kSides> mCorrections = {};
    std::array<int32_t*, 4> mInTiles = {mSums, mSums, mSums, mSums};  // where sums in tiles go
    const std::byte* mAhead = nullptr;
    const std::byte* mAheadEnd = nullptr;
    int64_t mAheadStep = 0;
    int64_t mAheadLine = kLine;
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
