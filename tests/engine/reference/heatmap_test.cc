// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

using Keypoints = Result<std::vector<Values>>;

Keypoints find(Shape shape, const std::vector<float>& heatmap, const std::vector<float>& box) {
    return evaluateAll(HeatmapMaxKeypoint(), {floats(shape, heatmap), floats({1, 4}, box)},
                       {kFloat, kFloat});
}

// numpy's solution of the same two equations, in double precision.
TEST(HeatmapMaxKeypointRef, FindsThePeakBetweenPixels) {
    const Keypoints result = find({1, 4, 4, 1},
                                  {0.1F, 0.2F, 0.1F, 0, 0.3F, 0.9F, 0.6F, 0,  //
                                   0.2F, 0.5F, 0.4F, 0, 0, 0, 0, 0},
                                  {10, 20, 11, 22});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.923924051}, 1e-5));
    EXPECT_TRUE(holds((*result)[1], {10.418670886, 20.822151898}, 1e-5));
}

// Mirrored at the edge, the differences cancel out there.
TEST(HeatmapMaxKeypointRef, MirrorsTheHeatmapAtItsEdge) {
    const Keypoints result = find({1, 2, 2, 1}, {1, 0.9F, 0.8F, 0.1F}, {0, 0, 1, 1});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {1}));
    EXPECT_TRUE(holds((*result)[1], {0.25, 0.25}));
    const Keypoints last = find({1, 2, 2, 1}, {0.1F, 0.8F, 0.9F, 1}, {0, 0, 1, 1});
    ASSERT_TRUE(last.ok()) << last.status().toString();
    EXPECT_TRUE(holds((*last)[1], {0.75, 0.75}));
}

// A ridge has no single peak: the first of the largest pixels it is.
TEST(HeatmapMaxKeypointRef, TakesThePixelWhereThereIsNoPeak) {
    const Keypoints result = find({1, 2, 2, 1}, {0, 5, 0, 5}, {0, 0, 4, 4});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {5}));
    EXPECT_TRUE(holds((*result)[1], {3, 1}));
}

// Along one diagonal the surface falls off so slowly that its peak lies four pixels away.
TEST(HeatmapMaxKeypointRef, StaysNearThePixel) {
    const Keypoints result =
            find({1, 3, 3, 1}, {9.9F, 9, 7.7F, 9, 10, 9.8F, 7.7F, 9.8F, 9.9F}, {0, 0, 3, 3});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {10.975}, 1e-4));
    EXPECT_TRUE(holds((*result)[1], {3, 3}, 1e-5));
}

TEST(HeatmapMaxKeypointRef, TakesEveryKeypointAlone) {
    const Values heatmaps = halves({2, 2, 2, 2}, {9, 0, 0, 9, 0, 0, 0, 0,  //
                                                  0, 0, 0, 0, 9, 0, 0, 9});
    const Keypoints result = evaluateAll(
            HeatmapMaxKeypoint(), {heatmaps, halves({2, 4}, {0, 0, 4, 4, 8, 8, 12, 12})},
            {typeOf(DataType::FLOAT16, {}), typeOf(DataType::FLOAT16, {})});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {9, 9, 9, 9}));
    EXPECT_TRUE(holds((*result)[1], {1, 1, 3, 1, 9, 11, 11, 11}));
}

TEST(HeatmapMaxKeypointRef, TakesQuantisedHeatmaps) {
    const TensorType coordinates = typeOf(DataType::QUANT16_ASYMM, {1, 4}, 0.125F);
    const Keypoints result =
            evaluateAll(HeatmapMaxKeypoint(),
                        {quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 2, 2, 1}, 0.5F, -128),
                                   {-128, -28, -128, -128}),
                         quantized(coordinates, {80, 160, 112, 192})},
                        {typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 1.0F, 0), coordinates});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {50}));
    EXPECT_TRUE(holds((*result)[1], {104, 168}));
}

TEST(HeatmapMaxKeypointRef, NamesTheRegionThatIsMalformed) {
    EXPECT_TRUE(refused(find({1, 2, 2, 1}, {0, 1, 2, 3}, {1, 0, 0, 1}),
                        "region 0 ends before it begins"));
    EXPECT_TRUE(refused(
            find({1, 2, 2, 1}, {0, 1, 2, 3}, {0, 0, 1, std::numeric_limits<float>::quiet_NaN()}),
            "region 0 ends before it begins"));
}

}  // namespace
}  // namespace halyard::engine::ref_test
