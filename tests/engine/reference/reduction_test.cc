// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

Result<Values> mean(const Values& x, const std::vector<int32_t>& axes, const TensorType& output) {
    return evaluate(Reduce(), {x, ints({static_cast<int32_t>(axes.size())}, axes)}, output);
}

TEST(MeanRef, AveragesOverTheAxes) {
    const Values x = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_TRUE(holds(mean(x, {0}, kFloat), {3, 4, 5, 6}));
    EXPECT_TRUE(holds(mean(x, {1}, kFloat), {2, 3, 6, 7}));
    EXPECT_TRUE(holds(mean(x, {-1, 2, -1}, kFloat), {1.5, 3.5, 5.5, 7.5}));
    EXPECT_TRUE(holds(mean(x, {0, 2}, kFloat), {3.5, 5.5}));
    EXPECT_TRUE(holds(mean(x, {0, 1, 2}, kFloat), {4.5}));
    EXPECT_TRUE(holds(mean(x, {}, kFloat), {1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_TRUE(holds(mean(floats({}, {7}), {}, kFloat), {7}));
}

TEST(MeanRef, IsWithinHalfAStepInQuantisedTypes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 100; ++round) {
        const DataType type =
                random.coin() ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED;
        TensorType xType = random.quantization(type, 0.02F);
        const int32_t rows = random.integer(1, 5);
        const int32_t columns = random.integer(1, 50);
        xType.shape = {rows, columns};
        const Values x = random.values(xType);
        std::vector<double> expected;
        for (int32_t row = 0; row < rows; ++row) {
            double sum = 0;
            for (int32_t column = 0; column < columns; ++column) {
                sum += reals(x)[offsetOf(xType.shape, {row, column})];
            }
            expected.push_back(sum / columns);
        }
        ASSERT_TRUE(approximates(
                mean(x, {1}, random.coin() ? xType : random.quantization(type, 0.02F)), expected));
    }
}

TEST(MeanRef, SumsFloat16InFloat32) {
    // 4096 ones: a float16 sum would stop at 2048.
    EXPECT_TRUE(holds(mean(halves({4096}, std::vector<float>(4096, 1.0F)), {0},
                           typeOf(DataType::FLOAT16, {})),
                      {1}));
}

TEST(MeanRef, OfNothingIsNanOrTheZeroPoint) {
    EXPECT_TRUE(holds(
            mean(floats({2, 0}, {}), {1}, kFloat),
            {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()}));
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 0}, 0.5F, 9);
    EXPECT_TRUE(holds(mean(quantized(type, {}), {1}, type), {9}));
    EXPECT_TRUE(holds(mean(floats({0, 2}, {}), {1}, kFloat), {}));
}

Result<Values> reduce(Reduce::Function function, const Values& x, const std::vector<int32_t>& axes,
                      bool keepDims = false) {
    TensorType output = x.type;
    return evaluate(Reduce{.function = function, .keepDims = keepDims},
                    {x, ints({static_cast<int32_t>(axes.size())}, axes)}, output);
}

TEST(ReduceRef, FoldsReals) {
    using enum Reduce::Function;
    const Values x = floats({2, 3}, {1, -2, 3, 4, 5, -6});
    EXPECT_TRUE(holds(reduce(SUM, x, {1}), {2, 3}));
    EXPECT_TRUE(holds(reduce(PROD, x, {0}), {4, -10, -18}));
    EXPECT_TRUE(holds(reduce(MAX, x, {-1}), {3, 5}));
    EXPECT_TRUE(holds(reduce(MIN, x, {-2, -1}), {-6}));
    EXPECT_EQ(reduce(MIN, x, {0, 1}, true)->type.shape, (Shape{1, 1}));
}

TEST(ReduceRef, FoldsTruths) {
    using enum Reduce::Function;
    const Values x = bools({2, 2}, {1, 0, 3, 1});
    EXPECT_TRUE(holds(reduce(ALL, x, {1}), {0, 1}));
    EXPECT_TRUE(holds(reduce(ANY, x, {0}), {1, 1}));
    EXPECT_TRUE(holds(reduce(ANY, bools({2}, {0, 0}), {0}), {0}));
}

