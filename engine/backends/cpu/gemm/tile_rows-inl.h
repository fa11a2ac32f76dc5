// SPDX-License-Identifier: Apache-2.0
//
// Copies of the rows of a product, each as one run, for amx_int8_gemm-inl.h: for sources that
// targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_TILE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_TILE_ROWS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_TILE_ROWS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_TILE_ROWS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
// Each vector of a row's copy is made of the parts of runs that fall into it, and written once.
class TileRows {
  public:
    // Copies lie `pitch` bytes apart. Where the vectors come from is kept in `memory`.
    TileRows(const QuantizedBlock& matrix, int64_t pitch, void* memory)
        : mMatrix(matrix), mPitch(pitch), mParts(static_cast<Part*>(memory)) {
        int64_t at = 0;
        for (const ptrdiff_t run : matrix.runs) {
            for (int64_t done = 0; done < matrix.runLength;) {
                const int64_t first = at % kTileDepth;
                const int64_t count = std::min(kTileDepth - first, matrix.runLength - done);
                const uint64_t bits = ~uint64_t{0} >> static_cast<unsigned>(kTileDepth - count);
                mParts[mPartCount++] = {.from = run + done - first,
                                        .there = bits << static_cast<unsigned>(first),
                                        .isLast = first + count == kTileDepth};
                at += count;
                done += count;
            }
        }
        mParts[mPartCount - 1].isLast = true;
    }

    // Rows [first, first + count) of all lines, mPitch apart.
    HWY_INLINE void copy(int64_t first, int64_t count, uint8_t* to) const {
        if (mMatrix.runLength % kTileDepth == 0) {
            forEachRow(first, count, to, [&](const uint8_t* from, uint8_t* row) HWY_ATTR {
                for (const ptrdiff_t run : mMatrix.runs) {
                    const uint8_t* const at = from + run;
                    for (int64_t i = 0; i < mMatrix.runLength; i += kTileDepth) {
                        _mm512_store_si512(row + i, _mm512_loadu_si512(at + i));
                    }
                    row += mMatrix.runLength;
                }
            });
            return;
        }
        for (const Part* part = mParts; part != mParts + mPartCount; to += kTileDepth) {
            const Part* const begin = part;
            while (!part->isLast) {
                ++part;
            }
            ++part;
            switch (part - begin) {
                case 1:
                    copyVectors<1>(first, count, begin, to);
                    break;
                case 2:
                    copyVectors<2>(first, count, begin, to);
                    break;
                case 3:
                    copyVectors<3>(first, count, begin, to);
                    break;
                case 4:
                    copyVectors<4>(first, count, begin, to);
                    break;
                default:
                    copyVectors(first, count, {begin, part}, to);
            }
        }
    }

  private:
    struct Part {
        ptrdiff_t from = 0;  // of the vector's first byte, were it there, from the row's start
        __mmask64 there = 0;
        bool isLast = false;  // of its vector
    };
    static_assert(sizeof(Part) == kCopyPartBytes);

    // Calls body(where a row is, where it goes).
    template <typename Body>
    HWY_INLINE void forEachRow(int64_t first, int64_t count, uint8_t* to, Body body) const {
        const auto* const a = static_cast<const uint8_t*>(mMatrix.a);
        int64_t line = first / mMatrix.rows;
        int64_t row = first % mMatrix.rows;
        while (count > 0) {
            const int64_t here = std::min(count, mMatrix.rows - row);
            const uint8_t* from = a + line * mMatrix.aLine + row * mMatrix.aRow;
            for (int64_t i = 0; i < here; ++i, from += mMatrix.aRow, to += mPitch) {
                body(from, to);
            }
            count -= here;
            row = 0;
            ++line;
        }
    }

    // One vector of each row.
    template <int kParts>
    HWY_INLINE void copyVectors(int64_t first, int64_t count, const Part* parts,
                                uint8_t* to) const {
        std::array<Part, kParts> own;
        std::copy_n(parts, kParts, own.begin());
        forEachRow(first, count, to, [&](const uint8_t* from, uint8_t* row) HWY_ATTR {
            __m512i vector = _mm512_maskz_loadu_epi8(own[0].there, from + own[0].from);
            for (size_t i = 1; i < kParts; ++i) {
                vector = _mm512_mask_loadu_epi8(vector, own[i].there, from + own[i].from);
            }
            _mm512_store_si512(row, vector);
        });
    }
    HWY_INLINE void copyVectors(int64_t first, int64_t count, std::span<const Part> parts,
                                uint8_t* to) const {
        forEachRow(first, count, to, [&](const uint8_t* from, uint8_t* row) HWY_ATTR {
            __m512i vector = _mm512_setzero_si512();
            for (const Part& part : parts) {
                vector = _mm512_mask_loadu_epi8(vector, part.there, from + part.from);
            }
            _mm512_store_si512(row, vector);
        });
    }

    const QuantizedBlock& mMatrix;
    const int64_t mPitch;
    Part* const mParts;
    size_t mPartCount = 0;
};
#else
class TileRows {
  public:
    TileRows(const QuantizedBlock& matrix, int64_t pitch, void* /*memory*/)
        : mMatrix(matrix), mPitch(pitch) {}

    // Rows [first, first + count) of all lines, mPitch apart. What lies behind a row's end
    // is padding or will be the next row.
    void copy(int64_t first, int64_t count, uint8_t* to) const {
        const auto* const a = static_cast<const uint8_t*>(mMatrix.a);
        for (int64_t i = first; i < first + count; ++i, to += mPitch) {
            copyRow(a + i / mMatrix.rows * mMatrix.aLine + i % mMatrix.rows * mMatrix.aRow, to);
        }
    }

  private:
    HWY_INLINE void copyRow(const uint8_t* from, uint8_t* to) const {
        constexpr hn::CappedTag<uint8_t, 64> kVector;
        const auto lanes = static_cast<int64_t>(hn::Lanes(kVector));
        for (const ptrdiff_t run : mMatrix.runs) {
            int64_t i = 0;
            for (; i + lanes <= mMatrix.runLength; i += lanes) {
                hn::StoreU(hn::LoadU(kVector, from + run + i), kVector, to + i);
            }
            if (i < mMatrix.runLength) {
                const auto rest = static_cast<size_t>(mMatrix.runLength - i);
                hn::StoreU(loadFirst(kVector, from + run + i, rest), kVector, to + i);
            }
            to += mMatrix.runLength;
        }
    }

    const QuantizedBlock& mMatrix;
    const int64_t mPitch;
};
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
