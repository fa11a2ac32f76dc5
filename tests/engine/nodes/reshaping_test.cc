// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Result<Shape> reshape(Shape x, const std::vector<int32_t>& to) {
    return infer(Reshape(),
                 {.inputs = {floats(x), ints({static_cast<int32_t>(to.size())})}, .values = &to});
}

Result<Shape> concat(int32_t axis, const std::vector<Shape>& shapes) {
    Question question;
    for (const Shape& shape : shapes) {
        question.inputs.push_back(floats(shape));
    }
    return infer(Concat{.axis = axis}, question);
}

Result<Shape> transpose(Shape x, std::vector<int32_t> permutation) {
    return Asking(Transpose()).with(floats(x)).withList(std::move(permutation)).shape();
}

TEST(ReshapeShapes, AreWhatTheShapeSays) {
    EXPECT_TRUE(gives(reshape({2, 6}, {3, 4}), {3, 4}));
    EXPECT_TRUE(gives(reshape({1}, {}), {}));
    EXPECT_TRUE(gives(reshape({}, {1, 1}), {1, 1}));
}

TEST(ReshapeShapes, ResolveOneOpenExtent) {
    EXPECT_TRUE(gives(reshape({2, 6}, {3, -1}), {3, 4}));
    EXPECT_TRUE(gives(reshape({2, 6}, {-1}), {12}));
    EXPECT_TRUE(gives(reshape({0, 6}, {-1, 3}), {0, 3}));
    EXPECT_TRUE(gives(reshape({0, 6}, {7, 0}), {7, 0}));
}

TEST(ReshapeShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(reshape({kUnknown, 6}, {3, -1}), {3, kUnknown}));
    EXPECT_TRUE(gives(reshape(kNoRank, {3, 4}), {3, 4}));
    EXPECT_TRUE(
            gives(infer(Reshape(), {.inputs = {floats({2, 6}), ints({2})}}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(infer(Reshape(), {.inputs = {floats({2, 6}), ints({kUnknown})}}), kNoRank));
    EXPECT_TRUE(gives(infer(Reshape(), {.inputs = {floats({2, 6}), ints(kNoRank)}}), kNoRank));
}

TEST(ReshapeShapes, RejectsOtherElementCounts) {
    EXPECT_TRUE(rejects(reshape({2, 6}, {3, 5}), "12 elements can't take the shape [3, 5]"));
    EXPECT_TRUE(rejects(reshape({2, 6}, {5, -1}), "12 elements"));
    EXPECT_TRUE(rejects(reshape({0, 6}, {-1, 0}), "0 elements"));
    EXPECT_TRUE(rejects(reshape({2, 6}, {kMax, kMax}), "elements"));
    EXPECT_TRUE(rejects(reshape({2, 6}, {}), "12 elements"));
}

TEST(ReshapeShapes, RejectsNegativeExtents) {
    EXPECT_TRUE(rejects(reshape({2, 6}, {-1, -1}), "one -1"));
    EXPECT_TRUE(rejects(reshape({2, 6}, {-2, 6}), "one -1"));
    EXPECT_TRUE(rejects(reshape(kNoRank, {-2, 6}), "one -1"));
}

TEST(ReshapeShapes, RejectsShapesThatAreNoVectorOfInt32) {
    EXPECT_TRUE(rejects(infer(Reshape(), {.inputs = {floats({2}), floats({1})}}), "must be INT32"));
    EXPECT_TRUE(rejects(infer(Reshape(), {.inputs = {floats({2}), ints({1, 1})}}), "rank 1"));
    EXPECT_TRUE(rejects(infer(Reshape(), {.inputs = {floats({2})}}), "takes 2 inputs"));
}

TEST(ReshapeShapes, AboveTheRankLimitAreUnsupported) {
    EXPECT_EQ(reshape({1}, std::vector<int32_t>(kMaxRank + 1, 1)).status().code(),
              StatusCode::UNSUPPORTED);
    EXPECT_EQ(reshape({1}, std::vector<int32_t>(kMaxRank, 1))->rank(), kMaxRank);
}

TEST(ReshapeShapes, RejectsAnotherScale) {
    const std::vector<int32_t> to = {2};
    EXPECT_TRUE(rejects(infer(Reshape(), {.inputs = {bytes({2}, 0.5F), ints({1})},
                                          .output = bytes({}, 0.25F),
                                          .values = &to}),
                        "same scale"));
}

TEST(ConcatShapes, AddAlongTheAxis) {
    EXPECT_TRUE(gives(concat(1, {{2, 3}, {2, 0}, {2, 4}}), {2, 7}));
    EXPECT_TRUE(gives(concat(0, {{2, 3}}), {2, 3}));
    EXPECT_TRUE(gives(concat(-1, {{2, 3}, {2, 4}}), {2, 7}));
}

TEST(ConcatShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(concat(1, {{kUnknown, 3}, {2, kUnknown}}), {2, kUnknown}));
    EXPECT_TRUE(gives(concat(0, {{kUnknown, 3}, {2, kUnknown}}), {kUnknown, 3}));
    EXPECT_TRUE(gives(concat(0, {{2, 3}, kNoRank}), {kUnknown, 3}));
    EXPECT_TRUE(gives(concat(5, {kNoRank, kNoRank}), kNoRank));
}

