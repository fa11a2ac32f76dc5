// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

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

TEST(CastRef, ConvertsAsCDoes) {
    const TensorType f32 = typeOf(DataType::FLOAT32, {});
    const TensorType f16 = typeOf(DataType::FLOAT16, {});
    const TensorType i32 = typeOf(DataType::INT32, {});
    const TensorType q8 = typeOf(DataType::QUANT8_ASYMM, {}, 4.0F, 100);
    TensorType threeBytes = q8;
    threeBytes.shape = {3};
    EXPECT_TRUE(
            holds(evaluate(Cast(), {floats({4}, {1.9F, -1.9F, 0.5F, 100})}, i32), {1, -1, 0, 100}));
    EXPECT_TRUE(holds(evaluate(Cast(), {halves({2}, {-2.75F, 3.5F})}, i32), {-2, 3}));
    EXPECT_TRUE(holds(evaluate(Cast(), {ints({2}, {16777217, -3})}, f32), {16777216, -3}));
    EXPECT_TRUE(holds(evaluate(Cast(), {ints({2}, {2049, 7})}, f16), {2048, 7}));
    EXPECT_TRUE(holds(evaluate(Cast(), {quantized(threeBytes, {0, 7, 255})}, f32), {0, 7, 255}));
    EXPECT_TRUE(holds(evaluate(Cast(), {quantized(threeBytes, {0, 7, 255})}, f16), {0, 7, 255}));
    EXPECT_TRUE(holds(evaluate(Cast(), {quantized(threeBytes, {0, 7, 255})}, i32), {0, 7, 255}));
    EXPECT_TRUE(holds(evaluate(Cast(), {floats({2}, {2.9F, 254.9F})}, q8), {2, 254}));
    EXPECT_TRUE(holds(evaluate(Cast(), {floats({1}, {0.1F})}, f16), {0.0999755859375}));
    EXPECT_TRUE(holds(evaluate(Cast(), {halves({1}, {1.5F})}, f32), {1.5}));
}

TEST(CastRef, ClampsWhatDoesNotFit) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(holds(evaluate(Cast(), {floats({5}, {3e9F, -3e9F, infinity, -infinity, nan})},
                               typeOf(DataType::INT32, {})),
                      {2147483647, -2147483648.0, 2147483647, -2147483648.0, 0}));
    const TensorType q8 = typeOf(DataType::QUANT8_ASYMM, {}, 1.0F);
    EXPECT_TRUE(holds(evaluate(Cast(), {ints({3}, {-1, 256, 1 << 30})}, q8), {0, 255, 255}));
    EXPECT_TRUE(holds(evaluate(Cast(), {floats({2}, {-0.5F, nan})}, q8), {0, 0}));
}

TEST(CastRef, CopiesWhatHasTheSameType) {
    for (const DataType type : {DataType::BOOL8, DataType::QUANT16_SYMM, DataType::QUANT16_ASYMM,
                                DataType::QUANT8_SYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        const TensorType tensor = typeOf(type, {2}, isQuantized(type) ? 0.5F : 0.0F);
        const Values x = {tensor, std::vector<uint8_t>(2 * elementSize(type), 0x81)};
        const Result<Values> copy = evaluate(Cast(), {x}, tensor);
        ASSERT_TRUE(copy.ok()) << copy.status().toString();
        EXPECT_EQ(copy->bytes, x.bytes);
    }
    EXPECT_TRUE(holds(evaluate(Cast(), {floats({0}, {})}, typeOf(DataType::INT32, {})), {}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
