// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

using Detections = Result<std::vector<Values>>;

// Regions of two classes, a background and one more, whose boxes are the same for both.
Detections detect(const BoxWithNmsLimit& node, const std::vector<float>& scores,
                  const std::vector<std::vector<float>>& boxes, std::vector<int32_t> batches = {}) {
    const auto rois = static_cast<int32_t>(scores.size());
    std::vector<float> allScores;
    std::vector<float> allBoxes;
    for (size_t i = 0; i < scores.size(); ++i) {
        allScores.insert(allScores.end(), {0.99F, scores[i]});
        for (int copy = 0; copy < 2; ++copy) {
            allBoxes.insert(allBoxes.end(), boxes[i].begin(), boxes[i].end());
        }
    }
    batches.resize(scores.size());
    const TensorType int32 = typeOf(DataType::INT32, {});
    return evaluateAll(
            node,
            {floats({rois, 2}, allScores), floats({rois, 8}, allBoxes), ints({rois}, batches)},
            {kFloat, kFloat, int32, int32});
}

// The second overlaps the first by half of their union, the third neither of them.
const std::vector<std::vector<float>> kBoxes = {{0, 0, 3, 1}, {1, 0, 4, 1}, {10, 0, 13, 1}};

TEST(BoxWithNmsLimitRef, DropsWhatOverlapsABetterBox) {
    const Detections result =
            detect({.iouThreshold = 0.5F, .nmsScoreThreshold = 0.01F}, {0.8F, 0.9F, 0.7F}, kBoxes);
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.9F, 0.7F}));
    EXPECT_TRUE(holds((*result)[1], {1, 0, 4, 1, 10, 0, 13, 1}));
    EXPECT_TRUE(holds((*result)[2], {1, 1}));
    EXPECT_TRUE(holds((*result)[3], {0, 0}));
}

TEST(BoxWithNmsLimitRef, LessensScoresInSoftKernels) {
    BoxWithNmsLimit node = {.kernel = BoxWithNmsLimit::Kernel::LINEAR, .iouThreshold = 0.25F};
    const Detections linear = detect(node, {0.8F, 0.9F, 0.7F}, kBoxes);
    ASSERT_TRUE(linear.ok()) << linear.status().toString();
    EXPECT_TRUE(holds((*linear)[0], {0.9, 0.7, 0.4}, 1e-6));
    EXPECT_TRUE(holds((*linear)[1], {1, 0, 4, 1, 10, 0, 13, 1, 0, 0, 3, 1}));
    node = {.kernel = BoxWithNmsLimit::Kernel::GAUSSIAN, .sigma = 0.5F};
    const Detections gaussian = detect(node, {0.8F, 0.9F, 0.7F}, kBoxes);
    ASSERT_TRUE(gaussian.ok()) << gaussian.status().toString();
    EXPECT_TRUE(holds((*gaussian)[0], {0.9, 0.7, 0.8 * std::exp(-0.5)}, 1e-6));
    node.nmsScoreThreshold = 0.5F;
    EXPECT_EQ((*detect(node, {0.8F, 0.9F, 0.7F}, kBoxes))[0].type.shape, (Shape{2}));
}

TEST(BoxWithNmsLimitRef, LooksOnlyAtScoresAboveTheThreshold) {
    const Detections result =
            detect({.scoreThreshold = 0.7F, .iouThreshold = 0.9F}, {0.8F, kNan, 0.7F}, kBoxes);
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.8F}));
}

TEST(BoxWithNmsLimitRef, FindsNothingInNothing) {
    for (const std::vector<float>& scores : {std::vector<float>{}, {0.0F, 0.0F, 0.0F}}) {
        const Detections result = detect({.iouThreshold = 0.5F}, scores, kBoxes);
        ASSERT_TRUE(result.ok()) << result.status().toString();
        EXPECT_EQ((*result)[0].type.shape, (Shape{0}));
        EXPECT_EQ((*result)[1].type.shape, (Shape{0, 4}));
        EXPECT_EQ((*result)[2].type.shape, (Shape{0}));
        EXPECT_EQ((*result)[3].type.shape, (Shape{0}));
    }
}

