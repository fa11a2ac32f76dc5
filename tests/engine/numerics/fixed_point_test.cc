// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/fixed_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace halyard::engine::fixed_point {
namespace {

constexpr int16_t kLowest16 = std::numeric_limits<int16_t>::min();
constexpr int16_t kHighest16 = std::numeric_limits<int16_t>::max();
constexpr int32_t kLowest32 = std::numeric_limits<int32_t>::min();
constexpr int32_t kHighest32 = std::numeric_limits<int32_t>::max();

// A digest of `function` over every 16-bit number.
template <typename Function>
uint32_t digest(Function function) {
    uint32_t sum = 0;
    for (int32_t x = kLowest16; x <= kHighest16; ++x) {
        sum = sum * 31 + static_cast<uint16_t>(function(static_cast<int16_t>(x)));
    }
    return sum;
}

// The largest distance from `exact` over all 16-bit numbers with `fraction` bits behind the point,
// in units of the result's last place.
template <typename Function, typename Exact>
double largestError(int fraction, Function function, Exact exact) {
    double largest = 0;
    for (int32_t x = kLowest16; x <= kHighest16; ++x) {
        const double expected = exact(std::ldexp(x, -fraction)) * 0x1p15;
        largest = std::max(largest, std::abs(expected - function(static_cast<int16_t>(x))));
    }
    return largest;
}

TEST(FixedPoint, ShiftsRightToNearestAndHalvesAwayFromZero) {
    EXPECT_EQ(roundingShiftRight(5, 1), 3);
    EXPECT_EQ(roundingShiftRight(-5, 1), -3);
    EXPECT_EQ(roundingShiftRight(5, 2), 1);
    EXPECT_EQ(roundingShiftRight(-5, 2), -1);
    EXPECT_EQ(roundingShiftRight(-7, 0), -7);
    EXPECT_EQ(roundingShiftRight(kLowest32, 31), -1);
    EXPECT_EQ(roundingShiftRight(kHighest32, 31), 1);
}

TEST(FixedPoint, ShiftsLeftIntoTheRange) {
    EXPECT_EQ(shiftLeft<int16_t>(-3, 4), -48);
    EXPECT_EQ(shiftLeft<int16_t>(1 << 13, 2), kHighest16);
    EXPECT_EQ(shiftLeft<int16_t>(-(1 << 13) - 1, 2), kLowest16);
    EXPECT_EQ(shiftLeft<int32_t>(kLowest32, 31), kLowest32);
}

TEST(FixedPoint, MultipliesToNearestAndHalvesUp) {
    constexpr int16_t kHalf = 1 << 14;
    EXPECT_EQ(multiply<int16_t>(3, kHalf), 2);
    EXPECT_EQ(multiply<int16_t>(-3, kHalf), -1);
    EXPECT_EQ(multiply<int16_t>(kLowest16, kLowest16), kHighest16);
    EXPECT_EQ(multiply<int32_t>(kLowest32, kLowest32), kHighest32);
    EXPECT_EQ(multiply<int32_t>(-3, 1 << 30), -1);
}

TEST(FixedPoint, SplitsAFactorIntoFractionAndShift) {
    const auto expect = [](double factor, int32_t fraction, int shift) {
        const Result<Multiplier> multiplier = quantizeMultiplier(factor);
        ASSERT_TRUE(multiplier.ok()) << multiplier.status().toString();
        EXPECT_EQ(multiplier->fraction, fraction) << factor;
        EXPECT_EQ(multiplier->shift, shift) << factor;
    };
    expect(0.5, 1 << 30, 0);
    expect(1.0, 1 << 30, 1);
    expect(0.75, 3 << 29, 0);
    expect(6.0, 3 << 29, 3);
    expect(1.0 - 0x1p-40, 1 << 30, 1);  // the fraction rounds up to 1
    expect(0x1p-32, 1 << 30, -31);
    expect(0x1p-33, 0, 0);
    expect(0.0, 0, 0);
}

TEST(FixedPoint, RefusesAFactorThatIsNoneOrTooLarge) {
    for (const double factor : {-1.0, 0x1p31, HUGE_VAL, std::nan("")}) {
        const Result<Multiplier> multiplier = quantizeMultiplier(factor);
        ASSERT_FALSE(multiplier.ok()) << factor;
        EXPECT_EQ(multiplier.status().code(), StatusCode::INVALID_ARGUMENT);
    }
}

TEST(FixedPoint, ScalesWithTwoRoundings) {
    // 5 * 0.25: the product with the fraction of 1/2 is 2.5, which rounds to 3, then halves to 1.5,
    // which rounds to 2. Rounded once it would be 1.
    EXPECT_EQ(scale(5, {.fraction = 1 << 30, .shift = -1}), 2);
    EXPECT_EQ(scale(-100, {.fraction = 3 << 29, .shift = 3}), -600);
    EXPECT_EQ(scale(kHighest32, {.fraction = kHighest32, .shift = 0}), kHighest32 - 1);
}

TEST(FixedPoint, ScalingSaturates) {
    EXPECT_EQ(scale(1 << 20, {.fraction = 1 << 30, .shift = 20}), 1 << 30);
    EXPECT_EQ(scale(-1, {.fraction = 1 << 30, .shift = 50}), -(1 << 30));
}

TEST(FixedPoint, FindsInverseSquareRoots) {
    for (int64_t x = 2; x < kHighest32; x += 1 + x / 50) {
        const Multiplier root = inverseSquareRoot(static_cast<int32_t>(x));
        const double value = std::ldexp(root.fraction, root.shift - 31);
        EXPECT_NEAR(value * std::sqrt(static_cast<double>(x)), 1.0, 2e-4) << x;
    }
    for (const int32_t x : {kLowest32, -1, 0, 1}) {
        EXPECT_EQ(inverseSquareRoot(x).fraction, kHighest32) << x;
        EXPECT_EQ(inverseSquareRoot(x).shift, 0) << x;
    }
}

// The digests are those of gemmlowp's own functions.
TEST(FixedPoint, LogisticIsGemmlowpsBitForBit) {
    EXPECT_EQ(digest([](int16_t x) { return logistic(x); }), 1344260980U);
}

TEST(FixedPoint, TanhIsGemmlowpsBitForBit) {
    constexpr uint32_t kDigests[] = {722422788U, 2257069804U, 2186188520U, 3198075935U,
                                     721545311U, 3557146783U, 1782630047U};
    for (int bits = 0; bits <= 6; ++bits) {
        EXPECT_EQ(digest([&](int16_t x) { return tanh(x, bits); }), kDigests[bits]) << bits;
    }
}

TEST(FixedPoint, FunctionsStayNearTheExactOnes) {
    EXPECT_LT(largestError(
                      12, [](int16_t x) { return logistic(x); },
                      [](double x) { return 1.0 / (1.0 + std::exp(-x)); }),
              12.0);
    for (int bits = 0; bits <= 6; ++bits) {
        EXPECT_LT(largestError(
                          15 - bits, [&](int16_t x) { return tanh(x, bits); },
                          [](double x) { return std::tanh(x); }),
                  24.0)
                << bits;
    }
}

}  // namespace
}  // namespace halyard::engine::fixed_point
