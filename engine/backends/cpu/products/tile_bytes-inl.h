// SPDX-License-Identifier: Apache-2.0
//
// From tiles of sums in memory to rows of bytes, for tile_matmul-inl.h: for sources that targets.h
// compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_TILE_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_TILE_BYTES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_TILE_BYTES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_TILE_BYTES_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include "engine/backends/cpu/elementwise/added_bytes-inl.h"
#include "engine/backends/cpu/products/rounded_bytes-inl.h"
#include "engine/backends/cpu/products/tile_matmul.h"
#include "engine/backends/cpu/products/tile_places.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A group is up to four tiles of rows by four of columns: 64 bytes of each row.
constexpr int64_t kGroupTiles = 4;
constexpr int64_t kGroupRows = kGroupTiles * kTileRows;
constexpr int64_t kGroupColumns = kTileGroupColumns;
constexpr int64_t kGroupPanels = kGroupColumns / kTileColumns;
// Its sums lie as [panel][row][column], with a gap behind each panel, so that caches have room for
// the same row of all of them.
constexpr int64_t kTileInts = kTileBytes / int64_t{sizeof(int32_t)};
constexpr int64_t panelInts(int64_t rowTiles) {
    return rowTiles * kTileInts + kTileColumns;
}
constexpr int64_t kGroupInts = kGroupPanels * panelInts(kGroupTiles);

// Where rows go, in elements from the first row.
using RowOffsets = std::array<ptrdiff_t, kGroupRows>;

// A group's sums, which are no bytes yet.
struct SumsGroup {
    int32_t* sums = nullptr;
    int64_t panelInts = 0;                 // from a panel's sums to the next one's
    const ptrdiff_t* rows = nullptr;       // offsets of kGroupRows
    const int32_t* corrections = nullptr;  // added to the sums of each row; null: nothing is
    // Valid even where no panel is.
    std::array<const float*, kGroupPanels> multipliers = {};
    int64_t column = 0;
    int64_t columns = kGroupColumns;
    int64_t rowCount = 0;
    // All rows are wanted, with kGroupColumns columns, and nothing is added to their sums.
    bool isWhole = false;
};

// What becomes of sums in all groups.
template <bool kSigned>
struct SumsEnd {
    using T = std::conditional_t<kSigned, int8_t, uint8_t>;

    explicit SumsEnd(const TileBlock& block)
        : bounds(byteBoundsOf<kSigned>(block.matrix.zeroPoint, block.matrix.low,
                                       block.matrix.high)),
          round(block.matrix.zeroPoint, block.matrix.low, block.matrix.high),
          add(block.addition.numbers),
          addend(block.addition.addend),
          c(block.matrix.c) {}

    ByteBounds bounds;
#if HWY_TARGET == HWY_AVX3
    SmallRoundedBytes<kSigned> round;
    AddedBytes<T> add;
#else
    RoundedBytes round;
    ByteAddition add;
#endif
    const uint8_t* addend;
    uint8_t* c;
};

// Makes bytes of a group's sums, row by row; the more is known of their bounds, the faster.
#if HWY_TARGET == HWY_AVX3
template <bool kSigned, bool kWhole>
class GroupBytes {
  public:
    HWY_INLINE GroupBytes(const SumsEnd<kSigned>& end, const SumsGroup& group)
        : mRound(end.round),
          mAdd(end.add),
          mAdds(end.addend != nullptr),
          mAddend(mAdds ? end.addend + group.column : nullptr),
          mC(end.c + group.column),
          mSums(group.sums),
          mPanelInts(group.panelInts),
          mRows(group.rows),
          mCorrections(group.corrections),
          mThere(~uint64_t{0} >> static_cast<unsigned>(kGroupColumns - group.columns)),
          mA(_mm512_load_ps(group.multipliers[0])),
          mB(_mm512_load_ps(group.multipliers[1])),
          mC0(_mm512_load_ps(group.multipliers[2])),
          mD(_mm512_load_ps(group.multipliers[3])) {}

