// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Question conv(Shape x, Shape filter, Shape bias) {
    return {.inputs = {floats(x), floats(filter), floats(bias)}};
}

const Conv2d kSameStride2 = {
        .window = {.padding = PaddingScheme::SAME, .strideH = 2, .strideW = 2}};

TEST(Conv2dShapes, HaveTheFiltersChannels) {
    EXPECT_TRUE(gives(infer(kSameStride2, conv({1, 224, 224, 3}, {32, 3, 3, 3}, {32})),
                      {1, 112, 112, 32}));
    EXPECT_TRUE(gives(infer(Conv2d(), conv({2, 5, 6, 3}, {4, 3, 2, 3}, {4})), {2, 3, 5, 4}));
}

TEST(Conv2dShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(infer(Conv2d(), conv({kUnknown, 5, kUnknown, 3}, {4, 3, 2, 3}, {4})),
                      {kUnknown, 3, kUnknown, 4}));
    EXPECT_TRUE(gives(infer(Conv2d(), conv(kNoRank, {4, 3, 2, 3}, {4})),
                      {kUnknown, kUnknown, kUnknown, 4}));
    EXPECT_TRUE(
            gives(infer(Conv2d(), conv({1, 5, 5, 3}, kNoRank, {4})), {1, kUnknown, kUnknown, 4}));
    EXPECT_TRUE(gives(infer(Conv2d(), conv({1, 5, 5, 3}, {kUnknown, 3, 3, 3}, {kUnknown})),
                      {1, 3, 3, kUnknown}));
}

TEST(Conv2dShapes, AcceptEmptyBatchesAndChannels) {
    EXPECT_TRUE(gives(infer(Conv2d(), conv({0, 5, 5, 3}, {4, 3, 3, 3}, {4})), {0, 3, 3, 4}));
    EXPECT_TRUE(gives(infer(Conv2d(), conv({1, 5, 5, 0}, {4, 3, 3, 0}, {4})), {1, 3, 3, 4}));
    EXPECT_TRUE(gives(infer(Conv2d(), conv({1, 5, 5, 3}, {0, 3, 3, 3}, {0})), {1, 3, 3, 0}));
}

TEST(Conv2dShapes, RejectRanksAndExtentsThatDisagree) {
    EXPECT_TRUE(rejects(infer(Conv2d(), conv({5, 5, 3}, {4, 3, 3, 3}, {4})),
                        "the input must have rank 4"));
    EXPECT_TRUE(rejects(infer(Conv2d(), conv({1, 5, 5, 3}, {3, 3, 3}, {4})),
                        "the filter must have rank 4"));
    EXPECT_TRUE(rejects(infer(Conv2d(), conv({1, 5, 5, 3}, {4, 3, 3, 3}, {1, 4})),
                        "the bias must have rank 1"));
    EXPECT_TRUE(rejects(infer(Conv2d(), conv({1, 5, 5, 3}, {4, 3, 3, 2}, {4})), "depth"));
    EXPECT_TRUE(rejects(infer(Conv2d(), conv({1, 5, 5, 3}, {4, 3, 3, 3}, {5})), "the bias"));
    EXPECT_TRUE(rejects(infer(Conv2d(), conv({1, 2, 5, 3}, {4, 3, 3, 3}, {4})), "does not fit"));
}

TEST(Conv2dShapes, RejectMissingInputs) {
    EXPECT_TRUE(rejects(infer(Conv2d(), {.inputs = {floats({1, 5, 5, 3}), floats({4, 3, 3, 3})}}),
                        "takes 3 inputs"));
}

TEST(Conv2dShapes, RejectTypesThatDoNotGoTogether) {
    Question question = conv({1, 5, 5, 3}, {4, 3, 3, 3}, {4});
    question.output.type = DataType::FLOAT16;
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "the output"));
    question = conv({1, 5, 5, 3}, {4, 3, 3, 3}, {4});
    question.inputs[1].type = DataType::FLOAT16;
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "weights"));
    question = conv({1, 5, 5, 3}, {4, 3, 3, 3}, {4});
    question.inputs[2].type = DataType::INT32;
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "the bias"));
    question = {.inputs = {ints({1, 5, 5, 3}), ints({4, 3, 3, 3}), ints({4})}, .output = ints({})};
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "must be a float or"));
}