TEST(ConcatShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(concat(1, {{2, 3}, {3, 3}}), "input 1"));
    EXPECT_TRUE(rejects(concat(1, {{2, 3}, {2, 3, 1}}), "input 1"));
    EXPECT_TRUE(rejects(concat(2, {{2, 3}, {2, 3}}), "axis 2"));
    EXPECT_TRUE(rejects(concat(-3, {{2, 3}}), "axis -3"));
    EXPECT_TRUE(rejects(concat(0, {}), "at least one"));
    EXPECT_TRUE(rejects(concat(0, {{kMax}, {kMax}}), "too large"));
    EXPECT_TRUE(rejects(infer(Concat(), {.inputs = {floats({2}), ints({2})}}), "input 1"));
}

TEST(ConcatShapes, AllowAnotherScale) {
    EXPECT_TRUE(gives(infer(Concat(), {.inputs = {bytes({2}, 0.5F), bytes({3}, 0.1F)},
                                       .output = bytes({}, 0.25F)}),
                      {5}));
}

TEST(TransposeShapes, FollowThePermutation) {
    EXPECT_TRUE(gives(transpose({2, 3, 4}, {2, 0, 1}), {4, 2, 3}));
    EXPECT_TRUE(gives(transpose({}, {}), {}));
    EXPECT_TRUE(gives(transpose({kUnknown, 3}, {1, 0}), {3, kUnknown}));
    EXPECT_TRUE(gives(transpose(kNoRank, {1, 0}), {kUnknown, kUnknown}));
}

TEST(TransposeShapes, WithoutAPermutationAreReversed) {
    EXPECT_TRUE(gives(Asking(Transpose()).with(floats({2, 3, 4})).without().shape(), {4, 3, 2}));
    EXPECT_TRUE(gives(Asking(Transpose()).with(floats(kNoRank)).without().shape(), kNoRank));
}

TEST(TransposeShapes, OfAPermutationToBeComputedHaveItsLength) {
    EXPECT_TRUE(gives(Asking(Transpose()).with(floats(kNoRank)).with(ints({2})).shape(),
                      {kUnknown, kUnknown}));
    EXPECT_TRUE(
            gives(Asking(Transpose()).with(floats(kNoRank)).with(ints(kNoRank)).shape(), kNoRank));
}

TEST(TransposeShapes, RejectWhatIsNoPermutation) {
    EXPECT_TRUE(rejects(transpose({2, 3}, {0, 0}), "each of the 2 axes once"));
    EXPECT_TRUE(rejects(transpose({2, 3}, {0, 2}), "each of the 2 axes once"));
    EXPECT_TRUE(rejects(transpose({2, 3}, {0, -1}), "each of the 2 axes once"));
    EXPECT_TRUE(rejects(transpose({2, 3}, {0}), "the length of the permutation"));
    EXPECT_EQ(transpose(kNoRank, std::vector<int32_t>(kMaxRank + 1, 0)).status().code(),
              StatusCode::UNSUPPORTED);
    EXPECT_TRUE(rejects(Asking(Transpose()).with(floats({2})).with(floats({1})).shape(), "INT32"));
    EXPECT_TRUE(rejects(
            Asking(Transpose()).with(bytes({2}, 0.5F)).without().giving(bytes({}, 0.25F)).shape(),
            "same scale"));
}

Asking squeeze(Shape x) {
    return Asking(Squeeze()).with(floats(x));
}

TEST(SqueezeShapes, LoseTheAxesThatAreNamed) {
    EXPECT_TRUE(gives(squeeze({1, 2, 1, 3}).withList({-2}).shape(), {1, 2, 3}));
    EXPECT_TRUE(gives(squeeze({1, kUnknown, 0}).withList({0, 1, 0}).shape(), {0}));
    EXPECT_TRUE(rejects(squeeze({1, 2}).withList({1}).shape(), "has not the extent 1"));
    EXPECT_TRUE(rejects(squeeze({1, 2}).withList({2}).shape(), "axis 2"));
}

