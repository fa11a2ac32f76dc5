// SPDX-License-Identifier: Apache-2.0
//
// Sums of bytes by scaled_sum.h where the processor has dot products of bytes and of 16 bits, which
// do with less than a multiplication of 32 bits: for sources that targets.h compiles once for each
// instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_ADDED_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_ADDED_BYTES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_ADDED_BYTES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_ADDED_BYTES_INL_H_
#endif

#include <cstdint>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "engine/numerics/requantize.h"
#include "engine/numerics/scaled_sum.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// A multiplier is 256 * high + low. Bytes are laid out as (0, a, 0, b), which is a and b times 256
// for the one instruction, and a and b for the other.
template <typename T>
class AddedBytes {
  public:
    // The second multiplier may be negative.
    explicit AddedBytes(const ByteAddition& addition) {
        const ScaledSum& sum = addition.sum;
        const auto a = static_cast<uint32_t>(sum.multiplierA);
        const auto b = static_cast<uint32_t>(sum.multiplierB);
        mHighs = _mm512_set1_epi32(static_cast<int32_t>((a >> 8 & 0xffff) | b >> 8 << 16));
        mLows = _mm512_set1_epi32(static_cast<int32_t>((a & 0xff) << 8 | (b & 0xff) << 24));
        const auto zeroA = static_cast<uint32_t>(addition.zeroA - kMoved);
        const auto zeroB = static_cast<uint32_t>(addition.zeroB - kMoved);
        mStart = _mm512_set1_epi32(
                static_cast<int32_t>((uint32_t{1} << (sum.shift - 1)) - zeroA * a - zeroB * b));
        mShift = _mm512_set1_epi32(sum.shift);
        mZero = _mm512_set1_epi16(static_cast<int16_t>(addition.zero));
        mHasLow = addition.bounds.low > std::numeric_limits<T>::min();
        mHasHigh = addition.bounds.high < std::numeric_limits<T>::max();
        mLow = _mm512_set1_epi8(static_cast<char>(addition.bounds.low));
        mHigh = _mm512_set1_epi8(static_cast<char>(addition.bounds.high));
    }

    HWY_INLINE __m512i operator()(__m512i a, __m512i b) const {
        if constexpr (kMoved != 0) {
            a = _mm512_xor_si512(a, _mm512_set1_epi8(static_cast<char>(0x80)));
            b = _mm512_xor_si512(b, _mm512_set1_epi8(static_cast<char>(0x80)));
        }
        // Unpacking works within each 16 bytes; packs do so, too, and restore the order.
        const __m512i none = _mm512_setzero_si512();
        const __m512i first = _mm512_unpacklo_epi8(a, b);
        const __m512i second = _mm512_unpackhi_epi8(a, b);
        const __m512i ab = _mm512_packs_epi32(steps(_mm512_unpacklo_epi8(none, first)),
                                              steps(_mm512_unpackhi_epi8(none, first)));
        const __m512i cd = _mm512_packs_epi32(steps(_mm512_unpacklo_epi8(none, second)),
                                              steps(_mm512_unpackhi_epi8(none, second)));
        const __m512i low = _mm512_adds_epi16(ab, mZero);
        const __m512i high = _mm512_adds_epi16(cd, mZero);
        constexpr bool kSigned = kMoved == 0;
        __m512i bytes = kSigned ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
        // Bounds that are those of the type are there already.
        if (mHasLow) {
            bytes = kSigned ? _mm512_max_epi8(bytes, mLow) : _mm512_max_epu8(bytes, mLow);
        }
        if (mHasHigh) {
            bytes = kSigned ? _mm512_min_epi8(bytes, mHigh) : _mm512_min_epu8(bytes, mHigh);
        }
        return bytes;
    }

    void row(const T* a, const T* b, T* to, int64_t count) const {
        int64_t i = 0;
        for (; i + 64 <= count; i += 64) {
            _mm512_storeu_si512(to + i,
                                (*this)(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i)));
        }
        if (i < count) {
            const __mmask64 there = (uint64_t{1} << static_cast<unsigned>(count - i)) - 1;
            _mm512_mask_storeu_epi8(to + i, there,
                                    (*this)(_mm512_maskz_loadu_epi8(there, a + i),
                                            _mm512_maskz_loadu_epi8(there, b + i)));
        }
    }

  private:
    // The instructions take signed bytes.
    static constexpr int32_t kMoved = std::is_signed_v<T> ? 0 : 128;

    HWY_INLINE __m512i steps(__m512i bytes) const {
        __m512i sum = mStart;
        asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(mHighs));
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(mLows), "v"(bytes));
        return _mm512_srav_epi32(sum, mShift);
    }

    __m512i mHighs, mLows, mStart, mShift, mZero, mLow, mHigh;
    bool mHasLow, mHasHigh;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
