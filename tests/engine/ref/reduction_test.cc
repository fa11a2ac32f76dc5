// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/ref/evaluation.h"
#include "tests/engine/ref/random_values.h"

namespace halyard::engine::ref_test {
namespace {

const TensorType kFloat = typeOf(DataType::FLOAT32, {});

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

TEST(MeanRef, ChecksAxesThatChangedMeanwhile) {
    const Values x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    for (const int32_t axis : {0, 2, -9}) {
        const Values axes = ints({1}, {axis});
        const std::vector<ConstTensorView> inputs = {{&x.type, x.bytes.data()},
                                                     {&axes.type, axes.bytes.data()}};
        Values output = floats({2}, {0, 0});
        const TensorView view = {&output.type, output.bytes.data()};
        EXPECT_EQ(runNode(Reduce(), inputs, view).code(), StatusCode::INVALID_ARGUMENT);
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
