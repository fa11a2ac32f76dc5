// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

std::vector<double> connect(const std::vector<double>& x, const std::vector<double>& weights,
                            const std::vector<double>& bias) {
    const size_t units = bias.size();
    const size_t length = weights.size() / units;
    std::vector<double> result;
    for (size_t row = 0; row < x.size() / length; ++row) {
        for (size_t unit = 0; unit < units; ++unit) {
            double sum = bias[unit];
            for (size_t k = 0; k < length; ++k) {
                sum += x[row * length + k] * weights[unit * length + k];
            }
            result.push_back(sum);
        }
    }
    return result;
}

// By hand: rows (1, 2) and (3, 4) times (10, 1) + 0.5 and (-1, 1) - 0.5.
TEST(FullyConnectedRef, MultipliesRowsByUnits) {
    EXPECT_TRUE(holds(evaluate(FullyConnected(),
                               {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {10, 1, -1, 1}),
                                floats({2}, {0.5F, -0.5F})},
                               typeOf(DataType::FLOAT32, {})),
                      {12.5, 0.5, 34.5, 0.5}));
}

TEST(FullyConnectedRef, AgreesWithDoublePrecisionInFloats) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (int round = 0; round < 40; ++round) {
            const int32_t length = random.integer(1, 40);
            const int32_t units = random.integer(1, 8);
            const Values x = random.values(typeOf(type, {random.integer(1, 3), 2, length}));
            const Values weights = random.values(typeOf(type, {units, length}));
            const Values bias = random.values(typeOf(type, {units}));
            ASSERT_TRUE(
                    approximates(evaluate(FullyConnected(), {x, weights, bias}, typeOf(type, {})),
                                 connect(reals(x), reals(weights), reals(bias))));
        }
    }
}

TEST(FullyConnectedRef, IsWithinHalfAStepInQuantisedTypes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (int round = 0; round < 40; ++round) {
            const int32_t length = random.integer(1, 40);
            const int32_t units = random.integer(1, 8);
            TensorType xType = random.quantization(type, 0.02F);
            xType.shape = {random.integer(1, 3), length};
            TensorType weightType = random.quantization(type, 0.01F);
            weightType.shape = {units, length};
            const Values x = random.values(xType);
            const Values weights = random.values(weightType);
            std::vector<int32_t> storedBias;
            std::vector<double> bias;
            for (int32_t unit = 0; unit < units; ++unit) {
                storedBias.push_back(random.integer(-20000, 20000));
                bias.push_back(storedBias.back() *
                               (static_cast<double>(xType.quantization.scale) *
                                static_cast<double>(weightType.quantization.scale)));
            }
            ASSERT_TRUE(
                    approximates(evaluate(FullyConnected(), {x, weights, ints({units}, storedBias)},
                                          random.quantization(type, 0.1F)),
                                 connect(reals(x), reals(weights), bias)));
        }
    }
}

TEST(FullyConnectedRef, TakesAScalePerUnit) {
    TensorType weights = typeOf(DataType::QUANT8_SYMM_PER_CHANNEL, {2, 2});
    weights.quantization = {.channelScales = {0.5F, 0.25F}, .channelDim = 0};
    EXPECT_TRUE(holds(
            evaluate(FullyConnected(),
                     {quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 2}, 1.0F, 1), {3, 5}),
                      quantized(weights, {10, -3, 10, -3}), ints({2}, {4, 4})},
                     typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.5F, 0)),
            {12, 6}));
}

TEST(FullyConnectedRef, AcceptsEmptyTensors) {
    const TensorType type = typeOf(DataType::FLOAT32, {});
    EXPECT_TRUE(
            holds(evaluate(FullyConnected(),
                           {floats({0, 2}, {}), floats({1, 2}, {1, 2}), floats({1}, {3})}, type),
                  {}));
    EXPECT_TRUE(holds(evaluate(FullyConnected(),
                               {floats({2, 0}, {}), floats({1, 0}, {}), floats({1}, {3})}, type),
                      {3, 3}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
