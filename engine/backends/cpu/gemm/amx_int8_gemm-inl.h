// SPDX-License-Identifier: Apache-2.0
//
// The product of amx_int8_block.h for any work item that multiplies tiles, the processor's or one
// that a test makes up: for sources that targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_AMX_INT8_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_AMX_INT8_GEMM_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_AMX_INT8_GEMM_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_AMX_INT8_GEMM_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/gemm/tile_bytes-inl.h"
#include "engine/backends/cpu/gemm/tile_places.h"
#include "engine/backends/cpu/gemm/tile_rows-inl.h"
#include "engine/backends/cpu/gemm/tile_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Tiles of rows that may be multiplied with a panel at once, and one less.
constexpr int64_t kTallTiles = 4;

template <typename Tiles, bool kSigned>
class AmxConvGemm {
  public:
    HWY_INLINE explicit AmxConvGemm(const TileBlock& block)
        : mBlock(block),
          mMatrix(block.matrix),
          mPanelBytes(kTilePanels.panelBytes(block.depth)),
          mEnd(block),
          mBehind(rowsBehind(2 * (block.depth / kTileDepth))),
          mSums(reinterpret_cast<int32_t*>(block.memory)),
          mGroups(reinterpret_cast<WholeGroup*>(block.memory)),
          mRowSums(mSums + kSumsInts),
          mTiles(mPanelBytes, mRowSums) {}

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
        finish();
        Tiles::release();
    }

  private:
    // Two whole groups, or any one, and behind them the sums of rows.
    static constexpr int64_t kWholeInts = sizeof(WholeGroup) / sizeof(int32_t);
    static constexpr int64_t kSumsInts = std::max(2 * kWholeInts, kGroupInts);
    static_assert((kSumsInts + kGroupTiles * kTileInts) * sizeof(int32_t) <= kTileSumsBytes);

    using Lefts = typename TileSums<Tiles, kSigned>::Lefts;

    void multiply(const PlacedRows& rows) {
        const int64_t tiles = rows.tiles();
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        if (isTall(rows, tiles)) {
            multiplyTall(rows, tiles, panels);
            return;
        }
        const int64_t inChunk =
                std::max<int64_t>(mBlock.tuning.chunkBytes / mPanelBytes / kGroupPanels, 1) *
                kGroupPanels;
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
    // these come from beyond L2, that is what takes the time. The L1d has to
    // keep the rows meanwhile.
    bool isTall(const PlacedRows& rows, int64_t tiles) const {
        return (tiles == kTallTiles || tiles == kTallTiles - 1) &&
               rows.bytes() <= mBlock.tuning.tallBytes;
    }

    // A function of its own: what multiply() calls is then still part of it.
    HWY_NOINLINE void multiplyTall(const PlacedRows& rows, int64_t tiles, int64_t panels) {
        mTiles.fetch(nullptr, panelAt(panels) + mBlock.bytesBehind, 0);
        if (tiles == kTallTiles) {
            multiplyRows<kTallTiles>(rows, 0, 0, panels);
        } else {
            multiplyRows<kTallTiles - 1>(rows, 0, 0, panels);
        }
    }

    // What is fetched while so many blocks of rows are in work, in equal parts: the chunk behind,
    // once for all rows if L2 keeps all panels. Never what other threads read: that
    // takes the time of what they wait for.
    void fetchBeyond(const PlacedRows& rows, int64_t panel, int64_t end, int64_t blocks) {
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        const std::byte* const behind = panelAt(end);
        const bool isThere = rows.first > 0 && panels * mPanelBytes <= mBlock.tuning.stayingBytes;
        const int64_t bytes = std::min((end - panel) * mPanelBytes,
                                       (panels - end) * mPanelBytes + mBlock.bytesBehind);
        const int64_t steps = blocks * ((end - panel + 1) / 2) * (mBlock.depth / kTileDepth);
        const int64_t each = bytes / kLine / std::max<int64_t>(steps, 1);
        mTiles.fetch(behind, isThere ? behind : behind + bytes, std::max<int64_t>(each, 1) * kLine);
    }

    template <int kR>
    HWY_INLINE void multiplyRows(const PlacedRows& rows, int64_t tile, int64_t panel, int64_t end) {
        Lefts a = {};
        for (int r = 0; r < kR; ++r) {
            const int64_t first = rows.firstRow(tile + r);
            a[static_cast<size_t>(r)] = rows.a + first * rows.stride;
            ptrdiff_t* const to = &mRowOffsets[static_cast<size_t>(r * kTileRows)];
            rows.place(mMatrix, first, to);
            // What was there to be added may have been replaced.
            const int64_t again = (tile + r) * kTileRows - first;
            if (mEnd.addend != nullptr && again > 0) {
                std::fill_n(to, again, kNowhere);
            }
        }
        if (mMatrix.weightsZero != 0) {
            sumRows<kR>(rows, a);
        }
        if constexpr (kR == 2) {
            if (mayWait()) {
                for (; panel + kGroupPanels <= end &&
                       (panel + kGroupPanels) * kTileColumns <= mMatrix.columns;
                     panel += kGroupPanels) {
                    computeWhole(rows, a, panel);
                }
            }
        }
        if (panel < end) {
            finish();
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
                    Tiles::template zero<4>();
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

    // Whether groups of the two tiles of rows in work are whole where they have all columns.
    bool mayWait() const {
        return mMatrix.weightsZero == 0 &&
               (mEnd.addend == nullptr ||
                std::find(mRowOffsets.begin(), mRowOffsets.begin() + WholeGroup::kRows, kNowhere) ==
                        mRowOffsets.begin() + WholeGroup::kRows);
    }

    // The sums of a whole group, which wait until the next one is in work, or for finish().
    // Meanwhile those of the group before become bytes.
    HWY_INLINE void computeWhole(const PlacedRows& rows, const Lefts& a, int64_t panel) {
        WholeGroup& group = mWaiting == mGroups ? mGroups[1] : mGroups[0];
        if (mWaiting == nullptr) {
            NoRows none;
            computePanels<false>(rows, a, panel, group, none);
        } else if (mEnd.addend != nullptr) {
            computeMeanwhile<true>(rows, a, panel, group);
        } else {
            computeMeanwhile<false>(rows, a, panel, group);
        }
        group.place(mRowOffsets, mEnd.c + panel * kTileColumns, mRowSums);
        mWaiting = &group;
        mWaitingPanel = panel;
    }
    template <bool kAdds>
    HWY_INLINE void computeMeanwhile(const PlacedRows& rows, const Lefts& a, int64_t panel,
                                     WholeGroup& group) {
        forBounds([&](auto bounds) HWY_ATTR __attribute__((always_inline)) {
            RowsBetween<kSigned, decltype(bounds)::value, kAdds> between(
                    waitingBytes<decltype(bounds)::value, kAdds>(), mBehind);
            computePanels<true>(rows, a, panel, group, between);
        });
    }
    template <bool kStores, typename Between>
    HWY_INLINE void computePanels(const PlacedRows& rows, const Lefts& a, int64_t panel,
                                  WholeGroup& group, Between& between) {
        mTiles.template compute<2, 2, kStores, true>(rows, a, panelAt(panel), between);
        mTiles.template note<2, 2>(group.sums[0]);
        mTiles.template compute<2, 2, true, false>(rows, a, panelAt(panel + 2), between);
        mTiles.template note<2, 2>(group.sums[2]);
    }
    template <ByteBounds kBounds, bool kAdds>
    HWY_INLINE WholeGroupBytes<kSigned, kBounds, kAdds> waitingBytes() const {
        return {mEnd, *mWaiting, panelAt(mWaitingPanel), mPanelBytes};
    }

    // Makes bytes of the group that waits.
    void finish() {
        if (mWaiting == nullptr) {
            return;
        }
        mTiles.store();
        const auto all = [](auto bytes) HWY_ATTR {
            for (int64_t row = 0; row < WholeGroup::kRows; ++row) {
                bytes.store(row);
            }
        };
        forBounds([&](auto bounds) HWY_ATTR {
            if (mEnd.addend != nullptr) {
                all(waitingBytes<decltype(bounds)::value, true>());
            } else {
                all(waitingBytes<decltype(bounds)::value, false>());
            }
        });
        mWaiting = nullptr;
    }

    // The sums of kR tiles of rows with up to kGroupPanels panels, which become bytes at once: they
    // are few, or the L1d has no room for those of two groups.
    template <int kR>
    HWY_INLINE void computeGroup(const PlacedRows& rows, const Lefts& a, int64_t panel,
                                 int64_t end) {
        const SumsGroup group = groupOf<kR>(panel, end);
        int64_t done = computePart<kR, false>(rows, a, panel, end, mSums);
        while (panel + done < end) {
            done += computePart<kR, true>(rows, a, panel + done, end,
                                          mSums + done * group.panelInts);
        }
        mTiles.store();
        forBounds([&](auto bounds) HWY_ATTR {
            // Not const: GCC keeps nothing in registers that a constructor writes to read-only
            // memory.
            GroupBytes<kSigned> bytes(mEnd, group);
            for (int64_t row = 0; row < group.rowCount; ++row) {
                bytes.template store<decltype(bounds)::value>(row);
            }
        });
    }

    // Of two panels, or of one: how many.
    template <int kR, bool kStores>
    HWY_INLINE int64_t computePart(const PlacedRows& rows, const Lefts& a, int64_t panel,
                                   int64_t end, int32_t* sums) {
        NoRows none;
        if constexpr (kR <= 2) {
            if (panel + 2 <= end) {
                mTiles.template compute<kR, 2, kStores, false>(rows, a, panelAt(panel), none);
                mTiles.template note<kR, 2>(sums);
                return 2;
            }
        }
        mTiles.template compute<kR, 1, kStores, false>(rows, a, panelAt(panel), none);
        mTiles.template note<kR, 1>(sums);
        return 1;
    }

    template <int kR>
    SumsGroup groupOf(int64_t panel, int64_t end) const {
        const int64_t column = panel * kTileColumns;
        SumsGroup group = {
                .sums = mSums,
                .panelInts = panelInts(kR),
                .rows = mRowOffsets.data(),
                .corrections = mMatrix.weightsZero != 0 ? mCorrections.data() : nullptr,
                .column = column,
                .columns = std::min((end - panel) * kTileColumns, mMatrix.columns - column),
                .rowCount = kR * kTileRows};
        for (int64_t i = 0; i < kGroupPanels; ++i) {
            group.panels[static_cast<size_t>(i)] =
                    reinterpret_cast<const PanelHead*>(panelAt(std::min(panel + i, end - 1)));
        }
        return group;
    }

    // Calls body with what is known of the bounds.
    template <typename Body>
    HWY_INLINE void forBounds(Body body) const {
        switch (mEnd.bounds) {
            case ByteBounds::ANY:
                body(std::integral_constant<ByteBounds, ByteBounds::ANY>());
                break;
            case ByteBounds::TYPE:
                body(std::integral_constant<ByteBounds, ByteBounds::TYPE>());
                break;
            case ByteBounds::FROM_ZERO:
                body(std::integral_constant<ByteBounds, ByteBounds::FROM_ZERO>());
                break;
        }
    }

    const std::byte* panelAt(int64_t panel) const { return mMatrix.panels + panel * mPanelBytes; }

    const TileBlock& mBlock;
    const QuantizedBlock& mMatrix;
    const int64_t mPanelBytes;
    const SumsEnd<kSigned> mEnd;
    const RowsBehind mBehind;
    int32_t* const mSums;       // of any group
    WholeGroup* const mGroups;  // two of them, in the same place
    int32_t* const mRowSums;
    RowOffsets mRowOffsets = {};
    std::array<int32_t, kGroupRows> mCorrections = {};
    TileSums<Tiles, kSigned> mTiles;
    WholeGroup* mWaiting = nullptr;  // its last sums are in tiles
    int64_t mWaitingPanel = 0;       // its first one
};

template <typename Tiles>
void multiplyTiles(const TileBlock& block) {
    if (block.signedLeft) {
        AmxConvGemm<Tiles, true>(block).run();
    } else {
        AmxConvGemm<Tiles, false>(block).run();
    }
}

template <typename Tiles>
const AmxInt8Gemm* tileForm() {
    static const AmxInt8Gemm kForm = {.tile = "32x32", .compute = multiplyTiles<Tiles>};
    return &kForm;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
