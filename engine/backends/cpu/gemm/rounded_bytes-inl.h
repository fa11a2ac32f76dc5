// SPDX-License-Identifier: Apache-2.0
//
// The way from sums of products back to 8 bits, as numerics/requantize.h has it: for sources that
// targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_ROUNDED_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_ROUNDED_BYTES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_ROUNDED_BYTES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_ROUNDED_BYTES_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using Bytes = hn::Rebind<uint8_t, Floats>;
constexpr Bytes kBytes;

// The bounds that bytes are clamped to.
enum class ByteBounds : uint8_t {
    ANY,
    TYPE,       // the bounds of their type
    FROM_ZERO,  // the same, of which the lower one is the zero point
};

template <bool kSigned>
constexpr ByteBounds byteBoundsOf(int32_t zeroPoint, int32_t low, int32_t high) {
    constexpr int32_t kLeast = kSigned ? -128 : 0;
    if (low != kLeast || high != kLeast + 255) {
        return ByteBounds::ANY;
    }
    return zeroPoint == low ? ByteBounds::FROM_ZERO : ByteBounds::TYPE;
}

#if HWY_TARGET == HWY_AVX3
// Conversions give the smallest integer for what is too large for one, and packs saturate: so only
// the upper bound has to be looked at before the conversion, and the lower one once there are
// bytes. Results are moved to unsigned bytes and back.
class RoundedBytes {
  public:
    HWY_INLINE RoundedBytes(int32_t zeroPoint, int32_t low, int32_t high) {
        const int32_t shift = low < 0 ? 128 : 0;
        mHigh = _mm512_set1_ps(static_cast<float>(high - zeroPoint));
        mZeroPoint = _mm512_set1_epi16(static_cast<int16_t>(zeroPoint + shift));
        mLow = _mm512_set1_epi8(static_cast<char>(low + shift));
        mBack = _mm512_set1_epi8(static_cast<char>(shift));
        // Lanes of four packed vectors: 16 bytes of each by turns.
        mInOrder = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    }

    // Differences from the zero point, not yet clamped to the lower bound.
    template <typename Sums, typename Multipliers>
    HWY_INLINE __m512i operator()(Sums sums, Multipliers multipliers) const {
        const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.raw), multipliers.raw);
        return _mm512_cvtps_epi32(_mm512_min_ps(value, mHigh));
    }

    // The bytes of four such vectors, one vector after the other.
    HWY_INLINE __m512i bytes(__m512i a, __m512i b, __m512i c, __m512i d) const {
        const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), mZeroPoint);
        const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), mZeroPoint);
        const __m512i packed =
                _mm512_xor_si512(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), mLow), mBack);
        return _mm512_permutexvar_epi32(mInOrder, packed);
    }

  private:
    __m512 mHigh;
    __m512i mZeroPoint, mLow, mBack, mInOrder;
};

// The same where no multiplier is more than a half: whatever a sum of 32 bits is then, it becomes
// another. Bytes are signed or not.
template <bool kSigned>
class SmallRoundedBytes {
  public:
    HWY_INLINE SmallRoundedBytes(int32_t zeroPoint, int32_t low, int32_t high)
        : mZeroPoint(_mm512_set1_epi16(static_cast<int16_t>(zeroPoint))),
          mLow(_mm512_set1_epi8(static_cast<char>(low))),
          mHigh(_mm512_set1_epi8(static_cast<char>(high))),
          mInOrder(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0)) {}

    // The bytes of four vectors of sums, one vector after the other. kBounds are byteBoundsOf()
    // what the constructor took, or ANY.
    template <ByteBounds kBounds>
    HWY_INLINE __m512i bytes(__m512i a, __m512i b, __m512i c, __m512i d, __m512 ma, __m512 mb,
                             __m512 mc, __m512 md) const {
        const __m512i ab = _mm512_packs_epi32(rounded(a, ma), rounded(b, mb));
        const __m512i cd = _mm512_packs_epi32(rounded(c, mc), rounded(d, md));
        return _mm512_permutexvar_epi32(mInOrder, packed<kBounds>(ab, cd));
    }

  private:
    static HWY_INLINE __m512i rounded(__m512i sums, __m512 multipliers) {
        return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), multipliers));
    }
    template <ByteBounds kBounds>
    HWY_INLINE __m512i packed(__m512i ab, __m512i cd) const {
        if constexpr (kBounds == ByteBounds::FROM_ZERO) {
            // The zero point of signed bytes is also what moves them from unsigned ones.
            const __m512i bytes = _mm512_packus_epi16(ab, cd);
            return kSigned ? _mm512_xor_si512(bytes, mLow) : bytes;
        }
        ab = _mm512_adds_epi16(ab, mZeroPoint);
        cd = _mm512_adds_epi16(cd, mZeroPoint);
        const __m512i bytes = kSigned ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
        if constexpr (kBounds == ByteBounds::TYPE) {
            return bytes;
        }
        return kSigned ? _mm512_min_epi8(_mm512_max_epi8(bytes, mLow), mHigh)
                       : _mm512_min_epu8(_mm512_max_epu8(bytes, mLow), mHigh);
    }

    __m512i mZeroPoint, mLow, mHigh, mInOrder;
};
#else
class RoundedBytes {
  public:
    HWY_INLINE RoundedBytes(int32_t zeroPoint, int32_t low, int32_t high)
        : mZeroPoint(hn::Set(kSums, zeroPoint)),
          mLow(hn::Set(kFloats, static_cast<float>(low - zeroPoint))),
          mHigh(hn::Set(kFloats, static_cast<float>(high - zeroPoint))) {}