TEST(ReduceRef, OfNothingIsWhatChangesNothing) {
    using enum Reduce::Function;
    const double infinity = std::numeric_limits<double>::infinity();
    const Values none = floats({1, 0}, {});
    EXPECT_TRUE(holds(reduce(SUM, none, {1}), {0}));
    EXPECT_TRUE(holds(reduce(PROD, none, {1}), {1}));
    EXPECT_TRUE(holds(reduce(MAX, none, {1}), {-infinity}));
    EXPECT_TRUE(holds(reduce(MIN, none, {1}), {infinity}));
    EXPECT_TRUE(holds(reduce(ALL, bools({0}, {}), {0}), {1}));
    EXPECT_TRUE(holds(reduce(ANY, bools({0}, {}), {0}), {0}));
    EXPECT_TRUE(holds(reduce(MAX, quantized(typeOf(DataType::QUANT8_ASYMM, {0}, 1.0F, 9), {}), {0}),
                      {0}));
}

TEST(ReduceRef, HasNanForMaximumAndMinimumOfNan) {
    const Values x = floats({3}, {1, kNan, 2});
    EXPECT_TRUE(holds(reduce(Reduce::Function::MAX, x, {0}), {kNan}));
    EXPECT_TRUE(holds(reduce(Reduce::Function::MIN, x, {0}), {kNan}));
}

TEST(ReduceRef, KeepsTheExtremesOfEveryByte) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 100; ++round) {
        TensorType type = random.quantization(DataType::QUANT8_ASYMM_SIGNED, 0.02F);
        type.shape = {20};
        const Values x = random.values(type);
        const std::vector<double> bytes = stored(x);
        EXPECT_TRUE(holds(reduce(Reduce::Function::MAX, x, {0}), {std::ranges::max(bytes)}));
        EXPECT_TRUE(holds(reduce(Reduce::Function::MIN, x, {0}), {std::ranges::min(bytes)}));
    }
}

Result<Values> argument(ArgMinMax::Function function, const Values& x, int32_t axis) {
    return evaluate(ArgMinMax{.function = function, .axis = axis}, {x},
                    typeOf(DataType::INT32, {}));
}

TEST(ArgMinMaxRef, FindsTheFirstOfEquals) {
    const Values x = floats({2, 3}, {1, 3, 3, -4, -5, -5});
    EXPECT_TRUE(holds(argument(ArgMinMax::Function::MAX, x, 1), {1, 0}));
    EXPECT_TRUE(holds(argument(ArgMinMax::Function::MIN, x, -1), {0, 1}));
    EXPECT_TRUE(holds(argument(ArgMinMax::Function::MAX, x, -2), {0, 0, 0}));
    EXPECT_TRUE(holds(argument(ArgMinMax::Function::MAX, floats({2, 0}, {}), 0), {}));
}

TEST(ArgMinMaxRef, TellsNeighboursApartInEveryType) {
    const auto max = ArgMinMax::Function::MAX;
    EXPECT_TRUE(holds(argument(max, ints({3}, {16777216, 16777217, -1}), 0), {1}));
    EXPECT_TRUE(holds(argument(max, halves({3}, {-1, -0.5F, -2}), 0), {1}));
    EXPECT_TRUE(holds(
            argument(max,
                     quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {3}, 1.0F), {-128, 0, 127}),
                     0),
            {2}));
    EXPECT_TRUE(holds(
            argument(max, quantized(typeOf(DataType::QUANT8_ASYMM, {3}, 1.0F), {128, 255, 127}), 0),
            {1}));
}

TEST(ArgMinMaxRef, FindsNan) {
    const Values x = floats({4}, {1, kNan, kNan, 9});
    EXPECT_TRUE(holds(argument(ArgMinMax::Function::MAX, x, 0), {1}));
    EXPECT_TRUE(holds(argument(ArgMinMax::Function::MIN, x, 0), {1}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
