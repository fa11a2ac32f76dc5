// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

constexpr auto kAverage = Pool2d::Function::AVERAGE;
constexpr auto kMax = Pool2d::Function::MAX;

// The pool in double precision: the elements of each window that lie on the input, collected.
std::vector<double> pool(const Pool2d& node, const Shape& x, const Shape& output, int32_t top,
                         int32_t left, const std::vector<double>& values) {
    std::vector<double> result;
    for (int32_t n = 0; n < output[0]; ++n) {
        for (int32_t row = 0; row < output[1]; ++row) {
            for (int32_t column = 0; column < output[2]; ++column) {
                for (int32_t c = 0; c < output[3]; ++c) {
                    std::vector<double> seen;
                    for (int32_t i = 0; i < node.filterH; ++i) {
                        for (int32_t j = 0; j < node.filterW; ++j) {
                            const int32_t h = row * node.window.strideH + i - top;
                            const int32_t w = column * node.window.strideW + j - left;
                            if (h >= 0 && h < x[1] && w >= 0 && w < x[2]) {
                                seen.push_back(values[offsetOf(x, {n, h, w, c})]);
                            }
                        }
                    }
                    double sum = 0;
                    for (const double value : seen) {
                        sum += value;
                    }
                    result.push_back(node.function == kAverage
                                             ? sum / static_cast<double>(seen.size())
                                             : *std::ranges::max_element(seen));
                }
            }
        }
    }
    return result;
}

TEST(Pool2dRef, AgreesWithDoublePrecision) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (int round = 0; round < 60; ++round) {
            Pool2d node = {.function = random.coin() ? kAverage : kMax};
            node.filterH = random.integer(1, 4);
            node.filterW = random.integer(1, 4);
            node.window = {.padding = PaddingScheme::EXPLICIT,
                           .top = random.integer(0, node.filterH - 1),
                           .bottom = random.integer(0, node.filterH - 1),
                           .left = random.integer(0, node.filterW - 1),
                           .right = random.integer(0, node.filterW - 1),
                           .strideH = random.integer(1, 3),
                           .strideW = random.integer(1, 3)};
            TensorType xType = isFloat(type) ? typeOf(type, {}) : random.quantization(type, 0.02F);
            xType.shape = {random.integer(1, 2), random.integer(4, 8), random.integer(4, 8),
                           random.integer(1, 4)};
            // An average may have a scale of its own.
            TensorType outputType = xType;
            if (!isFloat(type) && node.function == kAverage && random.coin()) {
                outputType = random.quantization(type, 0.02F);
            }
            const Values x = random.values(xType);
            const Result<Values> result = evaluate(node, {x}, outputType);
            ASSERT_TRUE(result.ok()) << result.status().toString();
            ASSERT_TRUE(approximates(result, pool(node, xType.shape, result->type.shape,
                                                  node.window.top, node.window.left, reals(x))));
        }
    }
}

// By hand: a 3 x 3 image of 1..9, SAME padding; the corner averages four elements, not nine.
TEST(Pool2dRef, AveragesWithoutThePadding) {
    const Pool2d node = {.function = kAverage,
                         .window = {.padding = PaddingScheme::SAME},
                         .filterH = 3,
                         .filterW = 3};
    EXPECT_TRUE(holds(evaluate(node, {floats({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
                               typeOf(DataType::FLOAT32, {})),
                      {3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7}));
}

// As LiteRT rounds them.
TEST(Pool2dRef, RoundsQuantisedAveragesHalfAwayFromZero) {
    const Pool2d node = {.function = kAverage, .window = {.strideW = 2}, .filterW = 2};
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 1, 4, 1}, 0.5F, 10);
    EXPECT_TRUE(holds(evaluate(node, {quantized(type, {10, 11, 11, 12})},
                               typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 10)),
                      {11, 12}));
    const TensorType signedType = typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 1, 4, 1}, 0.5F, 10);
    EXPECT_TRUE(holds(evaluate(node, {quantized(signedType, {-3, -2, 2, 3})},
                               typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.5F, 10)),
                      {-3, 3}));
}

TEST(Pool2dRef, NegativeMaximaAreNotHiddenByPadding) {
    const Pool2d node = {.function = kMax,
                         .window = {.padding = PaddingScheme::SAME},
                         .filterH = 2,
                         .filterW = 2};
    EXPECT_TRUE(holds(
            evaluate(node, {floats({1, 2, 2, 1}, {-4, -3, -2, -1})}, typeOf(DataType::FLOAT32, {})),
            {-1, -1, -1, -1}));
}

TEST(Pool2dRef, AppliesTheActivation) {
    const Pool2d node = {.function = kMax, .activation = Activation::RELU6};
    EXPECT_TRUE(
            holds(evaluate(node, {floats({1, 1, 3, 1}, {-1, 3, 7})}, typeOf(DataType::FLOAT32, {})),
                  {0, 3, 6}));
    const TensorType type = typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 1, 3, 1}, 0.1F, -20);
    EXPECT_TRUE(holds(evaluate(node, {quantized(type, {-128, 0, 127})}, type), {-20, 0, 40}));
}

TEST(Pool2dRef, ANanIsTheMaximumOfItsWindow) {
    const Pool2d node = {.function = kMax, .filterW = 2};
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(holds(evaluate(node, {floats({1, 1, 6, 1}, {1, kNan, infinity, 2, -infinity, 3})},
                               typeOf(DataType::FLOAT32, {})),
                      {kNan, kNan, infinity, 2, 3}));
}

TEST(Pool2dRef, OfMinusInfinityIsMinusInfinity) {
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(holds(evaluate(Pool2d{.function = kMax}, {floats({1, 1, 1, 1}, {-infinity})},
                               typeOf(DataType::FLOAT32, {})),
                      {-infinity}));
}

TEST(Pool2dRef, AcceptsEmptyTensors) {
    for (const Shape& shape : {Shape{0, 4, 4, 1}, Shape{1, 4, 4, 0}}) {
        EXPECT_TRUE(holds(evaluate(Pool2d{.function = kAverage, .filterH = 2, .filterW = 2},
                                   {floats(shape, {})}, typeOf(DataType::FLOAT32, {})),
                          {}));
    }
}

// The root of (9 + 16) / 2, and of 16 where the window leaves the feature map.
TEST(PoolRef, TakesTheRootOfTheMeanOfSquares) {
    const Pool2d node = {.function = Pool2d::Function::L2,
                         .window = {.padding = PaddingScheme::EXPLICIT, .right = 1},
                         .filterW = 2};
    EXPECT_TRUE(
            holds(evaluate(node, {floats({1, 1, 2, 1}, {-3, 4})}, typeOf(DataType::FLOAT32, {})),
                  {3.5355339, 4}, 1e-6));
}

}  // namespace
}  // namespace halyard::engine::ref_test
