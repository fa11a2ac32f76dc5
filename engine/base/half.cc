// SPDX-License-Identifier: Apache-2.0

#include "engine/base/half.h"

#include <bit>

namespace halyard {
namespace {

constexpr uint32_t kFloatInfinity = 0x7f800000;
constexpr uint32_t kFloatFraction = 0x007fffff;
constexpr uint32_t kFloatHiddenBit = 0x00800000;
constexpr uint16_t kHalfInfinity = 0x7c00;
constexpr uint16_t kHalfQuiet = 0x0200;
constexpr uint16_t kHalfFraction = 0x03ff;

// value / 2^shift, to nearest, ties to even. shift >= 1.
uint32_t shiftRounded(uint32_t value, uint32_t shift) {
    const uint32_t belowHalf = (1U << (shift - 1)) - 1;
    const uint32_t odd = (value >> shift) & 1;
    return (value + belowHalf + odd) >> shift;
}

}  // namespace

Half toHalf(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;

    uint32_t half = 0;
    if (magnitude > kFloatInfinity) {
        half = kHalfInfinity | kHalfQuiet | ((magnitude >> 13) & kHalfFraction);
    } else if (magnitude >= 0x477ff000) {
        // From 65520 up, half way between the largest half and the next power of two.
        half = kHalfInfinity;
    } else if (magnitude >= 0x38800000) {
        // From 2^-14 up both formats are normal: rebias the exponent from 127 to 15. A carry out of
        // the fraction moves into the exponent, as it should.
        half = shiftRounded(magnitude - (112U << 23), 13);
    } else {
        // A multiple of 2^-24: the float is fraction * 2^(exponent - 150). At or below 2^-25 the
        // nearest, or the even one of the nearest, is zero; shifts stay below 25.
        const uint32_t exponent = magnitude >> 23;
        const uint32_t shift = 126 - exponent;
        if (shift < 25) {
            half = shiftRounded((magnitude & kFloatFraction) | kFloatHiddenBit, shift);
        }
    }
    return {static_cast<uint16_t>(sign | half)};
}

BFloat16 toBFloat16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffff) > kFloatInfinity) {
        return {static_cast<uint16_t>((bits >> 16) | 0x0040)};
    }
    // Rounding up from the largest value carries into infinity.
    return {static_cast<uint16_t>(shiftRounded(bits, 16))};
}

float toFloat(Half value) {
    const uint32_t sign = (value.bits & 0x8000U) << 16;
    const uint32_t exponent = (value.bits >> 10) & 0x1f;
    const uint32_t fraction = value.bits & kHalfFraction;

    uint32_t magnitude = 0;
    if (exponent == 0x1f) {
        magnitude = kFloatInfinity | (fraction << 13);
    } else if (exponent != 0) {
        magnitude = ((exponent + 112) << 23) | (fraction << 13);
    } else {
        magnitude = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
    }
    return std::bit_cast<float>(sign | magnitude);
}

float toFloat(BFloat16 value) {
    return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

}  // namespace halyard
