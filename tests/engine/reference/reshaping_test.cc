// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

TEST(ReshapeRef, KeepsTheElements) {
    const Result<Values> result =
            evaluate(Reshape(), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), ints({2}, {3, -1})}, kFloat);
    EXPECT_TRUE(holds(result, {1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(result->type.shape, (Shape{3, 2}));
    EXPECT_TRUE(holds(evaluate(Reshape(), {floats({0, 3}, {}), ints({1}, {-1})}, kFloat), {}));
}

TEST(ReshapeRef, MovesEveryType) {
    for (const DataType type :
         {DataType::FLOAT16, DataType::INT32, DataType::BOOL8, DataType::QUANT8_ASYMM,
          DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM, DataType::QUANT16_SYMM}) {
        const TensorType tensor = typeOf(type, {2}, isQuantized(type) ? 0.5F : 0.0F);
        const Values x = {tensor, std::vector<uint8_t>(2 * elementSize(type), 1)};
        TensorType output = tensor;
        output.shape = {};
        EXPECT_TRUE(holds(evaluate(Reshape(), {x, ints({2}, {2, 1})}, output), stored(x)))
                << toString(type);
    }
}

TEST(ReshapeRef, RefusesScalesPerChannel) {
    TensorType type = typeOf(DataType::QUANT8_SYMM_PER_CHANNEL, {2});
    type.quantization = {.channelScales = {1.0F, 2.0F}, .channelDim = 0};
    const Result<Values> result =
            evaluate(Reshape(), {quantized(type, {1, 2}), ints({1}, {2})}, type);
    EXPECT_TRUE(refused(result, "per channel"));
}

TEST(TransposeRef, MovesTheAxes) {
    EXPECT_TRUE(holds(
            evaluate(Transpose(), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), ints({2}, {1, 0})}, kFloat),
            {1, 4, 2, 5, 3, 6}));
    EXPECT_TRUE(
            holds(evaluate(Transpose(), {ints({1, 2, 3}, {1, 2, 3, 4, 5, 6}), ints({3}, {2, 0, 1})},
                           typeOf(DataType::INT32, {})),
                  {1, 4, 2, 5, 3, 6}));
    EXPECT_TRUE(holds(evaluate(Transpose(), {floats({0, 3}, {}), ints({2}, {1, 0})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Transpose(), {floats({}, {5}), ints({0}, {})}, kFloat), {5}));
}

TEST(TransposeRef, FollowsEveryIndex) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {3, 4, 5, 2}, 1.0F);
    const Values x = random.values(type);
    const Result<Values> result = evaluate(Transpose(), {x, ints({4}, {0, 3, 1, 2})},
                                           typeOf(DataType::QUANT8_ASYMM, {}, 1.0F));
    ASSERT_TRUE(result.ok());
    for (size_t n = 0; n < 3; ++n) {
        for (size_t h = 0; h < 4; ++h) {
            for (size_t w = 0; w < 5; ++w) {
                for (size_t c = 0; c < 2; ++c) {
                    EXPECT_EQ(result->bytes[((n * 2 + c) * 4 + h) * 5 + w],
                              x.bytes[((n * 4 + h) * 5 + w) * 2 + c]);
                }
            }
        }
    }
}

TEST(TransposeRef, ReversesTheAxesWithoutAPermutation) {
    const Result<std::vector<Values>> result =
            evaluateAll(Transpose(), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), std::nullopt}, {kFloat});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds(result->front(), {1, 4, 2, 5, 3, 6}));
}

TEST(SqueezeRef, DropsTheAxesOfOneElement) {
    const Values x = floats({1, 2, 1}, {1, 2});
    const Result<Values> one = evaluate(Squeeze(), {x, ints({1}, {-1})}, kFloat);
    EXPECT_TRUE(holds(one, {1, 2}));
    EXPECT_EQ(one->type.shape, (Shape{1, 2}));
    const auto all = evaluateAll(Squeeze(), {x, std::nullopt}, {kFloat});
    ASSERT_TRUE(all.ok()) << all.status().toString();
    EXPECT_EQ(all->front().type.shape, (Shape{2}));
    EXPECT_TRUE(holds(all->front(), {1, 2}));
}

TEST(ExpandDimsRef, KeepsTheElements) {
    const Result<Values> result =
            evaluate(ExpandDims{.axis = -2}, {halves({2}, {1, 2})}, typeOf(DataType::FLOAT16, {}));
    EXPECT_TRUE(holds(result, {1, 2}));
    EXPECT_EQ(result->type.shape, (Shape{1, 2}));
}

TEST(ReverseRef, TurnsOneAxisRound) {
    const Values x = ints({2, 3}, {1, 2, 3, 4, 5, 6});
    const TensorType output = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(evaluate(Reverse(), {x, ints({1}, {1})}, output), {3, 2, 1, 6, 5, 4}));
    EXPECT_TRUE(holds(evaluate(Reverse(), {x, ints({1}, {-2})}, output), {4, 5, 6, 1, 2, 3}));
    EXPECT_TRUE(holds(evaluate(Reverse(), {floats({0}, {}), ints({1}, {0})}, kFloat), {}));
}

// x.reshape(groups, n).T in numpy.
TEST(ChannelShuffleRef, InterleavesTheGroups) {
    EXPECT_TRUE(holds(
            evaluate(ChannelShuffle{.groups = 2}, {floats({1, 6}, {0, 1, 2, 3, 4, 5})}, kFloat),
            {0, 3, 1, 4, 2, 5}));
    EXPECT_TRUE(holds(evaluate(ChannelShuffle{.groups = 2, .axis = 0},
                               {floats({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}, kFloat),
                      {0, 1, 4, 5, 2, 3, 6, 7}));
    EXPECT_TRUE(holds(evaluate(ChannelShuffle{.groups = 2}, {floats({0, 4}, {})}, kFloat), {}));
}

TEST(FillRef, HoldsLargeIntegersExactly) {
    EXPECT_TRUE(holds(evaluate(Fill(), {ints({2}, {1, 2}), ints({}, {-2147483647})},
                               typeOf(DataType::INT32, {})),
                      {-2147483647, -2147483647}));
    EXPECT_TRUE(holds(evaluate(Fill(), {ints({1}, {2}), floats({}, {0.5F})}, kFloat), {0.5, 0.5}));
    EXPECT_TRUE(holds(
            evaluate(Fill(), {ints({1}, {2}), halves({1}, {-1.5F})}, typeOf(DataType::FLOAT16, {})),
            {-1.5, -1.5}));
    EXPECT_TRUE(holds(evaluate(Fill(), {ints({2}, {0, 5}), floats({}, {1})}, kFloat), {}));
}

TEST(RankRef, CountsTheAxes) {
    const TensorType output = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(evaluate(Rank(), {floats({0, 3}, {})}, output), {2}));
    EXPECT_TRUE(holds(evaluate(Rank(), {floats({}, {1})}, output), {0}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
