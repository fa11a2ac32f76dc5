// SPDX-License-Identifier: Apache-2.0
//
// The nodes that grouped and transposed convolutions become.

#include <gtest/gtest.h>

#include <string>

#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;
using engine::PaddingScheme;

OperationModel convolution(OperationType type, const OperandSpec& input = kOpen) {
    return OperationModel(type).input(input).input(kOpen).input(floats({}));
}

TEST(LoweredNodes, ConvolveInGroups) {
    const auto grouped = [](const std::vector<int32_t>& scalars, bool nchw) {
        return convolution(OperationType::GROUPED_CONV_2D)
                .int32s(scalars)
                .boolean(nchw)
                .output(kOpen);
    };
    // Scheme, strides by width and height, groups, activation.
    expectNode(
            grouped({1, 2, 3, 4, 1}, false).graph(), 0,
            engine::Conv2d{.window = {.padding = PaddingScheme::SAME, .strideH = 3, .strideW = 2},
                           .groups = 4,
                           .activation = engine::Activation::RELU},
            "in0 in1 in2");
    // Left, right, top, bottom before them.
    expectNode(grouped({1, 2, 3, 4, 5, 6, 7, 0}, false).graph(), 0,
               engine::Conv2d{.window = {.padding = PaddingScheme::EXPLICIT,
                                         .top = 3,
                                         .bottom = 4,
                                         .left = 1,
                                         .right = 2,
                                         .strideH = 6,
                                         .strideW = 5},
                              .groups = 7},
               "in0 in1 in2");
    const engine::Graph nchw = grouped({2, 1, 1, 1, 0}, true).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 0, engine::Transpose{}, "in0 {0, 2, 3, 1}", "temporary");
    expectNode(nchw, 1, engine::Conv2d{}, "temporary in1 in2", "temporary");
    expectNode(nchw, 2, engine::Transpose{}, "temporary {0, 3, 1, 2}");
    expectInvalid(grouped({1, 1, 1, 0, 0}, false),
                  "operation 0 (GROUPED_CONV_2D): the groups (input 6, operand 6) is 0, below 1");
}

TEST(LoweredNodes, ConvolveBackwardsByPaddings) {
    const engine::Graph graph = convolution(OperationType::TRANSPOSE_CONV_2D)
                                        .int32s({1, 2, 3, 4, 5, 6, 2})
                                        .boolean(false)
                                        .output(kOpen)
                                        .graph();
    expectNode(graph, 0,
               engine::TransposeConv2d{.window = {.padding = PaddingScheme::EXPLICIT,
                                                  .top = 3,
                                                  .bottom = 4,
                                                  .left = 1,
                                                  .right = 2,
                                                  .strideH = 6,
                                                  .strideW = 5},
                                       .activation = engine::Activation::RELU1},
               "in0 in1 in2 -");
}

TEST(LoweredNodes, ConvolveBackwardsToAShape) {
    const auto constant = [](const std::vector<int32_t>& shape, bool nchw) {
        return convolution(OperationType::TRANSPOSE_CONV_2D)
                .pooled(ints({static_cast<uint32_t>(shape.size())}), shape)
                .int32s({1, 2, 3, 0})
                .boolean(nchw)
                .output(kOpen);
    };
    const engine::TransposeConv2d node = {
            .window = {.padding = PaddingScheme::SAME, .strideH = 3, .strideW = 2}};
    expectNode(constant({1, 5, 6, 2}, false).graph(), 0, node, "in0 in1 in2 {1, 5, 6, 2}");
    // The shape is in the layout of the data.
    const engine::Graph nchw = constant({1, 2, 5, 6}, true).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 1, node, "temporary in1 in2 {1, 5, 6, 2}", "temporary");
    expectInvalid(constant({1, 2, 5}, true),
                  "operation 0 (TRANSPOSE_CONV_2D): the output shape (input 3, operand 3) has 3 "
                  "elements, not 4");
}

TEST(LoweredNodes, ConvolveBackwardsToAShapeThatIsComputed) {
    const auto computed = [](bool nchw) {
        return convolution(OperationType::TRANSPOSE_CONV_2D)
                .input(ints({4}))
                .int32s({2, 1, 1, 0})
                .boolean(nchw)
                .output(kOpen)
                .graph();
    };
    expectNode(computed(false), 0, engine::TransposeConv2d{}, "in0 in1 in2 in3");
    const engine::Graph nchw = computed(true);
    ASSERT_EQ(nchw.nodes().size(), 4U);
    expectNode(nchw, 1, engine::Gather{.axis = 0}, "in3 {0, 2, 3, 1}", "temporary");
    expectNode(nchw, 2, engine::TransposeConv2d{}, "temporary in1 in2 temporary", "temporary");
    EXPECT_EQ(nchw.node(2).inputs[3], nchw.node(1).outputs[0]);
}

TEST(LoweredNodes, OfChannelsFirstKnowTheirShapes) {
    const engine::Graph graph = convolution(OperationType::GROUPED_CONV_2D, floats({1, 2, 3, 4}))
                                        .int32s({2, 1, 1, 1, 0})
                                        .boolean(true)
                                        .output(floats({5, 6, 7, 8}))
                                        .graph();
    ASSERT_EQ(graph.nodes().size(), 3U);
    EXPECT_EQ(graph.tensor(graph.node(1).inputs[0]).type.shape, (engine::Shape{1, 3, 4, 2}));
    EXPECT_EQ(graph.tensor(graph.node(1).outputs[0]).type.shape, (engine::Shape{5, 7, 8, 6}));
}

}  // namespace
}  // namespace halyard::driver