// A batch keeps its best; of equals the lower region.
TEST(BoxWithNmsLimitRef, KeepsNoMoreThanTheLimitPerBatch) {
    const std::vector<std::vector<float>> apart = {
            {0, 0, 1, 1}, {2, 0, 3, 1}, {4, 0, 5, 1}, {0, 0, 1, 1}, {2, 0, 3, 1}};
    const std::vector<float> scores = {0.5F, 0.6F, 0.5F, 0.1F, 0.2F};
    BoxWithNmsLimit node = {.maxDetections = 2, .iouThreshold = 0.5F};
    const Detections result = detect(node, scores, apart, {0, 0, 0, 4, 4});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.6F, 0.5F, 0.2F, 0.1F}));
    EXPECT_TRUE(holds((*result)[1], {2, 0, 3, 1, 0, 0, 1, 1, 2, 0, 3, 1, 0, 0, 1, 1}));
    EXPECT_TRUE(holds((*result)[3], {0, 0, 4, 4}));
    node.maxDetections = 0;
    EXPECT_EQ((*detect(node, scores, apart, {0, 0, 0, 4, 4}))[0].type.shape, (Shape{0}));
}

// Three classes, the limit is over all of them; classes come in order, whatever the scores.
TEST(BoxWithNmsLimitRef, OrdersByClassAndThenByScore) {
    const Values scores = floats({2, 3}, {0.1F, 0.2F, 0.9F, 0.1F, 0.8F, 0.7F});
    const Values boxes = floats({2, 12}, {0, 0, 1, 1, 1, 0, 2, 1, 2, 0, 3, 1,  //
                                          3, 0, 4, 1, 4, 0, 5, 1, 5, 0, 6, 1});
    const TensorType int32 = typeOf(DataType::INT32, {});
    const Detections result =
            evaluateAll(BoxWithNmsLimit{.maxDetections = 3, .iouThreshold = 0.5F},
                        {scores, boxes, ints({2}, {0, 0})}, {kFloat, kFloat, int32, int32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.8F, 0.9F, 0.7F}));
    EXPECT_TRUE(holds((*result)[1], {4, 0, 5, 1, 2, 0, 3, 1, 5, 0, 6, 1}));
    EXPECT_TRUE(holds((*result)[2], {1, 2, 2}));
}

TEST(BoxWithNmsLimitRef, TakesQuantisedBoxesAndScores) {
    const TensorType scoreType = typeOf(DataType::QUANT8_ASYMM, {2, 2}, 0.01F, 0);
    const TensorType boxType = typeOf(DataType::QUANT16_ASYMM, {2, 8}, 0.125F);
    const TensorType int32 = typeOf(DataType::INT32, {});
    const Detections result = evaluateAll(
            BoxWithNmsLimit{.kernel = BoxWithNmsLimit::Kernel::LINEAR, .iouThreshold = 0.25F},
            {quantized(scoreType, {0, 80, 0, 90}),
             quantized(boxType, {0, 0, 24, 8, 0, 0, 24, 8, 8, 0, 32, 8, 8, 0, 32, 8}),
             ints({2}, {0, 0})},
            {scoreType, boxType, int32, int32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {90, 40}));
    EXPECT_TRUE(holds((*result)[1], {8, 0, 32, 8, 0, 0, 24, 8}));
}

TEST(BoxWithNmsLimitRef, NamesWhatIsMalformed) {
    const BoxWithNmsLimit node = {.iouThreshold = 0.5F};
    EXPECT_TRUE(
            refused(detect(node, {0.8F, 0.9F, 0.7F}, kBoxes, {0, 1, 0}), "batch 0 of region 2"));
    EXPECT_TRUE(refused(detect(node, {0.8F}, kBoxes, {-1}), "batch -1 of region 0"));
    EXPECT_TRUE(refused(detect(node, {0.8F}, {{3, 0, 0, 1}}), "region 0 ends before it begins"));
    EXPECT_TRUE(refused(detect(node, {0.8F}, {{0, kNan, 1, 1}}), "region 0"));
}

// Infinite boxes overlap by NaN; whatever that gives, it ends.
TEST(BoxWithNmsLimitRef, EndsWithInfiniteBoxes) {
    const std::vector<std::vector<float>> boxes = {{-kInfinity, 0, kInfinity, 1},
                                                   {-kInfinity, 0, kInfinity, 1}};
    for (const auto kernel : {BoxWithNmsLimit::Kernel::HARD, BoxWithNmsLimit::Kernel::LINEAR,
                              BoxWithNmsLimit::Kernel::GAUSSIAN}) {
        const BoxWithNmsLimit node = {
                .kernel = kernel, .maxDetections = 1, .iouThreshold = 0.5F, .sigma = 1};
        EXPECT_TRUE(detect(node, {kInfinity, kInfinity}, boxes).ok());
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