TEST(Conv2dShapes, CheckQuantisedWeightsAndBias) {
    Question question = {.inputs = {bytes({1, 5, 5, 3}), bytes({4, 3, 3, 3}), ints({4})},
                         .output = bytes({})};
    EXPECT_TRUE(gives(infer(Conv2d(), question), {1, 3, 3, 4}));
    question.inputs[1] = floats({4, 3, 3, 3});
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "can't be weighted"));
    question.inputs[1] = bytes({4, 3, 3, 3});
    question.inputs[2] = floats({4});
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "must be INT32"));
}

TEST(Conv2dShapes, CheckTheScalesOfEachChannel) {
    Question question = {
            .inputs = {bytes({1, 5, 5, 3}), perChannel({2, 3, 3, 3}, {1.0F, 2.0F}, 0), ints({2})},
            .output = bytes({})};
    EXPECT_TRUE(gives(infer(Conv2d(), question), {1, 3, 3, 2}));
    question.inputs[1] = perChannel({2, 3, 3, 3}, {1.0F, 2.0F, 3.0F}, 0);
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "2 scales"));
    question.inputs[1] = perChannel({2, 3, 3, 3}, {1.0F, 2.0F, 3.0F}, 3);
    EXPECT_TRUE(rejects(infer(Conv2d(), question), "along axis 0"));
}

TEST(DepthwiseConv2dShapes, MultiplyTheInputsDepth) {
    EXPECT_TRUE(
            gives(infer(DepthwiseConv2d{.multiplier = 2}, conv({1, 5, 5, 3}, {1, 3, 3, 6}, {6})),
                  {1, 3, 3, 6}));
    EXPECT_TRUE(
            gives(infer(DepthwiseConv2d(), conv({1, 5, 5, 0}, {1, 3, 3, 0}, {0})), {1, 3, 3, 0}));
}

TEST(DepthwiseConv2dShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(infer(DepthwiseConv2d{.multiplier = 2}, conv(kNoRank, kNoRank, {6})),
                      {kUnknown, kUnknown, kUnknown, 6}));
    EXPECT_TRUE(gives(infer(DepthwiseConv2d{.multiplier = 2}, conv({1, 5, 5, 3}, kNoRank, kNoRank)),
                      {1, kUnknown, kUnknown, 6}));
    EXPECT_TRUE(gives(
            infer(DepthwiseConv2d(), conv({1, 5, 5, kUnknown}, {1, 3, 3, kUnknown}, {kUnknown})),
            {1, 3, 3, kUnknown}));
}

TEST(DepthwiseConv2dShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(
            rejects(infer(DepthwiseConv2d{.multiplier = 0}, conv({1, 5, 5, 3}, {1, 3, 3, 3}, {3})),
                    "the depth multiplier (0)"));
    EXPECT_TRUE(rejects(infer(DepthwiseConv2d(), conv({1, 5, 5, 3}, {2, 3, 3, 3}, {3})),
                        "first extent"));
    EXPECT_TRUE(rejects(infer(DepthwiseConv2d(), conv({1, 5, 5, 3}, {1, 3, 3, 6}, {6})),
                        "times the multiplier"));
    EXPECT_TRUE(rejects(infer(DepthwiseConv2d(), conv({1, 5, 5, 3}, {1, 3, 3, 3}, {6})), "bias"));
    EXPECT_TRUE(rejects(infer(DepthwiseConv2d(), conv({5, 3}, {1, 3, 3, 3}, {3})), "rank 4"));
    EXPECT_TRUE(rejects(infer(DepthwiseConv2d{.multiplier = std::numeric_limits<int32_t>::max()},
                              conv({1, 5, 5, 3}, kNoRank, kNoRank)),
                        "too large"));
}

TEST(DepthwiseConv2dShapes, WantScalesAlongTheLastAxis) {
    Question question = {
            .inputs = {bytes({1, 5, 5, 2}), perChannel({1, 3, 3, 2}, {1.0F, 2.0F}, 3), ints({2})},
            .output = bytes({})};
    EXPECT_TRUE(gives(infer(DepthwiseConv2d(), question), {1, 3, 3, 2}));
    question.inputs[1].quantization.channelDim = 0;
    EXPECT_TRUE(rejects(infer(DepthwiseConv2d(), question), "along axis 3"));
}

