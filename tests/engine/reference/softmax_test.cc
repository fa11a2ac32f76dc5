// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

// Over the middle of three axes.
std::vector<double> softmax(const Shape& shape, double beta, const std::vector<double>& x) {
    std::vector<double> result(x.size());
    const auto inner = static_cast<size_t>(shape[2]);
    const auto length = static_cast<size_t>(shape[1]);
    for (size_t outer = 0; outer < static_cast<size_t>(shape[0]); ++outer) {
        for (size_t j = 0; j < inner; ++j) {
            const auto at = [&](size_t i) { return (outer * length + i) * inner + j; };
            double largest = x[at(0)];
            for (size_t i = 1; i < length; ++i) {
                largest = std::max(largest, x[at(i)]);
            }
            double sum = 0;
            for (size_t i = 0; i < length; ++i) {
                sum += std::exp(beta * (x[at(i)] - largest));
            }
            for (size_t i = 0; i < length; ++i) {
                result[at(i)] = std::exp(beta * (x[at(i)] - largest)) / sum;
            }
        }
    }
    return result;
}

TEST(SoftmaxRef, AgreesWithDoublePrecisionInFloats) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (int round = 0; round < 50; ++round) {
            const Shape shape = {random.integer(1, 3), random.integer(1, 9), random.integer(1, 3)};
            const float beta = random.real(0.1F, 3.0F);
            const Values x = random.values(typeOf(type, shape));
            ASSERT_TRUE(
                    approximates(evaluate(Softmax{.beta = beta, .axis = 1}, {x}, typeOf(type, {})),
                                 softmax(shape, beta, reals(x))));
        }
    }
}

TEST(SoftmaxRef, IsWithinHalfAStepInQuantisedTypes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 100; ++round) {
        const bool isSigned = random.coin();
        TensorType type = random.quantization(
                isSigned ? DataType::QUANT8_ASYMM_SIGNED : DataType::QUANT8_ASYMM, 0.1F);
        type.shape = {random.integer(1, 3), random.integer(1, 40), random.integer(1, 3)};
        const float beta = random.real(0.1F, 3.0F);
        const Values x = random.values(type);
        ASSERT_TRUE(approximates(evaluate(Softmax{.beta = beta, .axis = 1}, {x},
                                          typeOf(type.type, {}, 1.0F / 256, isSigned ? -128 : 0)),
                                 softmax(type.shape, beta, reals(x))));
    }
}

// 1 / 1000 of 256 steps rounds to 0, a lone element clamps 256 to 255.
TEST(SoftmaxRef, ClampsProbabilityOne) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1}, 0.5F, 3);
    EXPECT_TRUE(holds(evaluate(Softmax(), {quantized(type, {77})},
                               typeOf(DataType::QUANT8_ASYMM, {}, 1.0F / 256)),
                      {255}));
    const TensorType even = typeOf(DataType::QUANT8_ASYMM, {1000}, 0.5F, 3);
    EXPECT_TRUE(holds(evaluate(Softmax(), {quantized(even, std::vector<int32_t>(1000, 77))},
                               typeOf(DataType::QUANT8_ASYMM, {}, 1.0F / 256)),
                      std::vector<double>(1000, 0)));
}

TEST(SoftmaxRef, DoesNotOverflow) {
    EXPECT_TRUE(holds(evaluate(Softmax(), {floats({3}, {3e38F, 3e38F, -3e38F})}, kFloat),
                      {0.5, 0.5, 0}));
    EXPECT_TRUE(holds(evaluate(Softmax(), {floats({2}, {-kInfinity, 1})}, kFloat), {0, 1}));
}

TEST(SoftmaxRef, ANanOrAnInfinityMakesItsRowNan) {
    EXPECT_TRUE(holds(evaluate(Softmax{.axis = 1}, {floats({2, 2}, {kNan, 1, 0, 0})}, kFloat),
                      {kNan, kNan, 0.5, 0.5}));
    EXPECT_TRUE(holds(evaluate(Softmax{.axis = 1}, {floats({2, 2}, {1, kNan, 0, 0})}, kFloat),
                      {kNan, kNan, 0.5, 0.5}));
    const Result<Values> infinite =
            evaluate(Softmax{.axis = 0}, {floats({2}, {kInfinity, 1})}, kFloat);
    ASSERT_TRUE(infinite.ok());
    EXPECT_TRUE(std::isnan(stored(*infinite)[0]));
}

TEST(SoftmaxRef, AcceptsEmptyTensors) {
    EXPECT_TRUE(holds(evaluate(Softmax{.axis = 1}, {floats({2, 0}, {})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Softmax{.axis = 1}, {floats({0, 3}, {})}, kFloat), {}));
}

// numpy, in double precision.
TEST(LogSoftmaxRef, IsTheLogarithmOfTheProbabilities) {
    const std::vector<float> x = {1, 2, 3, -1, 0, 100};
    EXPECT_TRUE(holds(evaluate(LogSoftmax{.beta = 1.5F}, {floats({2, 3}, x)}, kFloat),
                      {-3.2413113, -1.7413113, -0.241311297, -151.5, -150, 0}, 1e-5));
    const std::vector<double> alongFirst = {-0.0485873516, -0.0485873516, -145.5,
                                            -3.04858735,   -3.04858735,   0};
    EXPECT_TRUE(holds(evaluate(LogSoftmax{.beta = 1.5F, .axis = 0}, {floats({2, 3}, x)}, kFloat),
                      alongFirst, 1e-5));
    EXPECT_TRUE(holds(evaluate(LogSoftmax{.beta = 1.5F, .axis = 0}, {halves({2, 3}, x)},
                               typeOf(DataType::FLOAT16, {})),
                      alongFirst, 1e-3));
}

TEST(LogSoftmaxRef, MakesARowWithNanNan) {
    EXPECT_TRUE(holds(evaluate(LogSoftmax(), {floats({2, 2}, {kNan, 0, -kInfinity, 0})}, kFloat),
                      {kNan, kNan, -kInfinity, 0}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