TEST(SqueezeShapes, WithoutNamesLoseEveryOne) {
    EXPECT_TRUE(gives(squeeze({1, 2, 1, 3}).without().shape(), {2, 3}));
    EXPECT_TRUE(gives(squeeze({1, 2, 1}).withList({}).shape(), {2}));
    EXPECT_TRUE(gives(squeeze({1, kUnknown}).without().shape(), kNoRank));
}

TEST(SqueezeShapes, OfOneElementAreAList) {
    EXPECT_TRUE(gives(squeeze({1, 1}).without().shape(), {1}));
    EXPECT_TRUE(gives(squeeze({1, 1}).withList({0, 1}).shape(), {1}));
    EXPECT_TRUE(gives(squeeze({}).without().shape(), {}));
}

TEST(SqueezeShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(squeeze(kNoRank).withList({0}).shape(), kNoRank));
    EXPECT_TRUE(gives(squeeze({1, 2}).with(ints({1})).shape(), kNoRank));
}

Result<Shape> expand(int32_t axis, Shape x) {
    return infer(ExpandDims{.axis = axis}, {.inputs = {floats(x)}});
}

TEST(ExpandDimsShapes, GainAOne) {
    EXPECT_TRUE(gives(expand(0, {2, 3}), {1, 2, 3}));
    EXPECT_TRUE(gives(expand(2, {2, kUnknown}), {2, kUnknown, 1}));
    EXPECT_TRUE(gives(expand(-1, {2, 3}), {2, 3, 1}));
    EXPECT_TRUE(gives(expand(-3, {2, 3}), {1, 2, 3}));
    EXPECT_TRUE(gives(expand(7, kNoRank), kNoRank));
}

TEST(ExpandDimsShapes, RejectAxesAndRanksOutOfRange) {
    EXPECT_TRUE(rejects(expand(3, {2, 3}), "axis 3"));
    EXPECT_TRUE(rejects(expand(-4, {2, 3}), "axis -4"));
    EXPECT_EQ(expand(0, ones(kMaxRank)).status().code(), StatusCode::UNSUPPORTED);
}

Asking split(int32_t axis, Shape x, int parts) {
    Asking asking = Asking(Split{.axis = axis}).with(floats(x));
    for (int i = 0; i < parts; ++i) {
        asking.giving(floats(kNoRank));
    }
    return asking;
}

TEST(SplitShapes, AreEqualParts) {
    EXPECT_TRUE(gives(split(-1, {2, 6}, 3).shapes(), {{2, 2}, {2, 2}, {2, 2}}));
    EXPECT_TRUE(gives(split(0, {0, 6}, 2).shapes(), {{0, 6}, {0, 6}}));
    EXPECT_TRUE(gives(split(0, {kUnknown, 6}, 2).shapes(), {{kUnknown, 6}, {kUnknown, 6}}));
    EXPECT_TRUE(gives(split(0, kNoRank, 1).shapes(), std::vector<Shape>{kNoRank}));
}

TEST(SplitShapes, RejectUnequalPartsAndOtherElements) {
    EXPECT_TRUE(rejects(split(1, {2, 5}, 3).shapes(), "multiple of 3"));
    EXPECT_TRUE(rejects(split(2, {2, 6}, 3).shapes(), "axis 2"));
    EXPECT_TRUE(rejects(Asking(Split())
                                .with(bytes({2}, 0.5F))
                                .giving(bytes({}, 0.5F))
                                .giving(bytes({}, 0.25F))
                                .shape(),
                        "same scale"));
}

TEST(PackShapes, StackTheInputs) {
    EXPECT_TRUE(
            gives(infer(Pack{.axis = 0}, {.inputs = {floats({2, 3}), floats({2, 3})}}), {2, 2, 3}));
    EXPECT_TRUE(gives(infer(Pack{.axis = -1},
                            {.inputs = {floats({2, kUnknown}), floats({2, 3}), floats(kNoRank)}}),
                      {2, 3, 3}));
    EXPECT_TRUE(gives(infer(Pack{.axis = 0}, {.inputs = {floats({})}}), {1}));
}

TEST(PackShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(infer(Pack(), {.inputs = {floats({2}), floats({3})}}), "input 1"));
    EXPECT_TRUE(rejects(infer(Pack(), {.inputs = {bytes({2}, 0.5F), bytes({2}, 0.25F)},
                                       .output = bytes({}, 0.5F)}),
                        "same scale"));
    EXPECT_TRUE(rejects(infer(Pack(), {.inputs = {}}), "at least one"));
    EXPECT_TRUE(rejects(infer(Pack{.axis = 2}, {.inputs = {floats({2})}}), "axis 2"));
}

