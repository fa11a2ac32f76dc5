// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/ref/evaluation.h"
#include "tests/engine/ref/random_values.h"

namespace halyard::engine::ref_test {
namespace {

const TensorType kFloat = typeOf(DataType::FLOAT32, {});
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(DequantizeRef, GivesTheRealNumbers) {
    const auto reals = [](const TensorType& type, const std::vector<int32_t>& values) {
        return evaluate(Dequantize(), {quantized(type, values)}, kFloat);
    };
    EXPECT_TRUE(holds(reals(typeOf(DataType::QUANT8_ASYMM, {3}, 0.5F, 128), {0, 128, 255}),
                      {-64, 0, 63.5}));
    EXPECT_TRUE(holds(reals(typeOf(DataType::QUANT8_ASYMM_SIGNED, {3}, 0.5F, -1), {-128, -1, 127}),
                      {-63.5, 0, 64}));
    EXPECT_TRUE(holds(reals(typeOf(DataType::QUANT8_SYMM, {2}, 2.0F), {-128, 127}), {-256, 254}));
    EXPECT_TRUE(holds(reals(typeOf(DataType::QUANT16_SYMM, {2}, 2.0F), {-32768, 5}), {-65536, 10}));
    EXPECT_TRUE(holds(reals(typeOf(DataType::QUANT16_ASYMM, {2}, 0.5F, 32768), {0, 65535}),
                      {-16384, 16383.5}));
    EXPECT_TRUE(holds(reals(typeOf(DataType::QUANT8_ASYMM, {0}, 0.5F, 128), {}), {}));
}

TEST(DequantizeRef, HasAScalePerChannelOfAnyAxis) {
    TensorType type = typeOf(DataType::QUANT8_SYMM_PER_CHANNEL, {2, 3});
    const std::vector<int32_t> values = {1, 2, 3, -1, -2, -3};
    type.quantization = {.channelScales = {1.0F, 10.0F}, .channelDim = 0};
    EXPECT_TRUE(holds(evaluate(Dequantize(), {quantized(type, values)}, kFloat),
                      {1, 2, 3, -10, -20, -30}));
    type.quantization = {.channelScales = {1.0F, 10.0F, 0.5F}, .channelDim = 1};
    EXPECT_TRUE(holds(evaluate(Dequantize(), {quantized(type, values)}, kFloat),
                      {1, 20, 1.5, -1, -20, -1.5}));
}

TEST(DequantizeRef, RoundsToFloat16) {
    EXPECT_TRUE(
            holds(evaluate(Dequantize(),
                           {quantized(typeOf(DataType::QUANT8_ASYMM, {2}, 1000.0F, 0), {1, 255})},
                           typeOf(DataType::FLOAT16, {})),
                  {1000, static_cast<double>(kInfinity)}));
}

TEST(QuantizeRef, RoundsHalvesToEvenAndClamps) {
    const std::vector<Values> x = {
            floats({8}, {0, 0.25F, 0.75F, -0.25F, 1000, -1000, kInfinity, -kInfinity})};
    EXPECT_TRUE(holds(evaluate(Quantize(), x, typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 10)),
                      {10, 10, 12, 10, 255, 0, 255, 0}));
    EXPECT_TRUE(holds(evaluate(Quantize(), x, typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.5F, -10)),
                      {-10, -10, -8, -10, 127, -128, 127, -128}));
}

TEST(QuantizeRef, TakesNanForZero) {
    EXPECT_TRUE(holds(evaluate(Quantize(), {floats({1}, {std::numeric_limits<float>::quiet_NaN()})},
                               typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 10)),
                      {10}));
}

TEST(QuantizeRef, TakesFloat16AndEmptyTensors) {
    EXPECT_TRUE(holds(evaluate(Quantize(), {halves({2}, {1.5F, -2})},
                               typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 10)),
                      {13, 6}));
    EXPECT_TRUE(holds(
            evaluate(Quantize(), {floats({0}, {})}, typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 10)),
            {}));
}

TEST(QuantizeRef, UndoesDequantize) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 50; ++round) {
        TensorType type = random.quantization(
                random.coin() ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED, 0.1F);
        type.shape = {64};
        const Values x = random.values(type);
        const Result<Values> real = evaluate(Dequantize(), {x}, kFloat);
        ASSERT_TRUE(real.ok());
        ASSERT_TRUE(holds(evaluate(Quantize(), {*real}, type), stored(x)));
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