    template <ByteBounds kBounds = ByteBounds::ANY>
    HWY_INLINE void store(int64_t row) const {
        // Columns that are not there have sums of old, which go nowhere.
        const int32_t* const sums = mSums + row * kTileColumns;
        __m512i a = _mm512_load_si512(sums);
        __m512i b = _mm512_load_si512(sums + mPanelInts);
        __m512i c = _mm512_load_si512(sums + 2 * mPanelInts);
        __m512i d = _mm512_load_si512(sums + 3 * mPanelInts);
        if (!kWhole && mCorrections != nullptr) {
            const __m512i correction = _mm512_set1_epi32(mCorrections[row]);
            a = _mm512_add_epi32(a, correction);
            b = _mm512_add_epi32(b, correction);
            c = _mm512_add_epi32(c, correction);
            d = _mm512_add_epi32(d, correction);
        }
        __m512i bytes = mRound.template bytes<kBounds>(a, b, c, d, mA, mB, mC0, mD);
        const ptrdiff_t to = mRows[row];
        if constexpr (kWhole) {
            if (mAdds) {
                bytes = mAdd(bytes, _mm512_loadu_si512(mAddend + to));
            }
            _mm512_storeu_si512(mC + to, bytes);
        } else if (to != kNowhere) {
            if (mAdds) {
                bytes = mAdd(bytes, _mm512_maskz_loadu_epi8(mThere, mAddend + to));
            }
            _mm512_mask_storeu_epi8(mC + to, mThere, bytes);
        }
    }

  private:
    const SmallRoundedBytes<kSigned> mRound;
    const AddedBytes<typename SumsEnd<kSigned>::T> mAdd;
    const bool mAdds;
    const uint8_t* const mAddend;
    uint8_t* const mC;
    const int32_t* const mSums;
    const int64_t mPanelInts;
    const ptrdiff_t* const mRows;
    const int32_t* const mCorrections;
    const __mmask64 mThere;
    const __m512 mA, mB, mC0, mD;
};
#else
template <bool kSigned, bool kWhole>
class GroupBytes {
  public:
    GroupBytes(const SumsEnd<kSigned>& end, const SumsGroup& group) : mEnd(end), mGroup(group) {}

    template <ByteBounds /*kBounds*/ = ByteBounds::ANY>
    void store(int64_t row) const {
        if (mGroup.rows[row] == kNowhere) {
            return;
        }
        const ptrdiff_t to = mGroup.rows[row] + mGroup.column;
        const auto correction =
                hn::Set(kSums, mGroup.corrections == nullptr ? 0 : mGroup.corrections[row]);
        const auto lanes = static_cast<int64_t>(hn::Lanes(kSums));
        for (int64_t i = 0; i < mGroup.columns; i += lanes) {
            const int64_t panel = i / kTileColumns;
            const int64_t lane = i % kTileColumns;
            const int32_t* const sums =
                    mGroup.sums + panel * mGroup.panelInts + row * kTileColumns + lane;
            const auto multipliers =
                    hn::Load(kFloats, mGroup.multipliers[static_cast<size_t>(panel)] + lane);
            storeFirst(mEnd.round(hn::Add(hn::Load(kSums, sums), correction), multipliers), kBytes,
                       mEnd.c + to + i, static_cast<size_t>(std::min(lanes, mGroup.columns - i)));
        }
        if (mEnd.addend != nullptr) {
            using T = typename SumsEnd<kSigned>::T;
            for (int64_t i = to; i < to + mGroup.columns; ++i) {
                mEnd.c[i] = static_cast<uint8_t>(
                        mEnd.add(static_cast<T>(mEnd.c[i]), static_cast<T>(mEnd.addend[i])));
            }
        }
    }

  private:
    static constexpr hn::Rebind<int32_t, Floats> kSums = {};

    const SumsEnd<kSigned>& mEnd;
    const SumsGroup& mGroup;
};
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