TEST(Conv2dShapes, DivideTheChannelsIntoGroups) {
    EXPECT_TRUE(
            gives(infer(Conv2d{.groups = 2}, conv({1, 5, 5, 6}, {4, 3, 3, 3}, {4})), {1, 3, 3, 4}));
    EXPECT_TRUE(rejects(infer(Conv2d{.groups = 2}, conv({1, 5, 5, 5}, {4, 3, 3, 3}, {4})),
                        "must be a multiple of 2"));
    EXPECT_TRUE(rejects(infer(Conv2d{.groups = 2}, conv({1, 5, 5, 6}, {3, 3, 3, 3}, {3})),
                        "must be a multiple of 2"));
    EXPECT_TRUE(
            rejects(infer(Conv2d{.groups = 2}, conv({1, 5, 5, 6}, {4, 3, 3, 6}, {4})), "depth"));
    EXPECT_TRUE(rejects(infer(Conv2d{.groups = 0}, conv({1, 5, 5, 6}, {4, 3, 3, 6}, {4})),
                        "the number of groups (0)"));
}

const Window2d kSame2 = {.padding = PaddingScheme::SAME, .strideH = 2, .strideW = 2};

Asking transposed(const Window2d& window, Shape x, Shape filter) {
    return Asking(TransposeConv2d{.window = window})
            .with(floats(x))
            .with(floats(filter))
            .with(floats(Shape::unknownRank()));
}

TEST(TransposeConv2dShapes, WithExplicitPaddingFollowFromTheInput) {
    const Window2d window = {
            .padding = PaddingScheme::EXPLICIT, .top = 1, .right = 2, .strideH = 2, .strideW = 3};
    EXPECT_TRUE(
            gives(transposed(window, {2, 4, 3, 5}, {6, 3, 3, 5}).without().shape(), {2, 8, 7, 6}));
    EXPECT_TRUE(gives(transposed(window, {0, kUnknown, 3, 5}, {6, 3, 3, 5}).without().shape(),
                      {0, kUnknown, 7, 6}));
}

TEST(TransposeConv2dShapes, TakeTheHeightAndWidthThatAreAskedFor) {
    EXPECT_TRUE(gives(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 5}).withList({1, 4, 5, 6}).shape(),
                      {1, 4, 5, 6}));
    EXPECT_TRUE(gives(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 5}).with(ints({4})).shape(),
                      {1, kUnknown, kUnknown, 6}));
}

TEST(TransposeConv2dShapes, RejectAnOutputThatTheInputDoesNotBelongTo) {
    EXPECT_TRUE(
            rejects(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 5}).withList({1, 5, 5, 6}).shape(),
                    "height: an output of 5 belongs to an input of 3, not 2"));
    EXPECT_TRUE(
            rejects(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 5}).withList({1, 4, -5, 6}).shape(),
                    "at least 0, not -5"));
    EXPECT_TRUE(rejects(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 5}).withList({4, 5, 6}).shape(),
                        "the output shape"));
}

TEST(TransposeConv2dShapes, HaveAnOutputShapeOrExplicitPadding) {
    EXPECT_TRUE(rejects(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 5}).without().shape(),
                        "explicit padding"));
    EXPECT_TRUE(rejects(transposed({.padding = PaddingScheme::EXPLICIT}, {1, 2, 3, 5}, {6, 3, 3, 5})
                                .withList({1, 4, 5, 6})
                                .shape(),
                        "explicit padding"));
}

TEST(TransposeConv2dShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(
            rejects(transposed(kSame2, {1, 2, 3, 5}, {6, 3, 3, 4}).withList({1, 4, 5, 6}).shape(),
                    "depth"));
    Window2d dilated = kSame2;
    dilated.dilationW = 2;
    EXPECT_TRUE(
            rejects(transposed(dilated, {1, 2, 3, 5}, {6, 3, 3, 5}).withList({1, 4, 5, 6}).shape(),
                    "no dilation"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
