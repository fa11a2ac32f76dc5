// SPDX-License-Identifier: Apache-2.0
//
// Rules for quantised results that are not requantize.h's, at the values where rounding a real
// number once would give another one. tests/harness/comparison/test_operation_agreement.py compares
// whole operations with LiteRT.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>

#include "engine/numerics/fixed_requantize.h"
#include "engine/numerics/hard_swish.h"
#include "engine/numerics/interpolation.h"
#include "engine/numerics/quantized_mean.h"
#include "engine/numerics/scaled_sum.h"

namespace halyard::engine {
namespace {

constexpr QuantizedRange kBytes = {.low = -128, .high = 127};

Quantization quantization(float scale, int32_t zeroPoint) {
    return {.scale = scale, .zeroPoint = zeroPoint, .channelScales = {}};
}

TEST(ScaledSum, RoundsHalvesUp) {
    const std::optional<ScaledSum> sum = ScaledSum::of(0.5F, 0.25F);
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->multiplierA, 1 << 20);
    EXPECT_EQ((*sum)(1, 0), 1);
    EXPECT_EQ((*sum)(-1, 0), 0);
    EXPECT_EQ((*sum)(5, 0), 3);
    EXPECT_EQ((*sum)(-5, 0), -2);
    EXPECT_EQ((*sum)(1, -2), 0);
}

TEST(ScaledSum, IsNextToTheRealSumForAllScalesThatItTakes) {
    std::minstd_rand random(17);
    for (int round = 0; round < 2000; ++round) {
        const auto ratio = [&] {
            return std::exp2(std::uniform_real_distribution<float>(-14.0F, 8.0F)(random));
        };
        const float ratioA = std::min(ratio(), 0x1.fffffep7F);
        const float ratioB = std::min(ratio(), 0x1.fffffep7F);
        const std::optional<ScaledSum> sum = ScaledSum::of(ratioA, ratioB);
        ASSERT_TRUE(sum);
        for (const int32_t a : {-255, -7, 0, 100, 255}) {
            for (const int32_t b : {-255, -100, 0, 3, 255}) {
                const double exact = a * double{ratioA} + b * double{ratioB};
                // Each multiplier is off by half a unit at most, of 2^20 of the larger one.
                const double slack = 255 * std::max(ratioA, ratioB) * 0x1p-20 + 1e-9;
                ASSERT_LE(std::fabs((*sum)(a, b) - exact), 0.5 + slack) << ratioA << " " << ratioB;
            }
        }
    }
}

TEST(ScaledSum, RefusesScalesThatOverflow) {
    EXPECT_FALSE(ScaledSum::of(256.0F, 1.0F));
    EXPECT_FALSE(ScaledSum::of(1.0F, std::numeric_limits<float>::infinity()));
    EXPECT_TRUE(ScaledSum::of(1e-30F, 1e-30F));
}

TEST(Interpolation, KeepsElevenBitsOfAShareAndRoundsHalvesUp) {
    EXPECT_EQ(fixedShare(0.5F), 1024);
    EXPECT_EQ(fixedShare(1.0F / 3.0F), 683);
    EXPECT_EQ(interpolate(3, 4, 3, 4, 1024, 0), 4);
    EXPECT_EQ(interpolate(-4, -3, -4, -3, 1024, 0), -3);
    EXPECT_EQ(interpolate(0, 0, 255, 255, 0, 683), 85);
    EXPECT_EQ(interpolate(255, 255, 255, 255, 2048, 2048), 255);
    EXPECT_EQ(interpolate(-128, 127, 127, -128, 1024, 1024), 0);  // of -1/2
}

TEST(FixedHardSwish, IsWithinAStepOfTheRealFunction) {
    for (const float scale : {0.003F, 0.02F, 0.05F, 0.11F}) {
        for (const float output : {0.003F, 0.019F, 0.05F}) {
            const std::optional<FixedHardSwish> function = FixedHardSwish::of(scale, output);
            ASSERT_TRUE(function);
            for (int32_t difference = -255; difference <= 255; ++difference) {
                const double x = static_cast<double>(scale) * difference;
                const double exact =
                        x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0 / static_cast<double>(output);
                if (std::fabs(exact) > 255) {
                    continue;
                }
                ASSERT_LE(std::fabs((*function)(difference)-exact), 1.0)
                        << difference << " " << scale << " " << output;
            }
        }
    }
}

TEST(FixedHardSwish, RefusesScalesOutOfItsRange) {
    EXPECT_FALSE(FixedHardSwish::of(1.0F, 1.0F / 200.0F));
    EXPECT_FALSE(FixedHardSwish::of(1e30F, 1e30F));
    EXPECT_TRUE(FixedHardSwish::of(1e-30F, 1.0F));
}

// The zero point goes in before rounding: 0.5 - 3 is -2.5, which is next to -2 as to -3.
TEST(QuantizedMean, RoundsHalvesToEvenWithTheZeroPoint) {
    const QuantizedMean mean(quantization(0.5F, 0), quantization(0.5F, -3), 2);
    EXPECT_EQ(mean(1, kBytes), -2);
    EXPECT_EQ(mean(3, kBytes), -2);
    EXPECT_EQ(mean(5, kBytes), 0);
    const QuantizedMean same(quantization(0.5F, -3), quantization(0.5F, -3), 4);
    EXPECT_EQ(same(-12, kBytes), -3);
    EXPECT_EQ(same(-10, kBytes), -2);
}

TEST(QuantizedMean, OfNothingIsTheZeroPoint) {
    EXPECT_EQ(QuantizedMean(quantization(0.5F, 7), quantization(0.1F, -5), 0)(0, kBytes), -5);
}

// 0.375 becomes 1/2 at the first rounding where two bits are left, and 1 at the second.
TEST(FixedRequantization, RoundsTwiceAndHalvesAwayFromZero) {
    const FixedRequantization half(quantization(0.5F, 0), quantization(1.0F, 0),
                                   quantization(1.0F, 3));
    EXPECT_EQ(half(1, kBytes), 4);
    EXPECT_EQ(half(2, kBytes), 4);
    EXPECT_EQ(half(-3, kBytes), 2);
    const FixedRequantization quarter(quantization(0.25F, 0), quantization(0.6F, 0),
                                      quantization(1.0F, 0));
    EXPECT_EQ(quarter(3, kBytes), 1);  // 0.45 is 2/4 after the first
    EXPECT_EQ(quarter(-3, kBytes), -1);
}

TEST(FixedRequantization, SaturatesWhateverTheScales) {
    const FixedRequantization huge(quantization(1e20F, 0), quantization(1e20F, 0),
                                   quantization(1e-20F, -7));
    EXPECT_EQ(huge(0, kBytes), -7);
    EXPECT_EQ(huge(1, kBytes), 127);
    EXPECT_EQ(huge(std::numeric_limits<int32_t>::min(), kBytes), -128);
}

}  // namespace
}  // namespace halyard::engine
