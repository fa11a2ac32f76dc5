// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

// Two rows of three pixels.
const std::vector<float> kPixels = {1, 2, 3, 7, 5, 6};

Result<Values> resize(Resize node) {
    return evaluate(node, {floats({1, 2, 3, 1}, kPixels)}, kFloat);
}

// Expected numbers from a straightforward numpy version that clamps positions, not pixels.
TEST(ResizeRef, InterpolatesBetweenPixels) {
    EXPECT_TRUE(holds(resize({.height = 3, .width = 4}),
                      {1, 1.75, 2.5, 3, 5, 4.25, 4.5, 5, 7, 5.5, 5.5, 6}, 1e-6));
    EXPECT_TRUE(holds(resize({.height = 1, .width = 2}), {1, 2.5}, 1e-6));
}

TEST(ResizeRef, AlignsCorners) {
    EXPECT_TRUE(holds(
            resize({.height = 3, .width = 4, .alignCorners = true}),
            {1, 5.0 / 3, 7.0 / 3, 3, 4, 11.0 / 3, 23.0 / 6, 4.5, 7, 17.0 / 3, 16.0 / 3, 6}, 1e-6));
    EXPECT_TRUE(holds(resize({.height = 1, .width = 2, .alignCorners = true}), {1, 3}, 1e-6));
}

TEST(ResizeRef, TakesPixelsByTheirCentres) {
    EXPECT_TRUE(holds(resize({.height = 3, .width = 4, .halfPixelCenters = true}),
                      {1, 1.625, 2.375, 3, 4, 3.6875, 3.875, 4.5, 7, 5.75, 5.375, 6}, 1e-6));
    EXPECT_TRUE(holds(resize({.height = 1, .width = 2, .halfPixelCenters = true}), {3.875, 4.25},
                      1e-6));
}

TEST(ResizeRef, TakesTheNearestPixel) {
    Resize node = {.function = Resize::Function::NEAREST, .height = 3, .width = 4};
    EXPECT_TRUE(holds(resize(node), {1, 1, 2, 3, 1, 1, 2, 3, 7, 7, 5, 6}));
    node.alignCorners = true;
    EXPECT_TRUE(holds(resize(node), {1, 2, 2, 3, 7, 5, 5, 6, 7, 5, 5, 6}));
    node.alignCorners = false;
    node.halfPixelCenters = true;
    EXPECT_TRUE(holds(resize(node), {1, 2, 2, 3, 7, 5, 5, 6, 7, 5, 5, 6}));
    node.height = 1;
    node.width = 2;
    EXPECT_TRUE(holds(resize(node), {7, 6}));
}

TEST(ResizeRef, GoesByTheScaleWhereThereIsOne) {
    const Result<Values> result = resize({.heightScale = 1.7F, .widthScale = 1.4F});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_EQ(result->type.shape, (Shape{1, 3, 4, 1}));
    EXPECT_TRUE(holds(result, {1, 1.75, 2.5, 3, 5, 4.25, 4.5, 5, 7, 5.5, 5.5, 6}, 1e-6));
}

// A pixel is not extrapolated beyond the feature map's edge, which would overflow here.
TEST(ResizeRef, KeepsThePixelsAtTheEdge) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    const Result<Values> result =
            evaluate(Resize{.height = 1, .width = 4, .halfPixelCenters = true},
                     {floats({1, 1, 2, 1}, {kLargest, kLargest})}, kFloat);
    EXPECT_TRUE(holds(result, {kLargest, kLargest, kLargest, kLargest}));
}

// Halves go up.
TEST(ResizeRef, RoundsQuantisedPixelsOnce) {
    const TensorType unsignedType = typeOf(DataType::QUANT8_ASYMM, {1, 1, 2, 2}, 0.5F, 7);
    EXPECT_TRUE(holds(evaluate(Resize{.height = 1, .width = 4},
                               {quantized(unsignedType, {10, 0, 13, 255})}, unsignedType),
                      {10, 0, 12, 128, 13, 255, 13, 255}));
    const TensorType signedType = typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 1, 2, 1}, 0.5F, -7);
    EXPECT_TRUE(holds(evaluate(Resize{.height = 1, .width = 8}, {quantized(signedType, {-10, -5})},
                               signedType),
                      {-10, -9, -7, -6, -5, -5, -5, -5}));
}

TEST(ResizeRef, TakesEveryFeatureMapAndChannelAlone) {
    const Values x = halves({2, 1, 1, 2}, {1, 2, 3, 4});
    for (const auto function : {Resize::Function::BILINEAR, Resize::Function::NEAREST}) {
        EXPECT_TRUE(holds(evaluate(Resize{.function = function, .height = 1, .width = 2}, {x},
                                   typeOf(DataType::FLOAT16, {})),
                          {1, 2, 1, 2, 3, 4, 3, 4}));
    }
}

TEST(ResizeRef, AcceptsNoFeatureMaps) {
    EXPECT_TRUE(holds(evaluate(Resize{.height = 3, .width = 4}, {floats({0, 2, 3, 1}, {})}, kFloat),
                      {}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
