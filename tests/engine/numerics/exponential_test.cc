// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halyard::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Against long double, which has eleven bits more on x86 and more still on arm64.
template <typename Function, typename Reference>
void expectClose(Function function, Reference reference, double from, double to) {
    constexpr int kSteps = 20011;
    for (int i = 0; i <= kSteps; ++i) {
        const double x = from + (to - from) * i / kSteps;
        const auto expected = static_cast<double>(reference(static_cast<long double>(x)));
        ASSERT_LE(std::fabs(function(x) - expected), std::fabs(expected) * 0x1p-48) << x;
    }
}

TEST(Exponential, IsCloseToTheRealOne) {
    const auto reference = [](long double x) { return std::exp(x); };
    expectClose(exponential, reference, -700.0, 709.0);
    expectClose(exponential, reference, -1.0, 1.0);
}

TEST(Exponential, MinusOneIsCloseNear0) {
    const auto reference = [](long double x) { return std::expm1(x); };
    expectClose(exponentialMinusOne, reference, -40.0, 40.0);
    expectClose(exponentialMinusOne, reference, -0.5, 0.5);
    expectClose(exponentialMinusOne, reference, -1e-9, 1e-9);
}

TEST(Exponential, MakesTheLogisticFunctionAndTheHyperbolicTangent) {
    expectClose(
            logistic, [](long double x) { return 1 / (1 + std::exp(-x)); }, -30.0, 30.0);
    const auto tangent = [](long double x) { return std::tanh(x); };
    expectClose(hyperbolicTangent, tangent, -30.0, 30.0);
    expectClose(hyperbolicTangent, tangent, -1e-6, 1e-6);
}

TEST(Exponential, EndsInZeroAndInfinity) {
    EXPECT_EQ(exponential(0.0), 1.0);
    EXPECT_EQ(exponential(kInfinity), kInfinity);
    EXPECT_EQ(exponential(1e300), kInfinity);
    EXPECT_EQ(exponential(709.8), kInfinity);
    EXPECT_EQ(exponential(-kInfinity), 0.0);
    EXPECT_EQ(exponential(-746.0), 0.0);
    EXPECT_GT(exponential(-744.0), 0.0);
    EXPECT_EQ(exponentialMinusOne(-kInfinity), -1.0);
    EXPECT_EQ(logistic(-kInfinity), 0.0);
    EXPECT_EQ(logistic(kInfinity), 1.0);
    EXPECT_EQ(logistic(0.0), 0.5);
    EXPECT_EQ(hyperbolicTangent(kInfinity), 1.0);
    EXPECT_EQ(hyperbolicTangent(-kInfinity), -1.0);
    EXPECT_TRUE(std::signbit(hyperbolicTangent(-0.0)));
}

TEST(Exponential, PassesNanOn) {
    EXPECT_TRUE(std::isnan(exponential(kNan)));
    EXPECT_TRUE(std::isnan(exponentialMinusOne(kNan)));
    EXPECT_TRUE(std::isnan(logistic(kNan)));
    EXPECT_TRUE(std::isnan(hyperbolicTangent(kNan)));
}

// The very bits that the same operations give in Python. The C library that this was written with
// has another last bit in two of them.
TEST(Exponential, IsTheSameEverywhere) {
    EXPECT_EQ(exponential(1.0), 0x1.5bf0a8b14576ap+1);
    EXPECT_EQ(exponential(-10.1), 0x1.5899ac5129ae3p-15);
    EXPECT_EQ(exponentialMinusOne(0.3), 0x1.6641632306a56p-2);
    EXPECT_EQ(hyperbolicTangent(0.7), 0x1.356fb17af2e92p-1);
}

}  // namespace
}  // namespace halyard::engine
