// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

// A feature map of 4 x 4 pixels that hold their numbers.
Values featureMap() {
    std::vector<float> pixels(16);
    std::iota(pixels.begin(), pixels.end(), 0.0F);
    return floats({1, 4, 4, 1}, pixels);
}

Result<Values> align(const RoiAlign& node, const std::vector<float>& box, int32_t batch = 0) {
    return evaluate(node, {featureMap(), floats({1, 4}, box), ints({1}, {batch})}, kFloat);
}

// Expected numbers from a straightforward numpy version.
TEST(RoiAlignRef, AveragesSamples) {
    EXPECT_TRUE(
            holds(align({.height = 2, .width = 2, .heightRatio = 2, .widthRatio = 2}, {2, 2, 6, 6}),
                  {7.5, 8.5, 11.5, 12.5}, 1e-6));
    EXPECT_TRUE(holds(align({.height = 1,
                             .width = 2,
                             .heightRatio = 2,
                             .widthRatio = 2,
                             .samplesH = 1,
                             .samplesW = 1},
                            {0, 0, 8, 8}),
                      {9, 11}, 1e-6));
    EXPECT_TRUE(holds(align({}, {0, 0, 3, 4}), {9}, 1e-5));
}

TEST(RoiAlignRef, HasNothingBeyondTheFeatureMap) {
    EXPECT_TRUE(holds(align({.height = 2, .width = 2}, {-8, 0, 4, 4}),
                      {0, 4.583333333, 0, 10.416666667}, 1e-5));
    EXPECT_TRUE(holds(align({}, {100, 100, 120, 120}), {0}));
}

// So many samples that taking those outside would not end.
TEST(RoiAlignRef, EndsWithRegionsFarLargerThanTheFeatureMap) {
    EXPECT_TRUE(holds(align({}, {-1e9F, -1e9F, 1e9F, 1e9F}), {0}, 1e-6));
    EXPECT_TRUE(holds(align({}, {-1e37F, -1e37F, 1e37F, 1e37F}), {0}, 1e-6));
}

TEST(RoiAlignRef, TakesEveryRegionFromItsBatch) {
    const Values x = halves({2, 1, 1, 2}, {1, 2, 3, 4});
    const Values boxes = halves({3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1});
    EXPECT_TRUE(holds(
            evaluate(RoiAlign(), {x, boxes, ints({3}, {1, 0, 1})}, typeOf(DataType::FLOAT16, {})),
            {3, 4, 1, 2, 3, 4}));
}

TEST(RoiAlignRef, TakesQuantisedFeatureMaps) {
    const Values x = quantized(typeOf(DataType::QUANT8_ASYMM, {1, 1, 2, 1}, 0.5F, 10), {20, 40});
    const Values boxes = quantized(typeOf(DataType::QUANT16_ASYMM, {1, 4}, 0.125F), {0, 0, 8, 8});
    // The sample at 0.5 is half of 5 and half of 15.
    EXPECT_TRUE(holds(evaluate(RoiAlign(), {x, boxes, ints({1}, {0})},
                               typeOf(DataType::QUANT8_ASYMM, {}, 0.25F, 1)),
                      {41}));
}

TEST(RoiAlignRef, NamesTheRegionThatIsMalformed) {
    EXPECT_TRUE(refused(align({}, {0, 0, 1, 1}, 1), "region 0 lies in batch 1 of 1"));
    EXPECT_TRUE(refused(align({}, {0, 0, 1, 1}, -1), "region 0 lies in batch -1"));
    EXPECT_TRUE(refused(align({}, {2, 0, 1, 1}), "region 0 ends before it begins"));
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(refused(align({}, {0, 0, infinity, 1}), "region 0"));
    EXPECT_TRUE(refused(align({}, {0, 0, 1, std::numeric_limits<float>::quiet_NaN()}), "region 0"));
}

TEST(RoiAlignRef, AcceptsNoRegions) {
    EXPECT_TRUE(holds(
            evaluate(RoiAlign(), {featureMap(), floats({0, 4}, {}), ints({0}, {})}, kFloat), {}));
}

Result<Values> pool(const RoiPool& node, const std::vector<float>& box, int32_t batch = 0) {
    return evaluate(node, {featureMap(), floats({1, 4}, box), ints({1}, {batch})}, kFloat);
}

// By hand: a region of pixels 1 to 3, in bins that share the middle one.
TEST(RoiPoolRef, TakesTheMaximumOfEachBin) {
    EXPECT_TRUE(
            holds(pool({.height = 2, .width = 2, .heightRatio = 2, .widthRatio = 2}, {2, 2, 6, 6}),
                  {10, 11, 14, 15}));
    EXPECT_TRUE(holds(pool({}, {0, 0, 3, 3}), {15}));
    // Halves of a pixel go away from 0.
    EXPECT_TRUE(holds(pool({}, {0.4F, 0.5F, 1.5F, 1.4F}), {6}));
}

TEST(RoiPoolRef, HasNothingBeyondTheFeatureMap) {
    EXPECT_TRUE(holds(pool({.height = 1, .width = 2}, {3, 0, 4, 0}), {3, 0}));
    EXPECT_TRUE(refused(pool({}, {0, 0, 4.1F, 1}), "region 0 reaches beyond the feature map"));
    EXPECT_TRUE(refused(pool({}, {0, -0.1F, 1, 1}), "region 0 reaches beyond the feature map"));
}

TEST(RoiPoolRef, TakesQuantisedFeatureMapsAsTheyAre) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM_SIGNED, {2, 1, 2, 1}, 0.5F, -3);
    const Values boxes =
            quantized(typeOf(DataType::QUANT16_ASYMM, {2, 4}, 0.125F), {0, 0, 8, 0, 16, 0, 16, 0});
    EXPECT_TRUE(holds(
            evaluate(RoiPool(), {quantized(type, {-9, -7, 5, 4}), boxes, ints({2}, {0, 1})}, type),
            {-7, -3}));
}

TEST(RoiPoolRef, MakesABinWithNanNan) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(holds(evaluate(RoiPool(),
                               {floats({1, 1, 3, 2}, {1, 9, nan, 8, 3, 7}),
                                floats({1, 4}, {0, 0, 2, 0}), ints({1}, {0})},
                               kFloat),
                      {nan, 9}));
}

TEST(RoiPoolRef, NamesTheRegionThatIsMalformed) {
    EXPECT_TRUE(refused(pool({}, {0, 0, 1, 1}, 1), "region 0 lies in batch 1 of 1"));
    EXPECT_TRUE(refused(pool({}, {2, 0, 1, 1}), "region 0 ends before it begins"));
}

}  // namespace
}  // namespace halyard::engine::ref_test
