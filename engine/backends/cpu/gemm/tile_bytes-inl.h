// SPDX-License-Identifier: Apache-2.0
//
// From tiles of sums in memory to rows of bytes, for amx_int8_gemm-inl.h: for sources that
// targets.h compiles once for each instruction set.

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
#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/gemm/rounded_bytes-inl.h"
#include "engine/backends/cpu/gemm/tile_places.h"

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

// The head of a panel.
struct alignas(64) PanelHead {
    int32_t biases[kTileColumns];
    float multipliers[kTileColumns];
};

// Where rows go, in elements from the first row.
using RowOffsets = std::array<ptrdiff_t, kGroupRows>;

// A group's sums, which are no bytes yet.
struct SumsGroup {
    int32_t* sums = nullptr;
    int64_t panelInts = 0;                 // from a panel's sums to the next one's
    const ptrdiff_t* rows = nullptr;       // offsets of kGroupRows
    const int32_t* corrections = nullptr;  // added to the sums of each row; null: nothing is
    // Valid even where no panel is.
    std::array<const PanelHead*, kGroupPanels> panels = {};
    int64_t column = 0;
    int64_t columns = kGroupColumns;
    int64_t rowCount = 0;
};

// The end of the sums of all groups.
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

// A whole group: two tiles of rows by four of columns, to whose sums nothing but biases is added.
struct alignas(64) WholeGroup {
    static constexpr int64_t kRows = 2 * kTileRows;

    int32_t sums[kGroupPanels][panelInts(2)];
    int64_t to[kRows];  // addresses where rows go

    // Rows whose offset from `c` is kNowhere go to `nowhere`.
    void place(const RowOffsets& rows, uint8_t* c, void* nowhere) {
        constexpr hn::CappedTag<int64_t, 8> kOffsets;
        const auto base = hn::Set(kOffsets, reinterpret_cast<int64_t>(c));
        const auto no = hn::Set(kOffsets, reinterpret_cast<int64_t>(nowhere));
        for (int64_t i = 0; i < kRows; i += static_cast<int64_t>(hn::Lanes(kOffsets))) {
            const auto offsets = hn::LoadU(kOffsets, rows.data() + i);
            const auto isNowhere = hn::Lt(offsets, hn::Zero(kOffsets));
            hn::StoreU(hn::IfThenElse(isNowhere, no, hn::Add(base, offsets)), kOffsets, to + i);
        }
    }
};

#if HWY_TARGET == HWY_AVX3
// The end of a panel's sums. To load tiles with biases would take what multiplies as long as a
// product does.
struct PanelEnd {
    HWY_INLINE explicit PanelEnd(const void* panel)
        : biases(_mm512_load_si512(static_cast<const PanelHead*>(panel)->biases)),
          multipliers(_mm512_load_ps(static_cast<const PanelHead*>(panel)->multipliers)) {}

    HWY_INLINE __m512i sums(const int32_t* from) const {
        return _mm512_add_epi32(_mm512_load_si512(from), biases);
    }

    __m512i biases;
    __m512 multipliers;
};
#endif

// Makes bytes of its sums, row by row; the more is known of their bounds, the faster. kAdds: there
// is an addend, and all rows are wanted.
#if HWY_TARGET == HWY_AVX3
template <bool kSigned, ByteBounds kBounds, bool kAdds>
class WholeGroupBytes {
  public:
    // `panel`: the first one, `pitch` bytes before the next.
    HWY_INLINE WholeGroupBytes(const SumsEnd<kSigned>& end, const WholeGroup& group,
                               const std::byte* panel, int64_t pitch)
        : mGroup(group),
          mRound(end.round),
          mAdd(end.add),
          mToAddend(kAdds ? end.addend - end.c : 0),
          mFirst(panel),
          mSecond(panel + pitch),
          mThird(panel + 2 * pitch),
          mFourth(panel + 3 * pitch) {}

