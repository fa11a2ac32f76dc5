// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/ref/evaluation.h"
#include "tests/engine/ref/random_values.h"

namespace halyard::engine::ref_test {
namespace {

const TensorType kFloat = typeOf(DataType::FLOAT32, {});

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
    EXPECT_EQ(result.status().code(), StatusCode::UNSUPPORTED);
}

TEST(PadRef, SurroundsTheInput) {
    EXPECT_TRUE(holds(evaluate(Pad{.value = 9},
                               {floats({2, 2}, {1, 2, 3, 4}), ints({2, 2}, {1, 0, 0, 2})}, kFloat),
                      {9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9}));
}

TEST(PadRef, FillsQuantisedTensorsWithTheZeroPoint) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM_SIGNED, {2}, 0.5F, -7);
    const Values x = quantized(type, {1, 2});
    EXPECT_TRUE(holds(evaluate(Pad(), {x, ints({1, 2}, {1, 1})}, type), {-7, 1, 2, -7}));
    EXPECT_TRUE(
            holds(evaluate(Pad{.value = 2.5F}, {x, ints({1, 2}, {1, 1})}, type), {-2, 1, 2, -2}));
}

TEST(PadRef, FillsFloat16) {
    EXPECT_TRUE(holds(evaluate(Pad{.value = -1.5F}, {halves({1}, {2}), ints({1, 2}, {1, 1})},
                               typeOf(DataType::FLOAT16, {})),
                      {-1.5, 2, -1.5}));
}

TEST(PadRef, OfNothingIsTheValue) {
    EXPECT_TRUE(holds(
            evaluate(Pad{.value = 3}, {floats({0, 2}, {}), ints({2, 2}, {1, 0, 0, 0})}, kFloat),
            {3, 3}));
    EXPECT_TRUE(holds(evaluate(Pad(), {floats({0}, {}), ints({1, 2}, {0, 0})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Pad(), {floats({}, {4}), ints({0, 2}, {})}, kFloat), {4}));
}

// What a client may do to memory that it shares: the shape was inferred from other numbers.
TEST(PadRef, ChecksPaddingsThatChangedMeanwhile) {
    const Values x = floats({2}, {1, 2});
    const Values paddings = ints({1, 2}, {100, 0});
    const std::vector<ConstTensorView> inputs = {{&x.type, x.bytes.data()},
                                                 {&paddings.type, paddings.bytes.data()}};
    Values output = floats({3}, {0, 0, 0});
    const TensorView view = {&output.type, output.bytes.data()};
    EXPECT_EQ(runNode(Pad(), inputs, view).code(), StatusCode::INVALID_ARGUMENT);
}

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

// By hand: 0.5 * (20 - 10) = 5 and 0.25 * (20 - 0) = 5 are both 10 steps of 0.5 above 3.
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

TEST(TransposeRef, MovesTheAxes) {
    EXPECT_TRUE(holds(evaluate(Transpose{.permutation = {1, 0}},
                               {floats({2, 3}, {1, 2, 3, 4, 5, 6})}, kFloat),
                      {1, 4, 2, 5, 3, 6}));
    EXPECT_TRUE(holds(evaluate(Transpose{.permutation = {2, 0, 1}},
                               {ints({1, 2, 3}, {1, 2, 3, 4, 5, 6})}, typeOf(DataType::INT32, {})),
                      {1, 4, 2, 5, 3, 6}));
    EXPECT_TRUE(
            holds(evaluate(Transpose{.permutation = {1, 0}}, {floats({0, 3}, {})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Transpose(), {floats({}, {5})}, kFloat), {5}));
}

TEST(TransposeRef, FollowsEveryIndex) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {3, 4, 5, 2}, 1.0F);
    const Values x = random.values(type);
    const Result<Values> result = evaluate(Transpose{.permutation = {0, 3, 1, 2}}, {x},
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

}  // namespace
}  // namespace halyard::engine::ref_test
