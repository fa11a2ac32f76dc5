// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

using Function = Activate::Function;

std::vector<int32_t> everyByte(DataType type) {
    std::vector<int32_t> values;
    for (int32_t value = minValue(type); value <= maxValue(type); ++value) {
        values.push_back(value);
    }
    return values;
}

TEST(ActivateRef, ClampsReals) {
    const std::vector<Values> x = {floats({6}, {-7, -0.5F, 0.5F, 3, 7, kNan})};
    EXPECT_TRUE(holds(evaluate(Activate{Function::RELU}, x, kFloat), {0, 0, 0.5, 3, 7, kNan}));
    EXPECT_TRUE(holds(evaluate(Activate{Function::RELU1}, x, kFloat), {-1, -0.5, 0.5, 1, 1, kNan}));
    EXPECT_TRUE(holds(evaluate(Activate{Function::RELU6}, x, kFloat), {0, 0, 0.5, 3, 6, kNan}));
}

// Where input and output share a scale, clamping moves no element but those beyond the bounds.
TEST(ActivateRef, ClampsEveryByteExactly) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 50; ++round) {
        TensorType type = random.quantization(
                random.coin() ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED, 0.05F);
        type.shape = {256};
        const std::vector<int32_t> bytes = everyByte(type.type);
        const int32_t zero = type.quantization.zeroPoint;
        const double scale = type.quantization.scale;
        const auto six = static_cast<int32_t>(zero + std::lrint(6 / scale));
        std::vector<double> relu;
        std::vector<double> relu6;
        for (const int32_t byte : bytes) {
            relu.push_back(std::max(byte, zero));
            relu6.push_back(std::min(std::max(byte, zero), six));
        }
        EXPECT_TRUE(
                holds(evaluate(Activate{Function::RELU}, {quantized(type, bytes)}, type), relu));
        EXPECT_TRUE(
                holds(evaluate(Activate{Function::RELU6}, {quantized(type, bytes)}, type), relu6));
    }
}

// 1 / (1 + e^-x): 0.5 at 0, 0.88079708 at 2, from numpy.
TEST(ActivateRef, ComputesTheLogisticFunction) {
    EXPECT_TRUE(holds(evaluate(Activate{Function::LOGISTIC},
                               {floats({6}, {0, 2, -2, -kInfinity, kInfinity, kNan})}, kFloat),
                      {0.5, 0.88079708, 0.11920292, 0, 1, kNan}, 1e-7));
    EXPECT_TRUE(holds(evaluate(Activate{Function::LOGISTIC}, {halves({2}, {0, 2})},
                               typeOf(DataType::FLOAT16, {})),
                      {0.5, 0.88079708}, 3e-4));
    EXPECT_TRUE(holds(evaluate(Activate{Function::LOGISTIC}, {floats({2}, {-1000, 1000})}, kFloat),
                      {0, 1}));
}

TEST(ActivateRef, LogisticIsWithinHalfAStepOnEveryByte) {
    const std::array<TensorType, 2> outputs = {
            typeOf(DataType::QUANT8_ASYMM, {}, 1.0F / 256, 0),
            typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 1.0F / 256, -128)};
    for (const TensorType& output : outputs) {
        const TensorType input = typeOf(output.type, {256}, 0.06F, 3);
        const Values x = quantized(input, everyByte(input.type));
        std::vector<double> expected;
        for (const double real : reals(x)) {
            expected.push_back(1 / (1 + std::exp(-real)));
        }
        EXPECT_TRUE(approximates(evaluate(Activate{Function::LOGISTIC}, {x}, output), expected));
    }
}

