// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/engine/ref/evaluation.h"
#include "tests/engine/ref/random_values.h"

namespace halyard::engine::ref_test {
namespace {

using Function = Activate::Function;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const TensorType kFloat = typeOf(DataType::FLOAT32, {});

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
    EXPECT_EQ(result.status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(result.status().message(), "does not take input 0 of type INT32");
}

const Binary kAdd = {.function = Binary::Function::ADD};
const Binary kMul = {.function = Binary::Function::MUL};

TEST(BinaryRef, Broadcasts) {
    const Values column = floats({2, 1}, {10, 20});
    const Values row = floats({3}, {1, 2, 3});
    EXPECT_TRUE(holds(evaluate(kAdd, {column, row}, kFloat), {11, 12, 13, 21, 22, 23}));
    EXPECT_TRUE(holds(evaluate(kMul, {row, column}, kFloat), {10, 20, 30, 20, 40, 60}));
    EXPECT_TRUE(holds(evaluate(kAdd, {floats({}, {1}), row}, kFloat), {2, 3, 4}));
    EXPECT_TRUE(holds(
            evaluate(kAdd, {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 1}, {10, 20})}, kFloat),
            {11, 12, 21, 22, 13, 14, 23, 24}));
}

TEST(BinaryRef, AcceptsEmptyTensors) {
    EXPECT_TRUE(holds(evaluate(kAdd, {floats({0, 3}, {}), floats({3}, {1, 2, 3})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(kMul, {floats({0}, {}), floats({1}, {1})}, kFloat), {}));
}

TEST(BinaryRef, AppliesTheActivationToReals) {
    const Binary node = {.function = Binary::Function::ADD, .activation = Activation::RELU1};
    EXPECT_TRUE(holds(evaluate(node, {floats({4}, {-3, 0, 3, kNan}), floats({1}, {0.5F})}, kFloat),
                      {-1, 0.5, 1, kNan}));
}

TEST(BinaryRef, RoundsFloat16Once) {
    // 2048 + 1.5 lies between the halves 2048 and 2050; nearer to the latter.
    EXPECT_TRUE(holds(evaluate(kAdd, {halves({1}, {2048}), halves({1}, {1.5F})},
                               typeOf(DataType::FLOAT16, {})),
                      {2050}));
}

TEST(BinaryRef, WrapsInt32) {
    const int32_t most = std::numeric_limits<int32_t>::max();
    const TensorType type = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(evaluate(kAdd, {ints({2}, {most, 5}), ints({1}, {1})}, type),
                      {-2147483648.0, 6}));
    EXPECT_TRUE(holds(evaluate(kMul, {ints({2}, {most, -5}), ints({1}, {2})}, type), {-2, -10}));
}

TEST(BinaryRef, IsWithinHalfAStepInQuantisedTypes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 200; ++round) {
        const DataType type =
                random.coin() ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED;
        TensorType aType = random.quantization(type, 0.02F);
        TensorType bType = random.quantization(type, 0.02F);
        aType.shape = bType.shape = {64};
        const Values a = random.values(aType);
        const Values b = random.values(bType);
        const Binary& node = random.coin() ? kAdd : kMul;
        std::vector<double> expected;
        for (size_t i = 0; i < 64; ++i) {
            const double x = reals(a)[i];
            const double y = reals(b)[i];
            expected.push_back(node.function == Binary::Function::ADD ? x + y : x * y);
        }
        ASSERT_TRUE(
                approximates(evaluate(node, {a, b}, random.quantization(type, 0.03F)), expected));
    }
}

TEST(BinaryRef, ClampsFusedActivationsOnQuantisedValues) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {3}, 0.5F, 10);
    const Binary node = {.function = Binary::Function::ADD, .activation = Activation::RELU6};
    EXPECT_TRUE(holds(
            evaluate(node, {quantized(type, {0, 12, 30}), quantized(type, {10, 12, 30})}, type),
            {10, 14, 22}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