TEST(ReverseShapes, AreTheInputs) {
    EXPECT_TRUE(gives(Asking(Reverse()).with(floats({2, 3})).withList({-1}).shape(), {2, 3}));
    EXPECT_TRUE(gives(Asking(Reverse()).with(floats({2, 3})).with(ints({1})).shape(), {2, 3}));
    EXPECT_TRUE(rejects(Asking(Reverse()).with(floats({2, 3})).withList({2}).shape(), "axis 2"));
    EXPECT_TRUE(rejects(Asking(Reverse()).with(floats({2})).withList({0, 0}).shape(), "the axis"));
}

Result<Shape> shuffle(const ChannelShuffle& node, Shape x) {
    return infer(node, {.inputs = {floats(x)}});
}

TEST(ChannelShuffleShapes, AreTheInputs) {
    EXPECT_TRUE(gives(shuffle({.groups = 2}, {1, 6}), {1, 6}));
    EXPECT_TRUE(gives(shuffle({.groups = 2, .axis = 0}, {kUnknown, 5}), {kUnknown, 5}));
    EXPECT_TRUE(rejects(shuffle({.groups = 2}, {6, 1}), "multiple of 2"));
    EXPECT_TRUE(rejects(shuffle({.groups = 0}, {6, 1}), "groups (0)"));
    EXPECT_TRUE(rejects(shuffle({.axis = 2}, {6, 1}), "axis 2"));
}

Asking fill() {
    return Asking(Fill());
}

TEST(FillShapes, AreWhatIsAskedFor) {
    const TensorType value = floats({});
    EXPECT_TRUE(gives(fill().withList({2, 0}).with(value).shape(), {2, 0}));
    EXPECT_TRUE(gives(fill().withList({}).with(value).shape(), {}));
    EXPECT_TRUE(gives(fill().with(ints({2})).with(value).shape(), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(fill().with(ints({kUnknown})).with(value).shape(), kNoRank));
    EXPECT_TRUE(rejects(fill().withList({2, -1}).with(value).shape(), "at least 0, not -1"));
    EXPECT_EQ(fill().with(ints({kMostAxes + 1})).with(value).shape().status().code(),
              StatusCode::UNSUPPORTED);
}

TEST(FillShapes, TakeOneElementOfTheOutputsType) {
    EXPECT_TRUE(gives(fill().withList({2}).with(ints({1})).giving(ints({})).shape(), {2}));
    EXPECT_TRUE(gives(fill().withList({2}).with(floats(kNoRank)).shape(), {2}));
    EXPECT_TRUE(rejects(fill().withList({2}).with(floats({2})).shape(), "must be one element"));
    EXPECT_TRUE(rejects(fill().withList({2}).with(floats({0})).shape(), "must be one element"));
    EXPECT_TRUE(
            rejects(fill().withList({2}).with(floats({})).giving(ints({})).shape(), "the value"));
    EXPECT_TRUE(
            rejects(fill().withList({2}).with(bytes({})).giving(bytes({})).shape(), "the output"));
}

TEST(RankShapes, AreScalars) {
    EXPECT_TRUE(gives(Asking(Rank()).with(bytes(kNoRank)).giving(ints(kNoRank)).shape(), {}));
    EXPECT_TRUE(rejects(Asking(Rank()).with(bytes(kNoRank)).shape(), "must be INT32"));
}

// Scales of channels would not stay with their axis.
TEST(ReshapingShapes, MoveAnyTypeThatIsNotPerChannel) {
    EXPECT_EQ(acceptedAlone(Concat()), kMovableNames);
    EXPECT_EQ(acceptedAlone(Split()), kMovableNames);
    EXPECT_EQ(acceptedAlone(Pack()), kMovableNames);
    EXPECT_EQ(acceptedAlone(ExpandDims()), kMovableNames);
    EXPECT_EQ(acceptedAlone(ChannelShuffle()), kMovableNames);
    for (const NodeDescriptor& node :
         {NodeDescriptor(Reshape()), NodeDescriptor(Squeeze()), NodeDescriptor(Transpose()),
          NodeDescriptor(Reverse()), NodeDescriptor(Tile()), NodeDescriptor(Gather())}) {
        EXPECT_EQ(accepted([&](DataType type) {
                      return Asking(node)
                              .with(typed(type, {2}))
                              .with(ints({1}))
                              .giving(typed(type, {2}))
                              .shape();
                  }),
                  kMovableNames)
                << toString(node);
    }
}

}  // namespace
}  // namespace halyard::engine::nodes_test
