// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/requantize.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/numerics/activation_range.h"
#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

constexpr QuantizedRange kByte = {.low = 0, .high = 255};

TEST(Requantize, RoundsHalvesToEven) {
    EXPECT_EQ(roundAndClamp(0.5F, 0, kByte), 0);
    EXPECT_EQ(roundAndClamp(1.5F, 0, kByte), 2);
    EXPECT_EQ(roundAndClamp(2.5F, 0, kByte), 2);
    EXPECT_EQ(roundAndClamp(-2.5F, 128, kByte), 126);
    EXPECT_EQ(roundAndClamp(-3.5F, 128, kByte), 124);
}

TEST(Requantize, ClampsToTheRange) {
    EXPECT_EQ(roundAndClamp(300.0F, 0, kByte), 255);
    EXPECT_EQ(roundAndClamp(-1.0F, 0, kByte), 0);
    EXPECT_EQ(roundAndClamp(3e38F, 7, kByte), 255);
    EXPECT_EQ(roundAndClamp(kInfinity, 7, kByte), 255);
    EXPECT_EQ(roundAndClamp(-kInfinity, 7, kByte), 0);
    EXPECT_EQ(roundAndClamp(200.0F, -128, {.low = -128, .high = 127}), 72);
}

TEST(Requantize, TakesNanForZero) {
    EXPECT_EQ(roundAndClamp(std::numeric_limits<float>::quiet_NaN(), 7, kByte), 7);
    EXPECT_EQ(roundAndClamp(std::numeric_limits<float>::quiet_NaN(), 7, {.low = 10, .high = 20}),
              10);
}

// 0.1f * 0.1f / 0.1f is 0.1f when rounded once; numpy's float32, a step at a time, gives the next
// float up, as XNNPACK's multiplier does.
TEST(Requantize, RoundsTheMultiplierAtEachStep) {
    EXPECT_EQ(multiplier(0.1F, 0.1F, 0.1F), 0x1.99999cp-4F);
    EXPECT_EQ(multiplier(0.25F, 0.5F, 2.0F), 0.0625F);
}

TEST(FusedActivation, ClampsQuantisedValuesAtTheRoundedBounds) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {}, 0.05F, 100);
    const auto bounds = [&](Activation activation) {
        const QuantizedRange range = rangeOf(activation, type);
        return std::pair(range.low, range.high);
    };
    EXPECT_EQ(bounds(Activation::NONE), std::pair(0, 255));
    EXPECT_EQ(bounds(Activation::RELU), std::pair(100, 255));
    EXPECT_EQ(bounds(Activation::RELU1), std::pair(80, 120));
    EXPECT_EQ(bounds(Activation::RELU6), std::pair(100, 220));
}

TEST(FusedActivation, StaysInTheTypeWhereTheScaleIsTiny) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 1e-30F, -5);
    const QuantizedRange range = rangeOf(Activation::RELU6, type);
    EXPECT_EQ(range.low, -5);
    EXPECT_EQ(range.high, 127);
}

TEST(FusedActivation, PassesNanThrough) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(activate(nan, rangeOf(Activation::RELU6))));
}

}  // namespace
}  // namespace halyard::engine::ref_test
