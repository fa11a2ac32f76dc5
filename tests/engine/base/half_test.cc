// SPDX-License-Identifier: Apache-2.0

#include "engine/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace halyard {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float half(uint16_t bits) {
    return toFloat(Half{bits});
}
float bfloat(uint16_t bits) {
    return toFloat(BFloat16{bits});
}

// The value of a binary16 by the definition of the format.
float definitionOfHalf(uint16_t bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 0x1f) {
        return fraction == 0 ? sign * kInfinity : std::numeric_limits<float>::quiet_NaN();
    }
    return exponent == 0 ? sign * std::ldexp(static_cast<float>(fraction), -24)
                         : sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

TEST(Half, EveryPatternMeansWhatTheFormatSays) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const float expected = definitionOfHalf(static_cast<uint16_t>(bits));
        const float actual = half(static_cast<uint16_t>(bits));
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(actual)) << bits;
        } else {
            EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << bits;
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
