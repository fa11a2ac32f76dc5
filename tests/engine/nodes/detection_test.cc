// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

TensorType coordinates(Shape shape) {
    return typed(DataType::QUANT16_ASYMM, shape, 0.125F);
}

Asking roiAlign(Shape x, Shape boxes, Shape batches) {
    return Asking(RoiAlign{.height = 2, .width = 3})
            .with(floats(x))
            .with(floats(boxes))
            .with(ints(batches));
}

TEST(RoiShapes, AreABinPerBox) {
    EXPECT_TRUE(gives(roiAlign({1, 8, 9, 5}, {4, 4}, {4}).shape(), {4, 2, 3, 5}));
    EXPECT_TRUE(gives(roiAlign({1, 8, 9, 5}, {0, 4}, {0}).shape(), {0, 2, 3, 5}));
    EXPECT_TRUE(gives(roiAlign(kNoRank, kNoRank, {kUnknown}).shape(), {kUnknown, 2, 3, kUnknown}));
    EXPECT_TRUE(gives(Asking(RoiPool{.height = 2, .width = 3})
                              .with(floats({1, 8, 9, 5}))
                              .with(floats({kUnknown, 4}))
                              .with(ints({4}))
                              .shape(),
                      {4, 2, 3, 5}));
}

TEST(RoiShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(roiAlign({1, 8, 9, 5}, {4, 5}, {4}).shape(), "the boxes"));
    EXPECT_TRUE(rejects(roiAlign({1, 8, 9, 5}, {4, 4}, {3}).shape(), "the batches"));
    EXPECT_TRUE(rejects(roiAlign({8, 9, 5}, {4, 4}, {4}).shape(), "rank 4"));
}

TEST(RoiShapes, RejectAttributesOutOfRange) {
    const auto align = [](const RoiAlign& node) {
        return infer(node, {.inputs = {floats({1, 8, 9, 5}), floats({4, 4}), ints({4})}});
    };
    EXPECT_TRUE(rejects(align({.height = 0}), "the height (0)"));
    EXPECT_TRUE(rejects(align({.width = -1}), "the width (-1)"));
    EXPECT_TRUE(rejects(align({.heightRatio = 0.0F}), "the ratio of the heights"));
    EXPECT_TRUE(rejects(align({.widthRatio = -1.0F}), "the ratio of the widths"));
    EXPECT_TRUE(rejects(align({.samplesH = -1}), "samples (-1)"));
}

TEST(RoiShapes, TakeBoxesOfTheInputsFloatOrOf16Bits) {
    const auto acceptedWith = [](const TensorType& boxes) {
        return accepted([&](DataType type) {
            return Asking(RoiAlign())
                    .with(typed(type, {1, 8, 9, 5}))
                    .with(boxes)
                    .with(ints({4}))
                    .giving(typed(type, {1}))
                    .shape();
        });
    };
    EXPECT_EQ(acceptedWith(floats({4, 4})), "FLOAT32");
    EXPECT_EQ(acceptedWith(typed(DataType::FLOAT16, {4, 4})), "FLOAT16");
    EXPECT_EQ(acceptedWith(coordinates({4, 4})), "QUANT8_ASYMM QUANT8_ASYMM_SIGNED");
}

// The largest of some elements is one of them; a mean is not.
TEST(RoiShapes, OfAPoolKeepTheScale) {
    const Question question = {
            .inputs = {bytes({1, 8, 9, 5}, 0.5F), coordinates({4, 4}), ints({4})},
            .output = bytes({}, 0.25F)};
    EXPECT_TRUE(rejects(infer(RoiPool(), question), "same scale"));
    EXPECT_TRUE(infer(RoiAlign(), question).ok());
}

Asking transform(Shape boxes, Shape deltas, Shape batches, Shape images) {
    return Asking(BoxTransform())
            .with(floats(boxes))
            .with(floats(deltas))
            .with(ints(batches))
            .with(floats(images));
}

TEST(BoxTransformShapes, AreTheDeltas) {
    EXPECT_TRUE(gives(transform({5, 4}, {5, 8}, {5}, {2, 2}).shape(), {5, 8}));
    EXPECT_TRUE(gives(transform(kNoRank, {kUnknown, 8}, {0}, {2, 2}).shape(), {0, 8}));
    EXPECT_TRUE(rejects(transform({5, 4}, {5, 7}, {5}, {2, 2}).shape(), "multiple of 4"));
    EXPECT_TRUE(rejects(transform({5, 4}, {6, 8}, {5}, {2, 2}).shape(), "the deltas"));
    EXPECT_TRUE(rejects(transform({5, 4}, {5, 8}, {6}, {2, 2}).shape(), "the batches"));
    EXPECT_TRUE(rejects(transform({5, 4}, {5, 8}, {5}, {2, 3}).shape(), "the images"));
}

