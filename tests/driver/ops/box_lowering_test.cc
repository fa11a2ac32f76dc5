// SPDX-License-Identifier: Apache-2.0
//
// Lowering of operations on boxes.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;

const OperandSpec kInts = {.type = TENSOR_INT32, .dimensions = {}};

TEST(LoweredBoxes, ArePooled) {
    const auto pool = [](int32_t height, bool nchw) {
        return OperationModel(OperationType::ROI_POOLING)
                .input(kOpen)
                .input(kOpen)
                .input(kInts)
                .int32s({height, 6})
                .float32(2.0F)
                .float32(4.0F)
                .boolean(nchw)
                .output(kOpen);
    };
    const engine::RoiPool node = {.height = 5, .width = 6, .heightRatio = 2.0F, .widthRatio = 4.0F};
    expectNode(pool(5, false).graph(), 0, node, "in0 in1 in2");
    const engine::Graph nchw = pool(5, true).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 1, node, "temporary in1 in2", "temporary");
    expectInvalid(
            pool(0, false),
            "operation 0 (ROI_POOLING): the output height (input 3, operand 3) is 0, below 1");
}

TEST(LoweredBoxes, AreMoved) {
    expectNode(OperationModel(OperationType::AXIS_ALIGNED_BBOX_TRANSFORM)
                       .input(kOpen)
                       .input(kOpen)
                       .input(kInts)
                       .input(kOpen)
                       .output(kOpen)
                       .graph(),
               0, engine::BoxTransform(), "in0 in1 in2 in3");
}

// Keypoints have no layout: only the heatmaps change theirs.
TEST(LoweredBoxes, HaveKeypoints) {
    const auto model = [](bool nchw) {
        return OperationModel(OperationType::HEATMAP_MAX_KEYPOINT)
                .input(kOpen)
                .input(kOpen)
                .boolean(nchw)
                .output(kOpen)
                .output(kOpen);
    };
    expectNode(model(false).graph(), 0, engine::HeatmapMaxKeypoint(), "in0 in1", "out0 out1");
    const engine::Graph nchw = model(true).graph();
    ASSERT_EQ(nchw.nodes().size(), 2U);
    expectNode(nchw, 0, engine::Transpose{}, "in0 {0, 2, 3, 1}", "temporary");
    expectNode(nchw, 1, engine::HeatmapMaxKeypoint(), "temporary in1", "out0 out1");
}

TEST(LoweredBoxes, AreProposed) {
    const auto model = [](bool nchw) {
        return OperationModel(OperationType::GENERATE_PROPOSALS)
                .input(kOpen)
                .input(kOpen)
                .input(kOpen)
                .input(kOpen)
                .float32(2.0F)
                .float32(4.0F)
                .int32s({-1, 30})
                .float32(0.5F)
                .float32(0.25F)
                .boolean(nchw)
                .output(kOpen)
                .output(kOpen)
                .output(kInts);
    };
    const engine::GenerateProposals node = {.heightRatio = 2.0F,
                                            .widthRatio = 4.0F,
                                            .maxBeforeNms = -1,
                                            .maxAfterNms = 30,
                                            .iouThreshold = 0.5F,
                                            .minSize = 0.25F};
    expectNode(model(false).graph(), 0, node, "in0 in1 in2 in3", "out0 out1 out2");
    const engine::Graph nchw = model(true).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 0, engine::Transpose{}, "in0 {0, 2, 3, 1}", "temporary");
    expectNode(nchw, 1, engine::Transpose{}, "in1 {0, 2, 3, 1}", "temporary");
    expectNode(nchw, 2, node, "temporary temporary in2 in3", "out0 out1 out2");
}

TEST(LoweredBoxes, AreDetected) {
    const auto model = [](int32_t maxDetections, float scoreThreshold) {
        return OperationModel(OperationType::DETECTION_POSTPROCESSING)
                .input(kOpen)
                .input(kOpen)
                .input(kOpen)
                .float32(10.0F)
                .float32(11.0F)
                .float32(5.0F)
                .float32(6.0F)
                .boolean(true)
                .int32s({maxDetections, 2, 4})
                .float32(scoreThreshold)
                .float32(0.5F)
                .boolean(true)
                .output(kOpen)
                .output(kOpen)
                .output(kInts)
                .output(kInts);
    };
    expectNode(model(3, 0.25F).graph(), 0,
               engine::DetectionPostprocess{.scaleY = 10.0F,
                                            .scaleX = 11.0F,
                                            .scaleH = 5.0F,
                                            .scaleW = 6.0F,
                                            .regular = true,
                                            .maxDetections = 3,
                                            .maxClassesPerDetection = 2,
                                            .detectionsPerClass = 4,
                                            .scoreThreshold = 0.25F,
                                            .iouThreshold = 0.5F,
                                            .backgroundIsClass = true},
               "in0 in1 in2", "out0 out1 out2 out3");
    expectInvalid(model(0, 0.25F),
                  "operation 0 (DETECTION_POSTPROCESSING): the max detections (input 8, operand 8) "
                  "is 0, below 1");
    expectInvalid(model(3, -0.25F),
                  "operation 0 (DETECTION_POSTPROCESSING): the score threshold (input 11, operand "
                  "11) is -0.250000, below 0.000000");
}

}  // namespace
}  // namespace halyard::driver
