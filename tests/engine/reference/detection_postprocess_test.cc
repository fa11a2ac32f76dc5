// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

using Detections = Result<std::vector<Values>>;

// Three anchors of 1 x 1, which nothing moves: the second overlaps the first by a third, the third
// neither of them. Two classes behind the background.
Detections detect(const DetectionPostprocess& node, const std::vector<float>& scores) {
    return evaluateAll(node,
                       {floats({1, 3, 3}, scores), floats({1, 3, 4}, std::vector<float>(12)),
                        floats({3, 4}, {0.5F, 0.5F, 1, 1, 0.5F, 1, 1, 1, 0.5F, 5, 1, 1})},
                       {kFloat, kFloat, kInt32, kInt32});
}

// background, first, second class
const std::vector<float> kScores = {0.99F, 0.5F, 0.4F, 0.99F, 0.6F, 0.1F, 0.99F, 0.2F, 0.7F};

TEST(DetectionPostprocessRef, SuppressesClassByClass) {
    const Detections result = detect({.regular = true,
                                      .maxDetections = 5,
                                      .detectionsPerClass = 3,
                                      .scoreThreshold = 0.15F,
                                      .iouThreshold = 0.3F},
                                     kScores);
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.7F, 0.6F, 0.4F, 0.2F, 0}));
    EXPECT_TRUE(holds((*result)[1],
                      {0, 4.5, 1, 5.5, 0, 0.5, 1, 1.5, 0, 0, 1, 1, 0, 4.5, 1, 5.5, 0, 0, 0, 0}));
    EXPECT_TRUE(holds((*result)[2], {1, 0, 1, 0, 0}));
    EXPECT_TRUE(holds((*result)[3], {4}));
}

TEST(DetectionPostprocessRef, LimitsDetectionsOfAClassAndOfAll) {
    DetectionPostprocess node = {
            .regular = true, .maxDetections = 5, .detectionsPerClass = 1, .iouThreshold = 0.9F};
    EXPECT_TRUE(holds((*detect(node, kScores))[0], {0.7F, 0.6F, 0, 0, 0}));
    EXPECT_TRUE(holds((*detect(node, kScores))[3], {2}));
    node.detectionsPerClass = 3;
    node.maxDetections = 3;
    EXPECT_TRUE(holds((*detect(node, kScores))[0], {0.7F, 0.6F, 0.5F}));
    EXPECT_TRUE(holds((*detect(node, kScores))[3], {3}));
}

TEST(DetectionPostprocessRef, SuppressesAnchorsByTheirBestClass) {
    const DetectionPostprocess node = {.maxDetections = 3,
                                       .maxClassesPerDetection = 1,
                                       .scoreThreshold = 0.15F,
                                       .iouThreshold = 0.3F};
    const Detections result = detect(node, kScores);
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.7F, 0.6F, 0}));
    EXPECT_TRUE(holds((*result)[1], {0, 4.5, 1, 5.5, 0, 0.5, 1, 1.5, 0, 0, 0, 0}));
    EXPECT_TRUE(holds((*result)[2], {1, 0, 0}));
    EXPECT_TRUE(holds((*result)[3], {2}));
}

TEST(DetectionPostprocessRef, ReportsTheBestClassesOfAnAnchor) {
    DetectionPostprocess node = {.maxDetections = 2,
                                 .maxClassesPerDetection = 2,
                                 .iouThreshold = 0.3F,
                                 .backgroundIsClass = true};
    const Detections result = detect(node, kScores);
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.7F, 0.2F, 0.6F, 0.1F}));
    EXPECT_TRUE(holds((*result)[2], {2, 1, 1, 2}));
    EXPECT_TRUE(holds((*result)[3], {4}));
    // No more classes than there are: the rest stays empty.
    node.maxClassesPerDetection = 3;
    const Detections rest = detect(node, kScores);
    ASSERT_TRUE(rest.ok()) << rest.status().toString();
    EXPECT_TRUE(holds((*rest)[0], {0.7F, 0.2F, 0.6F, 0.1F, 0, 0}));
    EXPECT_TRUE(holds((*rest)[3], {4}));
}

// numpy, in double precision. What lies behind a row's first four deltas is not looked at.
TEST(DetectionPostprocessRef, MovesAnchors) {
    const Detections result = evaluateAll(
            DetectionPostprocess{.scaleY = 10, .scaleX = 10, .scaleH = 5, .scaleW = 5},
            {halves({1, 1, 2}, {0, 1}), halves({1, 1, 6}, {1, -2, 0.5F, -0.5F, 9, 9}),
             halves({1, 4}, {0.5F, 0.5F, 1, 1})},
            {typeOf(DataType::FLOAT16, {}), typeOf(DataType::FLOAT16, {}), kInt32, kInt32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[1], {0.047414541, -0.152418709, 1.15258546, 0.752418709}, 1e-3));
}

TEST(DetectionPostprocessRef, TakesEveryBatchAlone) {
    const Detections result =
            evaluateAll(DetectionPostprocess{.maxDetections = 1, .iouThreshold = 0.5F},
                        {floats({2, 2, 2}, {0, 0.1F, 0, 0.2F, 0, 0.4F, 0, 0}),
                         floats({2, 2, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}),
                         floats({2, 4}, {0.5F, 0.5F, 1, 1, 0.5F, 5.5F, 1, 1})},
                        {kFloat, kFloat, kInt32, kInt32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.2F, 0.4F}));
    EXPECT_TRUE(holds((*result)[1], {0, 5, 1, 6, 3, 0, 4, 1}));
    EXPECT_TRUE(holds((*result)[3], {1, 1}));
}

TEST(DetectionPostprocessRef, DetectsNothingInNothing) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    for (const bool regular : {false, true}) {
        const DetectionPostprocess node = {.regular = regular, .maxDetections = 2};
        for (const float score : {0.0F, kNan}) {
            const Detections result = detect(node, std::vector<float>(9, score));
            ASSERT_TRUE(result.ok()) << result.status().toString();
            EXPECT_TRUE(holds((*result)[0], {0, 0}));
            EXPECT_TRUE(holds((*result)[1], {0, 0, 0, 0, 0, 0, 0, 0}));
            EXPECT_TRUE(holds((*result)[2], {0, 0}));
            EXPECT_TRUE(holds((*result)[3], {0}));
        }
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