TEST(BoxTransformShapes, AreInCoordinates) {
    const auto quantized = [](const TensorType& output) {
        return Asking(BoxTransform())
                .with(coordinates({5, 4}))
                .with(bytes({5, 8}))
                .with(ints({5}))
                .with(coordinates({2, 2}))
                .giving(output)
                .shape();
    };
    EXPECT_TRUE(gives(quantized(coordinates(kNoRank)), {5, 8}));
    EXPECT_TRUE(rejects(quantized(bytes(kNoRank)), "QUANT16_ASYMM"));
}

Asking limit(Shape scores, Shape boxes, Shape batches) {
    return Asking(BoxWithNmsLimit())
            .with(floats(scores))
            .with(floats(boxes))
            .with(ints(batches))
            .giving(floats(kNoRank))
            .giving(floats(kNoRank))
            .giving(ints(kNoRank))
            .giving(ints(kNoRank));
}

TEST(BoxWithNmsLimitShapes, AreFoundByRunning) {
    const std::vector<Shape> found = {{kUnknown}, {kUnknown, 4}, {kUnknown}, {kUnknown}};
    EXPECT_TRUE(gives(limit({5, 3}, {5, 12}, {5}).shapes(), found));
    EXPECT_TRUE(gives(limit({0, 3}, {0, 12}, {0}).shapes(), found));
    EXPECT_TRUE(gives(limit(kNoRank, kNoRank, kNoRank).shapes(), found));
}

TEST(BoxWithNmsLimitShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(limit({5, 3}, {5, 11}, {5}).shapes(), "the boxes"));
    EXPECT_TRUE(rejects(limit({5, 3}, {6, 12}, {5}).shapes(), "the boxes"));
    EXPECT_TRUE(rejects(limit({5, 3}, {5, 12}, {6}).shapes(), "the batches"));
}

TEST(BoxWithNmsLimitShapes, KeepScoresAndBoxesAsTheyAre) {
    const auto kept = [](const TensorType& scores, const TensorType& boxes) {
        return Asking(BoxWithNmsLimit())
                .with(bytes({5, 3}, 0.5F, 0))
                .with(coordinates({5, 12}))
                .with(ints({5}))
                .giving(scores)
                .giving(boxes)
                .giving(ints(kNoRank))
                .giving(ints(kNoRank))
                .shapes();
    };
    EXPECT_TRUE(kept(bytes(kNoRank, 0.5F, 0), coordinates(kNoRank)).ok());
    EXPECT_TRUE(rejects(kept(bytes(kNoRank, 0.25F, 0), coordinates(kNoRank)), "same scale"));
    EXPECT_TRUE(rejects(kept(bytes(kNoRank, 0.5F, 0), floats(kNoRank)), "the boxes"));
}

TEST(BoxWithNmsLimitShapes, NeedASigmaForAGaussian) {
    using Kernel = BoxWithNmsLimit::Kernel;
    const auto with = [](Kernel kernel, float sigma) {
        return Asking(BoxWithNmsLimit{.kernel = kernel, .sigma = sigma})
                .with(floats({5, 3}))
                .with(floats({5, 12}))
                .with(ints({5}))
                .giving(floats(kNoRank))
                .giving(floats(kNoRank))
                .giving(ints(kNoRank))
                .giving(ints(kNoRank))
                .shapes();
    };
    EXPECT_TRUE(with(Kernel::HARD, 0.0F).ok());
    EXPECT_TRUE(with(Kernel::GAUSSIAN, 0.5F).ok());
    EXPECT_TRUE(rejects(with(Kernel::GAUSSIAN, 0.0F), "sigma"));
}

Asking propose(Shape scores, Shape deltas, Shape anchors, Shape images) {
    return Asking(GenerateProposals())
            .with(floats(scores))
            .with(floats(deltas))
            .with(floats(anchors))
            .with(floats(images))
            .giving(floats(kNoRank))
            .giving(floats(kNoRank))
            .giving(ints(kNoRank));
}

TEST(GenerateProposalsShapes, AreFoundByRunning) {
    EXPECT_TRUE(gives(propose({1, 5, 6, 3}, {1, 5, 6, 12}, {3, 4}, {1, 2}).shapes(),
                      {{kUnknown}, {kUnknown, 4}, {kUnknown}}));
}

TEST(GenerateProposalsShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(propose({1, 5, 6, 3}, {1, 5, 6, 11}, {3, 4}, {1, 2}).shapes(), "deltas"));
    EXPECT_TRUE(rejects(propose({1, 5, 6, 3}, {1, 5, 6, 12}, {2, 4}, {1, 2}).shapes(), "scores"));
    EXPECT_TRUE(rejects(propose({1, 5, 6, 3}, {1, 5, 6, 12}, {3, 4}, {2, 2}).shapes(), "images"));
}