// x * min(max(x + 3, 0), 6) / 6, worked out by hand; a NaN stays one.
TEST(ActivateRef, ComputesHardSwish) {
    EXPECT_TRUE(holds(evaluate(Activate{Function::HARD_SWISH},
                               {floats({7}, {-4, -3, -1.5, 0, 1.5, 4, kNan})}, kFloat),
                      {0, 0, -0.375, 0, 1.125, 4, kNan}));
    const TensorType input = typeOf(DataType::QUANT8_ASYMM_SIGNED, {256}, 0.04F, -5);
    const TensorType output = typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.03F, -100);
    const Values x = quantized(input, everyByte(input.type));
    std::vector<double> expected;
    for (const double real : reals(x)) {
        expected.push_back(real * std::clamp(real + 3, 0.0, 6.0) / 6);
    }
    EXPECT_TRUE(approximates(evaluate(Activate{Function::HARD_SWISH}, {x}, output), expected));
}

TEST(ActivateRef, AcceptsEmptyTensors) {
    EXPECT_TRUE(holds(evaluate(Activate(), {floats({0, 3}, {})}, kFloat), {}));
}

TEST(ActivateRef, DoesNotTakeInt32) {
    const Result<Values> result =
            evaluate(Activate(), {ints({1}, {1})}, typeOf(DataType::INT32, {}));
    EXPECT_TRUE(refused(result, "INT32"));
}

// 1 - e^-1 from numpy.
TEST(ActivateRef, ComputesElu) {
    EXPECT_TRUE(holds(evaluate(Activate{.function = Function::ELU, .alpha = 2},
                               {floats({4}, {3, 0, -1, kNan})}, kFloat),
                      {3, 0, -1.26424111, kNan}, 1e-6));
}

// From numpy, and from the error function of Python's math.
TEST(ActivateRef, ComputesGeluAndSwish) {
    const Values x = floats({6}, {-3, -0.5, 0, 1, 2.5, kNan});
    EXPECT_TRUE(holds(evaluate(Activate{Function::GELU}, {x}, kFloat),
                      {-0.00404969409, -0.154268769, 0, 0.841344746, 2.48447584, kNan}, 1e-6));
    EXPECT_TRUE(holds(evaluate(Activate{Function::GELU_TANH}, {x}, kFloat),
                      {-0.00363739208, -0.15428599, 0, 0.841191991, 2.48491573, kNan}, 1e-6));
    EXPECT_TRUE(holds(evaluate(Activate{.function = Function::SWISH, .alpha = 1.702F}, {x}, kFloat),
                      {-0.0180713097, -0.149611563, 0, 0.845795766, 2.46501383, kNan}, 1e-6));
    EXPECT_TRUE(holds(evaluate(Activate{Function::HARD_SIGMOID}, {x}, kFloat),
                      {0, 2.5 / 6, 0.5, 4.0 / 6, 5.5 / 6, kNan}, 1e-6));
}

TEST(ActivateRef, ComputesNoGeluOfBytes) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1}, 0.1F, 3);
    EXPECT_TRUE(refused(evaluate(Activate{Function::GELU}, {quantized(type, {4})}, type),
                        "FLOAT32 or FLOAT16"));
}

// From numpy.
TEST(UnaryRef, ComputesEachFunction) {
    using enum Unary::Function;
    const auto of = [](Unary::Function function, float x) {
        return evaluate(Unary{function}, {floats({1}, {x})}, kFloat);
    };
    EXPECT_TRUE(holds(of(ABS, -2.5F), {2.5}));
    EXPECT_TRUE(holds(of(EXP, 1), {2.718281828}, 1e-6));
    EXPECT_TRUE(holds(of(FLOOR, -1.5F), {-2}));
    EXPECT_TRUE(holds(of(LOG, 2), {0.6931471806}, 1e-7));
    EXPECT_TRUE(holds(of(NEG, 2), {-2}));
    EXPECT_TRUE(holds(of(RSQRT, 2), {0.7071067812}, 1e-7));
    EXPECT_TRUE(holds(of(SIN, 1), {0.8414709848}, 1e-7));
    EXPECT_TRUE(holds(of(SQRT, 2), {1.4142135624}, 1e-6));
    EXPECT_TRUE(holds(of(ERF, 0.5F), {0.5204998778}, 1e-7));
}