    HWY_INLINE void store(int64_t row) const {
        const int64_t at = row * kTileColumns;
        __m512i bytes = mRound.template bytes<kBounds>(
                mFirst.sums(mGroup.sums[0] + at), mSecond.sums(mGroup.sums[1] + at),
                mThird.sums(mGroup.sums[2] + at), mFourth.sums(mGroup.sums[3] + at),
                mFirst.multipliers, mSecond.multipliers, mThird.multipliers, mFourth.multipliers);
        auto* const to = reinterpret_cast<uint8_t*>(mGroup.to[row]);
        if constexpr (kAdds) {
            bytes = mAdd(bytes, _mm512_loadu_si512(to + mToAddend));
        }
        _mm512_storeu_si512(to, bytes);
    }

  private:
    const WholeGroup& mGroup;
    const SmallRoundedBytes<kSigned> mRound;
    const AddedBytes<typename SumsEnd<kSigned>::T> mAdd;
    const ptrdiff_t mToAddend;
    const PanelEnd mFirst, mSecond, mThird, mFourth;
};
#else
template <bool kSigned, ByteBounds /*kBounds*/, bool kAdds>
class WholeGroupBytes {
  public:
    WholeGroupBytes(const SumsEnd<kSigned>& end, const WholeGroup& group, const std::byte* panel,
                    int64_t pitch)
        : mEnd(end), mGroup(group), mPanel(panel), mPitch(pitch) {}

    void store(int64_t row) const {
        using T = typename SumsEnd<kSigned>::T;
        auto* const to = reinterpret_cast<uint8_t*>(mGroup.to[row]);
        uint8_t bytes[kGroupColumns];
        const auto lanes = static_cast<int64_t>(hn::Lanes(kSums));
        for (int64_t i = 0; i < kGroupColumns; i += lanes) {
            const int64_t panel = i / kTileColumns;
            const int64_t lane = i % kTileColumns;
            const auto* const head = reinterpret_cast<const PanelHead*>(mPanel + panel * mPitch);
            const auto sums =
                    hn::Add(hn::Load(kSums, mGroup.sums[panel] + row * kTileColumns + lane),
                            hn::Load(kSums, head->biases + lane));
            hn::StoreU(mEnd.round(sums, hn::Load(kFloats, head->multipliers + lane)), kBytes,
                       bytes + i);
        }
        if constexpr (kAdds) {
            const uint8_t* const added = to + (mEnd.addend - mEnd.c);
            for (int64_t i = 0; i < kGroupColumns; ++i) {
                bytes[i] = static_cast<uint8_t>(
                        mEnd.add(static_cast<T>(bytes[i]), static_cast<T>(added[i])));
            }
        }
        std::copy_n(bytes, kGroupColumns, to);
    }

  private:
    static constexpr hn::Rebind<int32_t, Floats> kSums = {};

    const SumsEnd<kSigned>& mEnd;
    const WholeGroup& mGroup;
    const std::byte* const mPanel;
    const int64_t mPitch;
};
#endif

// How many rows of a whole group become bytes behind each of a step's four products, so that all
// are done in so many steps: two at least, since no more than half of a group's sums are in memory
// before the last product of the first one.
using RowsBehind = std::array<int64_t, 4>;
inline RowsBehind rowsBehind(int64_t steps) {
    const int64_t each = (WholeGroup::kRows + steps - 1) / steps;
    return {each / 4, each * 2 / 4 - each / 4, each * 3 / 4 - each * 2 / 4, each - each * 3 / 4};
}

// Rows of a whole group that become bytes while the products of the next one are in work: what
// multiplies tiles leaves the work items for vectors alone.
template <bool kSigned, ByteBounds kBounds, bool kAdds>
class RowsBetween {
  public:
    HWY_INLINE RowsBetween(const WholeGroupBytes<kSigned, kBounds, kAdds>& bytes,
                           const RowsBehind& behind)
        : mBytes(bytes), mBehind(behind) {}

