// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

TEST(ConcatRef, JoinsAlongTheAxis) {
    const Values a = floats({2, 1}, {1, 2});
    const Values b = floats({2, 2}, {3, 4, 5, 6});
    const Values none = floats({2, 0}, {});
    EXPECT_TRUE(holds(evaluate(Concat{.axis = 1}, {a, none, b}, kFloat), {1, 3, 4, 2, 5, 6}));
    EXPECT_TRUE(holds(evaluate(Concat{.axis = 0}, {b, b}, kFloat), {3, 4, 5, 6, 3, 4, 5, 6}));
    EXPECT_TRUE(holds(evaluate(Concat{.axis = 1}, {none, none}, kFloat), {}));
    EXPECT_TRUE(
            holds(evaluate(Concat(), {ints({1}, {7}), ints({1}, {8})}, typeOf(DataType::INT32, {})),
                  {7, 8}));
}

TEST(ConcatRef, BringsItsInputsToTheOutputsScale) {
    const Values a = quantized(typeOf(DataType::QUANT8_ASYMM, {2}, 0.5F, 10), {20, 0});
    const Values b = quantized(typeOf(DataType::QUANT8_ASYMM, {2}, 0.25F, 0), {20, 21});
    EXPECT_TRUE(holds(evaluate(Concat(), {a, b}, typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 3)),
                      {13, 0, 13, 13}));
}

TEST(ConcatRef, IsWithinHalfAStepInQuantisedTypes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 50; ++round) {
        const DataType type =
                random.coin() ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED;
        TensorType aType = random.quantization(type, 0.02F);
        TensorType bType = random.quantization(type, 0.02F);
        aType.shape = bType.shape = {32};
        const Values a = random.values(aType);
        const Values b = random.values(bType);
        std::vector<double> expected = reals(a);
        for (const double real : reals(b)) {
            expected.push_back(real);
        }
        ASSERT_TRUE(approximates(evaluate(Concat(), {a, b}, random.quantization(type, 0.03F)),
                                 expected));
    }
}

Result<std::vector<Values>> split(const Values& x, int32_t axis, size_t count) {
    return evaluateAll(Split{.axis = axis}, {x}, std::vector<TensorType>(count, x.type));
}

TEST(SplitRef, GivesEqualParts) {
    const Values x = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const auto columns = split(x, -1, 2);
    ASSERT_TRUE(columns.ok()) << columns.status().toString();
    EXPECT_TRUE(holds((*columns)[0], {1, 2, 5, 6}));
    EXPECT_TRUE(holds((*columns)[1], {3, 4, 7, 8}));
    const auto rows = split(x, 0, 2);
    ASSERT_TRUE(rows.ok());
    EXPECT_TRUE(holds((*rows)[1], {5, 6, 7, 8}));
    EXPECT_EQ((*rows)[1].type.shape, (Shape{1, 4}));
}

TEST(SplitRef, AcceptsEmptyTensorsAndOnePart) {
    const auto empty = split(floats({0, 4}, {}), 1, 2);
    ASSERT_TRUE(empty.ok()) << empty.status().toString();
    EXPECT_EQ((*empty)[1].type.shape, (Shape{0, 2}));
    EXPECT_TRUE(holds(split(ints({2}, {7, 8}), 0, 1)->front(), {7, 8}));
}

TEST(PackRef, StacksAlongANewAxis) {
    const Values a = ints({2}, {1, 2});
    const Values b = ints({2}, {3, 4});
    const TensorType output = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(evaluate(Pack{.axis = 0}, {a, b}, output), {1, 2, 3, 4}));
    EXPECT_TRUE(holds(evaluate(Pack{.axis = 1}, {a, b}, output), {1, 3, 2, 4}));
    EXPECT_TRUE(holds(evaluate(Pack{.axis = -1}, {a, b}, output), {1, 3, 2, 4}));
    EXPECT_TRUE(holds(evaluate(Pack(), {floats({}, {5}), floats({}, {6})}, kFloat), {5, 6}));
    EXPECT_TRUE(holds(evaluate(Pack(), {floats({0}, {}), floats({0}, {})}, kFloat), {}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
