// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

Result<std::vector<Values>> largest(int32_t k, const Values& x) {
    TensorType values = x.type;
    return evaluateAll(TopK{.k = k}, {x}, {values, typeOf(DataType::INT32, {})});
}

TEST(TopKRef, PutsTheLargerIndexFirstOfEquals) {
    const auto result = largest(3, floats({2, 4}, {1, 3, 2, 3, -1, -1, -1, -2}));
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {3, 3, 2, -1, -1, -1}));
    EXPECT_TRUE(holds((*result)[1], {3, 1, 2, 2, 1, 0}));
}

TEST(TopKRef, PutsNanBeforeNumbers) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto result =
            largest(3, floats({4}, {std::numeric_limits<float>::infinity(), nan, 1, nan}));
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(holds((*result)[1], {3, 1, 0}));
}

TEST(TopKRef, TellsNeighboursApartInEveryType) {
    EXPECT_TRUE(holds((*largest(1, ints({2}, {16777216, 16777217})))[1], {1}));
    EXPECT_TRUE(holds((*largest(1, halves({2}, {-2, -1})))[1], {1}));
    EXPECT_TRUE(holds(
            (*largest(2, quantized(typeOf(DataType::QUANT8_ASYMM, {3}, 1.0F), {128, 127, 255})))[1],
            {2, 0}));
    EXPECT_TRUE(holds((*largest(2, quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {3}, 1.0F),
                                             {-128, 127, -1})))[1],
                      {1, 2}));
}

TEST(TopKRef, SortsAsAStableSortFromTheEndDoes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 50; ++round) {
        const int32_t length = random.integer(1, 40);
        const int32_t k = random.integer(1, length);
        std::vector<int32_t> elements(static_cast<size_t>(length));
        for (int32_t& element : elements) {
            element = random.integer(-5, 5);
        }
        std::vector<double> order(elements.size());
        std::iota(order.rbegin(), order.rend(), 0.0);
        std::ranges::stable_sort(order, [&](double i, double j) {
            return elements[static_cast<size_t>(i)] > elements[static_cast<size_t>(j)];
        });
        order.resize(static_cast<size_t>(k));
        const auto result = largest(k, ints({length}, elements));
        ASSERT_TRUE(result.ok());
        ASSERT_TRUE(holds((*result)[1], order));
    }
}

TEST(TopKRef, AcceptsNoRows) {
    const auto result = largest(2, floats({0, 3}, {}));
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_EQ((*result)[1].type.shape, (Shape{0, 2}));
}

// numpy.take.
TEST(GatherRef, TakesTheElementsOfAnAxis) {
    const Values x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    EXPECT_TRUE(holds(evaluate(Gather{.axis = 0}, {x, ints({3}, {1, 0, 1})}, kFloat),
                      {4, 5, 6, 1, 2, 3, 4, 5, 6}));
    const Result<Values> columns =
            evaluate(Gather{.axis = -1}, {x, ints({2, 2}, {2, 0, 0, 1})}, kFloat);
    EXPECT_TRUE(holds(columns, {3, 1, 1, 2, 6, 4, 4, 5}));
    EXPECT_EQ(columns->type.shape, (Shape{2, 2, 2}));
    EXPECT_TRUE(holds(evaluate(Gather(), {floats({2}, {7, 8}), ints({}, {1})}, kFloat), {8}));
}

TEST(GatherRef, AcceptsEmptyTensors) {
    EXPECT_TRUE(holds(evaluate(Gather(), {floats({2}, {1, 2}), ints({0}, {})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Gather(), {floats({2, 0}, {}), ints({1}, {1})}, kFloat), {}));
}

TEST(GatherRef, NamesTheIndexThatIsOutside) {
    const Values x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    EXPECT_TRUE(refused(evaluate(Gather{.axis = 1}, {x, ints({2}, {0, 3})}, kFloat),
                        "index 1 of the indices is 3, but axis 1 has 3 elements"));
    EXPECT_TRUE(refused(evaluate(Gather{.axis = 0}, {x, ints({1}, {-1})}, kFloat), "index 0"));
    EXPECT_TRUE(refused(evaluate(Gather(), {floats({0}, {}), ints({1}, {0})}, kFloat), "index 0"));
}

}  // namespace
}  // namespace halyard::engine::ref_test
