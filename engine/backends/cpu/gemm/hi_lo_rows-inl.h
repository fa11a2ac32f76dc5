// SPDX-License-Identifier: Apache-2.0
//
// Rows of the left matrix in the parts that bf16_split_block.h says: for sources that targets.h
// compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_SPLIT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_SPLIT_ROWS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_SPLIT_ROWS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_SPLIT_ROWS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/bf16_split_block.h"
#include "engine/backends/cpu/gemm/hi_lo_split-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A part of a row is [step][k, k + 16 in turns], and its parts lie one behind the other, as many as
// kLeft.
template <int kLeft>
class HiLoRows {
  public:
    // Where a row lies.
    struct Place {
        const float* line = nullptr;
        const float* row = nullptr;
        int64_t left = 0;  // rows of its line, from it on

        static HWY_INLINE Place of(const FloatBlock& matrix, int64_t index) {
            const float* const line = matrix.a + index / matrix.rows * matrix.aLine;
            return {.line = line,
                    .row = line + index % matrix.rows * matrix.aRow,
                    .left = matrix.rows - index % matrix.rows};
        }
        HWY_INLINE void advance(const FloatBlock& matrix) {
            row += matrix.aRow;
            if (--left == 0) {
                line += matrix.aLine;
                row = line;
                left = matrix.rows;
            }
        }
    };

    // `plain` has room for a row of `depth`, which is that of the panels.
    HiLoRows(const FloatBlock& matrix, int64_t depth, float* plain)
        : mMatrix(matrix),
          mDepth(depth),
          mPlaneWords(depth / 2),
          mRowBytes(splitRowBytes(depth, kLeft)),
          mPlain(plain) {}

    // The row without gaps between its runs, and with zeros up to the depth.
    void gather(const float* row, float* to) const {
        float* const end = to + mDepth;
        for (const ptrdiff_t run : mMatrix.runs) {
            to = std::copy_n(row + run, mMatrix.runLength, to);
        }
        std::fill(to, end, 0.0F);
    }

    // So many rows, from `place` on, which then is where the next one lies. Returns whether all of
    // them are tame.
    bool split(Place& place, int64_t rows, std::byte* to) const {
        static constexpr ptrdiff_t kRun[] = {0};
        const bool inPlace = mMatrix.runs.size() == 1 || mMatrix.runLength % kSplitDepth == 0;
        bool areInSafeRange = true;
        for (int64_t row = 0; row < rows; ++row, to += mRowBytes) {
            if (inPlace) {
                areInSafeRange &= splitRow(place.row, mMatrix.runs, mMatrix.runLength, to);
            } else {
                gather(place.row, mPlain);
                areInSafeRange &= splitRow(mPlain, kRun, mDepth, to);
            }
            place.advance(mMatrix);
        }
        return areInSafeRange;
    }

  private:
    using Floats = hn::CappedTag<float, kTileColumns>;
    using Words = hn::RebindToUnsigned<Floats>;
    static constexpr Floats kFloats = {};
    static constexpr Words kWords = {};
    static constexpr int64_t kHalfStep = kSplitDepth / 2;

    // Returns whether it is tame.
    HWY_INLINE bool splitRow(const float* row, std::span<const ptrdiff_t> runs, int64_t runLength,
                             std::byte* to) const {
        auto largest = hn::Zero(kWords);
        for (const ptrdiff_t run : runs) {
            const float* const from = row + run;
            int64_t k = 0;
            for (; k + kSplitDepth <= runLength; k += kSplitDepth, to += kTileDepth) {
                splitStep<false>(from + k, kSplitDepth, to, largest);
            }
            if (k < runLength) {
                splitStep<true>(from + k, runLength - k, to, largest);
            }
        }
        // Bits of absolute values are in their order, and those of what is no number above.
        const uint32_t bits = hn::GetLane(hn::MaxOfLanes(kWords, largest));
        constexpr auto kLeast = std::bit_cast<uint32_t>(kSafeRangeMin);
        constexpr auto kMost = std::bit_cast<uint32_t>(kSafeRangeMax);
        return bits == 0 || (bits >= kLeast && bits <= kMost);
    }

    template <bool kLast, typename V>
    HWY_INLINE void splitStep(const float* from, int64_t count, std::byte* to, V& largest) const {
        const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
        const auto signs = hn::Set(kWords, 0x80000000U);
        const auto loadSome = [&](int64_t at) {
            if constexpr (kLast) {
                const int64_t there = std::clamp<int64_t>(count - at, 0, lanes);
                return there == 0 ? hn::Zero(kFloats)
                                  : loadFirst(kFloats, from + at, static_cast<size_t>(there));
            } else {
                return hn::LoadU(kFloats, from + at);
            }
        };
        for (int64_t i = 0; i < kHalfStep; i += lanes) {
            const auto a = loadSome(i);
            const auto b = loadSome(kHalfStep + i);
            const auto bits = hn::BitCast(kWords, a);
            const auto bits2 = hn::BitCast(kWords, b);
            largest = hn::Max(largest, hn::Max(hn::AndNot(signs, bits), hn::AndNot(signs, bits2)));
            storeParts<kLeft>(a, b, mPlaneWords, reinterpret_cast<uint32_t*>(to) + i);
        }
    }

    const FloatBlock& mMatrix;
    const int64_t mDepth;
    const int64_t mPlaneWords;  // of one part of a row: of pairs
    const int64_t mRowBytes;    // of all of them, and a gap
    float* const mPlain;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