TEST(GenerateProposalsShapes, TakeAnchorsOf16Bits) {
    const auto quantized = [](const TensorType& anchors) {
        return Asking(GenerateProposals())
                .with(bytes({1, 5, 6, 3}))
                .with(bytes({1, 5, 6, 12}, 0.1F, 3))
                .with(anchors)
                .with(coordinates({1, 2}))
                .giving(bytes(kNoRank))
                .giving(coordinates(kNoRank))
                .giving(ints(kNoRank))
                .shapes();
    };
    EXPECT_TRUE(quantized(typed(DataType::QUANT16_SYMM, {3, 4})).ok());
    EXPECT_TRUE(rejects(quantized(coordinates({3, 4})), "QUANT16_SYMM"));
}

Asking postprocess(const DetectionPostprocess& node, Shape scores, Shape deltas, Shape anchors) {
    return Asking(node)
            .with(floats(scores))
            .with(floats(deltas))
            .with(floats(anchors))
            .giving(floats(kNoRank))
            .giving(floats(kNoRank))
            .giving(ints(kNoRank))
            .giving(ints(kNoRank));
}

TEST(DetectionPostprocessShapes, HaveRoomForTheMostDetections) {
    EXPECT_TRUE(gives(postprocess({.maxDetections = 7}, {2, 6, 3}, {2, 6, 4}, {6, 4}).shapes(),
                      {{2, 7}, {2, 7, 4}, {2, 7}, {2}}));
    EXPECT_TRUE(gives(postprocess({}, {kUnknown, 6, 3}, {0, 6, 5}, {6, 4}).shapes(),
                      {{0, 1}, {0, 1, 4}, {0, 1}, {0}}));
    const DetectionPostprocess fast = {.maxDetections = 7, .maxClassesPerDetection = 2};
    EXPECT_TRUE(gives(postprocess(fast, {2, 6, 3}, {2, 6, 4}, {6, 4}).shapes(),
                      {{2, 14}, {2, 14, 4}, {2, 14}, {2}}));
    const DetectionPostprocess regular = {
            .regular = true, .maxDetections = 7, .maxClassesPerDetection = 2};
    EXPECT_TRUE(gives(postprocess(regular, {2, 6, 3}, {2, 6, 4}, {6, 4}).shapes(),
                      {{2, 7}, {2, 7, 4}, {2, 7}, {2}}));
}

TEST(DetectionPostprocessShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(postprocess({}, {2, 6, 3}, {2, 6, 3}, {6, 4}).shapes(), "deltas (3)"));
    EXPECT_TRUE(rejects(postprocess({}, {2, 6, 3}, {2, 6, 4}, {5, 4}).shapes(), "the anchors"));
    EXPECT_TRUE(rejects(postprocess({}, {2, 6, 1}, {2, 6, 4}, {6, 4}).shapes(), "classes (1)"));
    EXPECT_TRUE(rejects(postprocess({.maxDetections = 1 << 16, .maxClassesPerDetection = 1 << 16},
                                    {2, 6, 3}, {2, 6, 4}, {6, 4})
                                .shapes(),
                        "number of detections"));
}

TEST(DetectionPostprocessShapes, RejectAttributesOutOfRange) {
    const auto with = [](const DetectionPostprocess& node) {
        return postprocess(node, {2, 6, 3}, {2, 6, 4}, {6, 4}).shapes();
    };
    EXPECT_TRUE(rejects(with({.scaleH = 0.0F}), "a scale"));
    EXPECT_TRUE(rejects(with({.maxDetections = 0}), "detections (0)"));
    EXPECT_TRUE(rejects(with({.maxClassesPerDetection = 0}), "classes per detection (0)"));
    EXPECT_TRUE(rejects(with({.regular = true, .detectionsPerClass = 0}), "per class (0)"));
    EXPECT_TRUE(with({.regular = true, .maxClassesPerDetection = 0}).ok()) << "not looked at";
}

Asking keypoints(Shape heatmaps, Shape boxes) {
    return Asking(HeatmapMaxKeypoint())
            .with(floats(heatmaps))
            .with(floats(boxes))
            .giving(floats(kNoRank))
            .giving(floats(kNoRank));
}

TEST(HeatmapMaxKeypointShapes, AreAPositionPerKeypoint) {
    EXPECT_TRUE(gives(keypoints({3, 8, 8, 5}, {3, 4}).shapes(), {{3, 5}, {3, 5, 2}}));
    EXPECT_TRUE(gives(keypoints({0, 8, kUnknown, 5}, {kUnknown, 4}).shapes(), {{0, 5}, {0, 5, 2}}));
    EXPECT_TRUE(rejects(keypoints({3, 8, 9, 5}, {3, 4}).shapes(), "the heatmaps"));
    EXPECT_TRUE(rejects(keypoints({3, 8, 8, 5}, {4, 4}).shapes(), "the boxes"));
    EXPECT_TRUE(rejects(keypoints({3, 1, 1, 5}, {3, 4}).shapes(), "size of a heatmap (1)"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
