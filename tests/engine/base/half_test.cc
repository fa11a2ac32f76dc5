// SPDX-License-Identifier: Apache-2.0

#include "engine/base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace halyard {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float half(uint16_t bits) {
    return toFloat(Half{bits});
}
float bfloat(uint16_t bits) {
    return toFloat(BFloat16{bits});
}

// The value of a binary16 by the definition of the format; a NaN for every NaN.
double definitionOfHalf(uint32_t bits) {
    const int exponent = static_cast<int>(bits >> 10) & 0x1f;
    const int fraction = static_cast<int>(bits) & 0x3ff;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 0x1f) {
        return fraction == 0 ? sign * kInfinity : std::numeric_limits<double>::quiet_NaN();
    }
    return exponent == 0 ? sign * std::ldexp(fraction, -24)
                         : sign * std::ldexp(1024 + fraction, exponent - 25);
}

// The number of a binary format that is nearest to a number, by the definition of rounding: in
// double precision, which holds all of it exactly, and with the C library's ties to even.
struct Format {
    int fractionBits;
    int smallestExponent;
    double overflow;  // the power of two that follows the largest number

    double nearest(double number) const {
        if (number == 0 || std::isinf(number)) {
            return number;
        }
        const int exponent = std::max(std::ilogb(number), smallestExponent);
        const double step = std::ldexp(1.0, exponent - fractionBits);
        const double rounded = std::nearbyint(number / step) * step;
        return std::abs(rounded) < overflow ? rounded : std::copysign(kInfinity, number);
    }
};
constexpr Format kBinary16 = {.fractionBits = 10, .smallestExponent = -14, .overflow = 0x1p16};
constexpr Format kBfloat16 = {.fractionBits = 7, .smallestExponent = -126, .overflow = 0x1p128};

// Calls body(bits) for a million floats, spread evenly over all patterns; NaNs are among them.
template <typename Body>
void forFloatsEverywhere(Body body) {
    constexpr uint32_t kPrimeStride = 4099;
    for (uint64_t bits = 0; bits <= 0xffffffff; bits += kPrimeStride) {
        body(static_cast<uint32_t>(bits));
    }
}

bool isSame(double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

TEST(Half, EveryPatternMeansWhatTheFormatSays) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const double expected = definitionOfHalf(bits);
        const float actual = half(static_cast<uint16_t>(bits));
        if (std::isnan(expected)) {
            EXPECT_EQ(std::bit_cast<uint32_t>(actual),
                      (bits & 0x8000) << 16 | 0x7f800000 | (bits & 0x3ff) << 13)
                    << "a NaN keeps sign and payload";
        } else {
            EXPECT_TRUE(isSame(actual, expected)) << bits << " is " << actual;
        }
    }
}

TEST(Half, EveryNumberSurvivesTheWayThroughFloat) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const float value = half(static_cast<uint16_t>(bits));
        if (std::isnan(value)) {
            EXPECT_EQ(toHalf(value).bits, bits | 0x200) << "a NaN becomes quiet";
        } else {
            EXPECT_EQ(toHalf(value).bits, bits);
        }
    }
}

TEST(Half, RoundsAsTheFormatSaysEverywhere) {
    forFloatsEverywhere([](uint32_t bits) {
        const auto value = std::bit_cast<float>(bits);
        const uint32_t actual = toHalf(value).bits;
        if (std::isnan(value)) {
            ASSERT_EQ(actual, (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff)) << bits;
        } else {
            ASSERT_TRUE(isSame(definitionOfHalf(actual), kBinary16.nearest(value)))
                    << value << " becomes " << definitionOfHalf(actual);
        }
    });
}

TEST(Half, DoesNotDependOnTheRoundingMode) {
    std::vector<float> values;
    forFloatsEverywhere([&](uint32_t bits) { values.push_back(std::bit_cast<float>(bits)); });
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::vector<uint32_t> widened(0x10000);
        std::vector<uint16_t> rounded(values.size());
        ASSERT_EQ(std::fesetround(mode), 0);
        for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
            widened[bits] = std::bit_cast<uint32_t>(half(static_cast<uint16_t>(bits)));
        }
        for (size_t i = 0; i < values.size(); ++i) {
            rounded[i] = toHalf(values[i]).bits;
        }
        ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
        for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
            ASSERT_EQ(widened[bits], std::bit_cast<uint32_t>(half(static_cast<uint16_t>(bits))));
        }
        for (size_t i = 0; i < values.size(); ++i) {
            ASSERT_EQ(rounded[i], toHalf(values[i]).bits) << values[i];
        }
    }
}