    template <int kProduct>
    HWY_INLINE void behind() {
        const int64_t end = std::min(mNext + mBehind[kProduct], WholeGroup::kRows);
        for (; mNext < end; ++mNext) {
            mBytes.store(mNext);
        }
    }

  private:
    // Not const: GCC keeps nothing in registers that a constructor writes to read-only memory.
    WholeGroupBytes<kSigned, kBounds, kAdds> mBytes;
    const RowsBehind& mBehind;
    int64_t mNext = 0;
};

// Makes bytes of any group.
#if HWY_TARGET == HWY_AVX3
template <bool kSigned>
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
          mFirst(group.panels[0]),
          mSecond(group.panels[1]),
          mThird(group.panels[2]),
          mFourth(group.panels[3]) {}

    template <ByteBounds kBounds>
    HWY_INLINE void store(int64_t row) const {
        const ptrdiff_t to = mRows[row];
        if (to == kNowhere) {
            return;
        }
        // Columns that are not there have sums of old, which go nowhere.
        const int32_t* const sums = mSums + row * kTileColumns;
        __m512i a = mFirst.sums(sums);
        __m512i b = mSecond.sums(sums + mPanelInts);
        __m512i c = mThird.sums(sums + 2 * mPanelInts);
        __m512i d = mFourth.sums(sums + 3 * mPanelInts);
        if (mCorrections != nullptr) {
            const __m512i correction = _mm512_set1_epi32(mCorrections[row]);
            a = _mm512_add_epi32(a, correction);
            b = _mm512_add_epi32(b, correction);
            c = _mm512_add_epi32(c, correction);
            d = _mm512_add_epi32(d, correction);
        }
        __m512i bytes =
                mRound.template bytes<kBounds>(a, b, c, d, mFirst.multipliers, mSecond.multipliers,
                                               mThird.multipliers, mFourth.multipliers);
        if (mAdds) {
            bytes = mAdd(bytes, _mm512_maskz_loadu_epi8(mThere, mAddend + to));
        }
        _mm512_mask_storeu_epi8(mC + to, mThere, bytes);
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
    const PanelEnd mFirst, mSecond, mThird, mFourth;
};
#else
template <bool kSigned>
class GroupBytes {
  public:
    GroupBytes(const SumsEnd<kSigned>& end, const SumsGroup& group) : mEnd(end), mGroup(group) {}

    template <ByteBounds /*kBounds*/>
    void store(int64_t row) const {
        if (mGroup.rows[row] == kNowhere) {
            return;
        }
        using T = typename SumsEnd<kSigned>::T;
        const ptrdiff_t to = mGroup.rows[row] + mGroup.column;
        uint8_t bytes[kGroupColumns];
        const auto correction =
                hn::Set(kSums, mGroup.corrections == nullptr ? 0 : mGroup.corrections[row]);
        const auto lanes = static_cast<int64_t>(hn::Lanes(kSums));
        for (int64_t i = 0; i < mGroup.columns; i += lanes) {
            const int64_t panel = i / kTileColumns;
            const int64_t lane = i % kTileColumns;
            const PanelHead& head = *mGroup.panels[static_cast<size_t>(panel)];
            const auto sums = hn::Add(hn::Load(kSums, mGroup.sums + panel * mGroup.panelInts +
                                                              row * kTileColumns + lane),
                                      hn::Add(hn::Load(kSums, head.biases + lane), correction));
            hn::StoreU(mEnd.round(sums, hn::Load(kFloats, head.multipliers + lane)), kBytes,
                       bytes + i);
        }
        if (mEnd.addend != nullptr) {
            for (int64_t i = 0; i < mGroup.columns; ++i) {
                bytes[i] = static_cast<uint8_t>(
                        mEnd.add(static_cast<T>(bytes[i]), static_cast<T>(mEnd.addend[to + i])));
            }
        }
        std::copy_n(bytes, mGroup.columns, mEnd.c + to);
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
