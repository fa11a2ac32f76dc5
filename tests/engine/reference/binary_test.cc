// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

using Function = Binary::Function;

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

double combine(Function function, double a, double b) {
    switch (function) {
        case Function::ADD:
            return a + b;
        case Function::SUB:
            return a - b;
        case Function::MUL:
            return a * b;
        case Function::DIV:
            return a / b;
        case Function::MAXIMUM:
            return std::max(a, b);
        case Function::MINIMUM:
            return std::min(a, b);
        default:
            return a >= 0 ? a : a * b;
    }
}

TEST(BinaryRef, IsWithinHalfAStepInQuantisedTypes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 350; ++round) {
        const DataType type =
                random.coin() ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED;
        TensorType aType = random.quantization(type, 0.02F);
        TensorType bType = random.quantization(type, 0.02F);
        aType.shape = bType.shape = {64};
        const Values a = random.values(aType);
        const Values b = random.values(bType);
        constexpr std::array kFunctions = {Function::ADD,  Function::SUB,     Function::MUL,
                                           Function::DIV,  Function::MAXIMUM, Function::MINIMUM,
                                           Function::PRELU};
        const Function function = kFunctions[static_cast<size_t>(round) % kFunctions.size()];
        const std::vector<double> x = reals(a);
        const std::vector<double> y = reals(b);
        if (function == Function::DIV && std::ranges::count(y, 0.0) > 0) {
            continue;  // NaN has no nearest step
        }
        std::vector<double> expected;
        for (size_t i = 0; i < 64; ++i) {
            expected.push_back(combine(function, x[i], y[i]));
        }
        ASSERT_TRUE(approximates(
                evaluate(Binary{function}, {a, b}, random.quantization(type, 0.03F)), expected))
                << static_cast<int>(function);
    }
}

TEST(BinaryRef, ComputesTheOtherFunctionsOfReals) {
    const Values a = floats({4}, {1, -6, -2, kNan});
    const Values b = floats({4}, {4, 3, kNan, 2});
    EXPECT_TRUE(holds(evaluate(Binary{Function::SUB}, {a, b}, kFloat), {-3, -9, kNan, kNan}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::DIV}, {a, b}, kFloat), {0.25, -2, kNan, kNan}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::MAXIMUM}, {a, b}, kFloat), {4, 3, kNan, kNan}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::MINIMUM}, {a, b}, kFloat), {1, -6, kNan, kNan}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::POW}, {a, b}, kFloat), {1, -216, kNan, kNan}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::PRELU}, {a, b}, kFloat), {1, -18, kNan, kNan}));
    EXPECT_TRUE(
            holds(evaluate(Binary{Function::DIV}, {floats({2}, {1, -1}), floats({1}, {0})}, kFloat),
                  {kInfinity, -kInfinity}));
}

// Python's //, and 0 for what it has no answer to.
TEST(BinaryRef, DividesInt32TowardsMinusInfinity) {
    const int32_t least = std::numeric_limits<int32_t>::min();
    EXPECT_TRUE(holds(
            evaluate(Binary{Function::DIV},
                     {ints({7}, {7, -7, 7, -7, 6, least, 5}), ints({7}, {2, 2, -2, -2, -2, -1, 0})},
                     typeOf(DataType::INT32, {})),
            {3, -4, -4, 3, -3, least * 1.0, 0}));
}

TEST(BinaryRef, ComparesInt32Exactly) {
    const std::vector<Values> both = {ints({2}, {16777217, -5}), ints({2}, {16777216, 3})};
    const TensorType type = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(evaluate(Binary{Function::MAXIMUM}, both, type), {16777217, 3}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::MINIMUM}, both, type), {16777216, -5}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::SUB}, both, type), {1, -8}));
}

TEST(BinaryRef, CombinesTruths) {
    const std::vector<Values> both = {bools({2, 1}, {0, 3}), bools({2}, {0, 1})};
    const TensorType type = typeOf(DataType::BOOL8, {});
    EXPECT_TRUE(holds(evaluate(Binary{Function::LOGICAL_AND}, both, type), {0, 0, 0, 1}));
    EXPECT_TRUE(holds(evaluate(Binary{Function::LOGICAL_OR}, both, type), {0, 1, 1, 1}));
}

TEST(BinaryRef, ClampsFusedActivationsOnQuantisedValues) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {3}, 0.5F, 10);
    const Binary node = {.function = Binary::Function::ADD, .activation = Activation::RELU6};
    EXPECT_TRUE(holds(
            evaluate(node, {quantized(type, {0, 12, 30}), quantized(type, {10, 12, 30})}, type),
            {10, 14, 22}));
}

const TensorType kTruth = typeOf(DataType::BOOL8, {});

TEST(CompareRef, KnowsEveryRelation) {
    using enum Compare::Function;
    const std::vector<Values> both = {floats({4}, {1, 2, 3, kNan}), floats({1}, {2})};
    EXPECT_TRUE(holds(evaluate(Compare{EQUAL}, both, kTruth), {0, 1, 0, 0}));
    EXPECT_TRUE(holds(evaluate(Compare{NOT_EQUAL}, both, kTruth), {1, 0, 1, 1}));
    EXPECT_TRUE(holds(evaluate(Compare{LESS}, both, kTruth), {1, 0, 0, 0}));
    EXPECT_TRUE(holds(evaluate(Compare{LESS_EQUAL}, both, kTruth), {1, 1, 0, 0}));
    EXPECT_TRUE(holds(evaluate(Compare{GREATER}, both, kTruth), {0, 0, 1, 0}));
    EXPECT_TRUE(holds(evaluate(Compare{GREATER_EQUAL}, both, kTruth), {0, 1, 1, 0}));
}

TEST(CompareRef, ComparesInt32ExactlyAndTruthsByTruth) {
    const Compare equal;
    EXPECT_TRUE(
            holds(evaluate(equal, {ints({1}, {16777217}), ints({1}, {16777216})}, kTruth), {0}));
    EXPECT_TRUE(holds(evaluate(equal, {bools({2}, {1, 0}), bools({2}, {7, 0})}, kTruth), {1, 1}));
}

// 0.5 * (12 - 10) is 0.25 * (4 - 0).
TEST(CompareRef, ComparesQuantisedTypesAsRealNumbers) {
    const Values a = quantized(typeOf(DataType::QUANT8_ASYMM, {3}, 0.5F, 10), {11, 12, 13});
    const Values b = quantized(typeOf(DataType::QUANT8_ASYMM, {1}, 0.25F, 0), {4});
    EXPECT_TRUE(holds(evaluate(Compare{Compare::Function::EQUAL}, {a, b}, kTruth), {0, 1, 0}));
    EXPECT_TRUE(holds(evaluate(Compare{Compare::Function::LESS}, {a, b}, kTruth), {1, 0, 0}));
}

TEST(CompareRef, BroadcastsToNothing) {
    EXPECT_TRUE(holds(evaluate(Compare(), {floats({0, 2}, {}), floats({2}, {1, 2})}, kTruth), {}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