TEST(Half, RoundsToNearestAndTiesToEvenBetweenAllNeighbours) {
    for (uint16_t low = 0; low < 0x7bff; ++low) {
        const auto high = static_cast<uint16_t>(low + 1);
        const float middle = (half(low) + half(high)) / 2;  // exact: a float has bits to spare
        const uint16_t even = (low & 1) == 0 ? low : high;
        for (const uint16_t sign : {0, 0x8000}) {
            const float factor = sign == 0 ? 1.0F : -1.0F;
            EXPECT_EQ(toHalf(factor * middle).bits, sign | even) << middle;
            EXPECT_EQ(toHalf(factor * std::nextafter(middle, 0.0F)).bits, sign | low) << middle;
            EXPECT_EQ(toHalf(factor * std::nextafter(middle, kInfinity)).bits, sign | high)
                    << middle;
        }
    }
}

TEST(Half, OverflowsFromHalfAStepAboveTheLargest) {
    EXPECT_EQ(toHalf(65504.0F).bits, 0x7bff);
    EXPECT_EQ(toHalf(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
    EXPECT_EQ(toHalf(65520.0F).bits, 0x7c00);
    EXPECT_EQ(toHalf(std::numeric_limits<float>::max()).bits, 0x7c00);
    EXPECT_EQ(toHalf(-kInfinity).bits, 0xfc00);
}

TEST(Half, UnderflowsToZeroWithItsSign) {
    EXPECT_EQ(toHalf(0x1p-25F).bits, 0x0000) << "a tie, to even";
    EXPECT_EQ(toHalf(std::nextafter(0x1p-25F, 1.0F)).bits, 0x0001);
    EXPECT_EQ(toHalf(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
    EXPECT_EQ(toHalf(-0.0F).bits, 0x8000);
}

TEST(Half, KeepsNansQuietWithTheirSignAndUpperPayload) {
    EXPECT_EQ(toHalf(std::bit_cast<float>(0x7f800001)).bits, 0x7e00) << "a signalling NaN";
    EXPECT_EQ(toHalf(std::bit_cast<float>(0xffc06000)).bits, 0xfe03);
}

TEST(BFloat16, EveryNumberSurvivesTheWayThroughFloat) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const float value = bfloat(static_cast<uint16_t>(bits));
        EXPECT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
        EXPECT_EQ(toBFloat16(value).bits, std::isnan(value) ? bits | 0x40 : bits);
    }
}

TEST(BFloat16, RoundsAsTheFormatSaysEverywhere) {
    forFloatsEverywhere([](uint32_t bits) {
        const auto value = std::bit_cast<float>(bits);
        const BFloat16 actual = toBFloat16(value);
        if (std::isnan(value)) {
            ASSERT_EQ(actual.bits, (bits >> 16) | 0x40) << bits;
        } else {
            ASSERT_TRUE(isSame(toFloat(actual), kBfloat16.nearest(value)))
                    << value << " becomes " << toFloat(actual);
        }
    });
}

TEST(BFloat16, RoundsToNearestAndTiesToEvenBetweenAllNeighbours) {
    for (uint16_t low = 0; low < 0x7f80; ++low) {
        const auto high = static_cast<uint16_t>(low + 1);
        const uint32_t middle = (static_cast<uint32_t>(low) << 16) + 0x8000;
        EXPECT_EQ(toBFloat16(std::bit_cast<float>(middle)).bits, (low & 1) == 0 ? low : high);
        EXPECT_EQ(toBFloat16(std::bit_cast<float>(middle - 1)).bits, low);
        EXPECT_EQ(toBFloat16(-std::bit_cast<float>(middle + 1)).bits, 0x8000 | high);
    }
}

TEST(BFloat16, KeepsNans) {
    EXPECT_TRUE(std::isnan(toFloat(toBFloat16(std::bit_cast<float>(0x7f800001)))));
    EXPECT_TRUE(std::isnan(toFloat(toBFloat16(std::bit_cast<float>(0xffffffff)))));
}

}  // namespace
}  // namespace halyard