TEST(UnaryRef, LeavesTheRealNumbersAsIeeeSays) {
    using enum Unary::Function;
    EXPECT_TRUE(holds(evaluate(Unary{LOG}, {floats({3}, {0, -1, kInfinity})}, kFloat),
                      {-kInfinity, kNan, kInfinity}));
    EXPECT_TRUE(holds(evaluate(Unary{RSQRT}, {floats({3}, {0, -1, kInfinity})}, kFloat),
                      {kInfinity, kNan, 0}));
}

// From numpy, of 0.25, 1, 4, 0 and -0.125: the last but one ends the range, and the last, which is
// NaN, is the zero point.
TEST(UnaryRef, ComputesReciprocalRootsOfBytes) {
    for (const auto& [type, highest] :
         {std::pair{DataType::QUANT8_ASYMM, 255.0}, {DataType::QUANT8_ASYMM_SIGNED, 127.0}}) {
        const TensorType x = typeOf(type, {5}, 0.125F, 10);
        EXPECT_TRUE(holds(evaluate(Unary{Unary::Function::RSQRT},
                                   {quantized(x, {12, 18, 42, 10, 9})}, typeOf(type, {}, 0.25F, 3)),
                          {11, 7, 5, highest, 3}));
    }
}

TEST(UnaryRef, RoundsFloat16Once) {
    EXPECT_TRUE(holds(evaluate(Unary{Unary::Function::SQRT}, {halves({2}, {4, 65504})},
                               typeOf(DataType::FLOAT16, {})),
                      {2, 255.875}));
}

TEST(UnaryRef, WrapsTheSmallestInt32) {
    const int32_t least = std::numeric_limits<int32_t>::min();
    const std::vector<Values> x = {ints({3}, {least, -16777217, 7})};
    const TensorType type = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(evaluate(Unary{Unary::Function::ABS}, x, type), {least * 1.0, 16777217, 7}));
    EXPECT_TRUE(holds(evaluate(Unary{Unary::Function::NEG}, x, type), {least * 1.0, 16777217, -7}));
}

TEST(UnaryRef, NegatesTruth) {
    EXPECT_TRUE(holds(evaluate(Unary{Unary::Function::LOGICAL_NOT}, {bools({3}, {0, 1, 2})},
                               typeOf(DataType::BOOL8, {})),
                      {1, 0, 0}));
}

TEST(UnaryRef, AcceptsEmptyTensors) {
    EXPECT_TRUE(holds(evaluate(Unary(), {floats({2, 0}, {})}, kFloat), {}));
}

TEST(SelectRef, ChoosesElementByElement) {
    const Values condition = bools({3}, {1, 0, 255});
    EXPECT_TRUE(
            holds(evaluate(Select(), {condition, floats({3}, {1, 2, kNan}), floats({3}, {4, 5, 6})},
                           kFloat),
                  {1, 5, kNan}));
    EXPECT_TRUE(
            holds(evaluate(Select(), {condition, ints({3}, {1, 2, 16777217}), ints({3}, {4, 5, 6})},
                           typeOf(DataType::INT32, {})),
                  {1, 5, 16777217}));
    EXPECT_TRUE(holds(
            evaluate(Select(), {bools({0}, {}), floats({0}, {}), floats({0}, {})}, kFloat), {}));
}

TEST(SelectRef, BringsBothToTheOutputsScale) {
    const Values a = quantized(typeOf(DataType::QUANT8_ASYMM, {2}, 0.5F, 10), {20, 0});
    const Values b = quantized(typeOf(DataType::QUANT8_ASYMM, {2}, 0.25F, 0), {0, 40});
    EXPECT_TRUE(holds(evaluate(Select(), {bools({2}, {1, 0}), a, b},
                               typeOf(DataType::QUANT8_ASYMM, {}, 1.0F, 3)),
                      {8, 13}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
