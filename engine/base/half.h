// SPDX-License-Identifier: Apache-2.0
//
// The 16-bit floating point formats as storage: IEEE 754 binary16 and bfloat16 (the upper half of a
// binary32). Arithmetic on them is done in float.
//
// The conversions are inline, because kernels convert every element that they touch.

#pragma once

#include <bit>
#include <cstdint>

namespace halyard {

// 1 sign bit, 5 exponent bits, 10 fraction bits.
struct Half {
    uint16_t bits = 0;
};

// 1 sign bit, 8 exponent bits, 7 fraction bits.
struct BFloat16 {
    uint16_t bits = 0;
};

namespace half_internal {

inline constexpr uint32_t kFloatInfinity = 0x7f800000;
// From a Half's exponent, whose bias is 15, to a float's, whose bias is 127.
inline constexpr uint32_t kRebias = 112U << 23;

// value / 2^shift, to nearest, ties to even. shift >= 1.
inline uint32_t shiftRounded(uint32_t value, uint32_t shift) {
    const uint32_t belowHalf = (1U << (shift - 1)) - 1;
    const uint32_t odd = (value >> shift) & 1;
    return (value + belowHalf + odd) >> shift;
}

// All ones, or none.
inline uint32_t maskIf(bool condition) {
    return 0U - static_cast<uint32_t>(condition);
}

}  // namespace half_internal

// To the nearest value, ties to the even fraction, whatever the thread's rounding mode. What is too
// large becomes infinity; a NaN stays a NaN, quiet, with the upper bits of its payload.
inline Half toHalf(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;

    uint32_t half = 0;
    if (magnitude > half_internal::kFloatInfinity) {
        half = 0x7e00 | ((magnitude >> 13) & 0x03ff);
    } else if (magnitude >= 0x477ff000) {
        // From 65520 up, half way between the largest half and the next power of two: infinity.
        half = 0x7c00;
    } else if (magnitude >= 0x38800000) {
        // From 2^-14 up both formats are normal. A carry out of the fraction moves into the
        // exponent, as it should.
        half = half_internal::shiftRounded(magnitude - half_internal::kRebias, 13);
    } else {
        // A multiple of 2^-24: the float is fraction * 2^(exponent - 150). At or below 2^-25 the
        // nearest, or the even one of the nearest, is zero; shifts stay below 25.
        const uint32_t shift = 126 - (magnitude >> 23);
        const uint32_t fraction = (magnitude & 0x007fffff) | 0x00800000;
        half = shift < 25 ? half_internal::shiftRounded(fraction, shift) : 0;
    }
    return {static_cast<uint16_t>(sign | half)};
}

inline BFloat16 toBFloat16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffff) > half_internal::kFloatInfinity) {
        return {static_cast<uint16_t>((bits >> 16) | 0x0040)};
    }
    // Rounding up from the largest value carries into infinity.
    return {static_cast<uint16_t>(half_internal::shiftRounded(bits, 16))};
}

// Exact. All that the value can be is computed and masks choose, because branches would keep the
// compiler from vectorising loops over elements.
inline float toFloat(Half value) {
    const uint32_t sign = (value.bits & 0x8000U) << 16;
    const uint32_t magnitude = value.bits & 0x7fffU;

    const uint32_t isSubnormal = half_internal::maskIf(magnitude < 0x0400);
    const auto subnormal =
            std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24F);

    // The exponent of infinity and NaNs goes from 31 to 255.
    const uint32_t isSpecial = half_internal::maskIf(magnitude >= 0x7c00);
    const uint32_t normal =
            (magnitude << 13) + half_internal::kRebias + (isSpecial & half_internal::kRebias);

    return std::bit_cast<float>(sign | (isSubnormal & subnormal) | (~isSubnormal & normal));
}

inline float toFloat(BFloat16 value) {
    return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Whether bfloat16 has the value, bit for bit.
inline bool isBFloat16(float value) {
    return (std::bit_cast<uint32_t>(value) & 0xffff) == 0;
}

}  // namespace halyard