    HWY_INLINE hn::Vec<Bytes> operator()(hn::Vec<hn::Rebind<int32_t, Floats>> sums,
                                         hn::Vec<Floats> multipliers) const {
        const auto value = hn::Mul(hn::ConvertTo(kFloats, sums), multipliers);
        const auto clamped = hn::Min(hn::Max(value, mLow), mHigh);
        const auto rounded = hn::Add(hn::NearestInt(clamped), mZeroPoint);
        return hn::TruncateTo(kBytes,
                              hn::BitCast(hn::RebindToUnsigned<decltype(kSums)>(), rounded));
    }

  private:
    static constexpr hn::Rebind<int32_t, Floats> kSums = {};

    hn::Vec<hn::Rebind<int32_t, Floats>> mZeroPoint;
    hn::Vec<Floats> mLow, mHigh;
};
#endif

#if HWY_TARGET == HWY_NEON
// Vectors of sums as vectors of bytes: each narrowing saturates, which leaves to the bounds only
// the bytes. One object serves all rows of a tile.
class NarrowedBytes {
  public:
    HWY_INLINE NarrowedBytes(int32_t zeroPoint, int32_t low, int32_t high)
        : mZeroPoint(vdupq_n_s16(static_cast<int16_t>(zeroPoint))),
          mLow(vdupq_n_u8(static_cast<uint8_t>(low))),
          mHigh(vdupq_n_u8(static_cast<uint8_t>(high))) {}

    // Two vectors of sums as 16-bit integers, with the zero point.
    HWY_INLINE int16x8_t narrowed(int32x4_t a, int32x4_t b, float32x4_t ma, float32x4_t mb) const {
        return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(rounded(a, ma)), rounded(b, mb)), mZeroPoint);
    }
    // Those as bytes, of one vector or of two. kSigned: the bounds are signed bytes. kBounds are
    // byteBoundsOf() them, or ANY.
    template <bool kSigned, ByteBounds kBounds>
    HWY_INLINE uint8x8_t bytes(int16x8_t a) const {
        if constexpr (kSigned) {
            const int8x8_t bytes = vqmovn_s16(a);
            return vreinterpret_u8_s8(
                    kBounds != ByteBounds::ANY
                            ? bytes
                            : vmin_s8(vmax_s8(bytes, vreinterpret_s8_u8(vget_low_u8(mLow))),
                                      vreinterpret_s8_u8(vget_low_u8(mHigh))));
        } else {
            const uint8x8_t bytes = vqmovun_s16(a);
            return kBounds != ByteBounds::ANY
                           ? bytes
                           : vmin_u8(vmax_u8(bytes, vget_low_u8(mLow)), vget_low_u8(mHigh));
        }
    }
    template <bool kSigned, ByteBounds kBounds>
    HWY_INLINE uint8x16_t bytes(int16x8_t a, int16x8_t b) const {
        if constexpr (kSigned) {
            const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(a), b);
            return vreinterpretq_u8_s8(
                    kBounds != ByteBounds::ANY
                            ? bytes
                            : vminq_s8(vmaxq_s8(bytes, vreinterpretq_s8_u8(mLow)),
                                       vreinterpretq_s8_u8(mHigh)));
        } else {
            const uint8x16_t bytes = vqmovun_high_s16(vqmovun_s16(a), b);
            return kBounds != ByteBounds::ANY ? bytes : vminq_u8(vmaxq_u8(bytes, mLow), mHigh);
        }
    }

  private:
    static HWY_INLINE int32x4_t rounded(int32x4_t sums, float32x4_t multipliers) {
        return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), multipliers));
    }

    int16x8_t mZeroPoint;
    uint8x16_t mLow, mHigh;
};
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
