// SPDX-License-Identifier: Apache-2.0
//
// Lowering of operations that normalise and resize.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;

const OperandSpec kInts = {.type = TENSOR_INT32, .dimensions = {}};

// ---- Along an axis ------------------------------------------------------------------------------

TEST(LoweredNormalisation, GoesAlongTheLastAxisUnlessToldOtherwise) {
    const auto l2 = [] { return OperationModel(OperationType::L2_NORMALIZATION).input(kOpen); };
    expectNode(l2().output(kOpen).graph(), 0, engine::L2Normalize{.axis = -1}, "in0");
    expectNode(l2().int32(2).output(kOpen).graph(), 0, engine::L2Normalize{.axis = 2}, "in0");
    const auto local = [] {
        return OperationModel(OperationType::LOCAL_RESPONSE_NORMALIZATION)
                .input(kOpen)
                .int32(5)
                .float32(1.5F)
                .float32(2.5F)
                .float32(3.5F);
    };
    engine::LocalResponseNormalize node = {.radius = 5, .bias = 1.5F, .alpha = 2.5F, .beta = 3.5F};
    expectNode(local().output(kOpen).graph(), 0, node, "in0");
    node.axis = 1;
    expectNode(local().int32(1).output(kOpen).graph(), 0, node, "in0");
    expectInvalid(OperationModel(OperationType::LOCAL_RESPONSE_NORMALIZATION)
                          .input(kOpen)
                          .int32(-1)
                          .float32(1.0F)
                          .float32(1.0F)
                          .float32(1.0F)
                          .output(kOpen),
                  "operation 0 (LOCAL_RESPONSE_NORMALIZATION): the radius (input 1, operand 1) is "
                  "-1, below 0");
}

TEST(LoweredNormalisation, TakesLogarithms) {
    const auto model = [](float beta) {
        return OperationModel(OperationType::LOG_SOFTMAX)
                .input(kOpen)
                .float32(beta)
                .int32(-2)
                .output(kOpen);
    };
    expectNode(model(0.5F).graph(), 0, engine::LogSoftmax{.beta = 0.5F, .axis = -2}, "in0");
    expectInvalid(model(0.0F), "operation 0 (LOG_SOFTMAX): beta is not positive");
}

// ---- Images -------------------------------------------------------------------------------------

TEST(LoweredNormalisation, OfInstancesKnowsChannelsFirst) {
    const OperandSpec half = {.type = TENSOR_FLOAT16, .dimensions = {}};
    const auto model = [&](bool nchw) {
        return OperationModel(OperationType::INSTANCE_NORMALIZATION)
                .input(half)
                .float16(1.5F)
                .float16(2.5F)
                .float16(0.25F)
                .boolean(nchw)
                .output(half);
    };
    const engine::InstanceNormalize node = {.gamma = 1.5F, .beta = 2.5F, .epsilon = 0.25F};
    expectNode(model(false).graph(), 0, node, "in0");
    const engine::Graph nchw = model(true).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 1, node, "temporary", "temporary");
}

TEST(LoweredResizing, GoesToASize) {
    const auto resize = [](OperationType type) {
        return OperationModel(type).input(kOpen).int32s({7, 5});  // width first
    };
    engine::Resize node = {.height = 5, .width = 7};
    expectNode(resize(OperationType::RESIZE_BILINEAR).output(kOpen).graph(), 0, node, "in0");
    node.function = engine::Resize::Function::NEAREST;
    const auto nearest = [&] { return resize(OperationType::RESIZE_NEAREST_NEIGHBOR); };
    expectNode(nearest().boolean(false).output(kOpen).graph(), 0, node, "in0");
    const engine::Graph nchw = nearest().boolean(true).output(kOpen).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 1, node, "temporary", "temporary");
    node.alignCorners = true;
    expectNode(nearest().boolean(false).boolean(true).output(kOpen).graph(), 0, node, "in0");
    node.alignCorners = false;
    node.halfPixelCenters = true;
    expectNode(nearest().boolean(false).boolean(false).boolean(true).output(kOpen).graph(), 0, node,
               "in0");
    expectInvalid(OperationModel(OperationType::RESIZE_BILINEAR)
                          .input(kOpen)
                          .int32s({7, 0})
                          .output(kOpen),
                  "operation 0 (RESIZE_BILINEAR): the height (input 2, operand 2) is 0, below 1");
}

TEST(LoweredResizing, GoesByAScale) {
    const auto resize = [](float width) {
        return OperationModel(OperationType::RESIZE_BILINEAR)
                .input(kOpen)
                .float32(width)
                .float32(0.5F)
                .output(kOpen);
    };
    expectNode(resize(1.5F).graph(), 0, engine::Resize{.heightScale = 0.5F, .widthScale = 1.5F},
               "in0");
    for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
        EXPECT_EQ(resize(scale).status().code(), StatusCode::INVALID_ARGUMENT) << scale;
    }
    expectInvalid(
            resize(0.0F),
            "operation 0 (RESIZE_BILINEAR): the width scale (input 1, operand 1) is 0.000000, "
            "not positive and finite");
}

}  // namespace
}  // namespace halyard::driver
