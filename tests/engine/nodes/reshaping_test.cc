// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
const Shape kNoRank = Shape::unknownRank();

Result<Shape> reshape(Shape x, const std::vector<int32_t>& to) {
    return infer(Reshape(),
                 {.inputs = {floats(x), ints({static_cast<int32_t>(to.size())})}, .values = &to});
}

Result<Shape> pad(Shape x, const std::vector<int32_t>& paddings) {
    return infer(Pad(),
                 {.inputs = {floats(x), ints({static_cast<int32_t>(paddings.size() / 2), 2})},
                  .values = &paddings});
}

Result<Shape> concat(int32_t axis, const std::vector<Shape>& shapes) {
    Question question;
    for (const Shape& shape : shapes) {
        question.inputs.push_back(floats(shape));
    }
    return infer(Concat{.axis = axis}, question);
}

Result<Shape> transpose(Shape x, std::vector<int32_t> permutation) {
    return infer(Transpose{.permutation = std::move(permutation)}, {.inputs = {floats(x)}});
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
    EXPECT_EQ(reshape({1}, std::vector<int32_t>(9, 1)).status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(reshape({1}, std::vector<int32_t>(8, 1))->rank(), 8U);
}

TEST(ReshapeShapes, RejectsAnotherScale) {
    const std::vector<int32_t> to = {2};
    EXPECT_TRUE(rejects(infer(Reshape(), {.inputs = {bytes({2}, 0.5F), ints({1})},
                                          .output = bytes({}, 0.25F),
                                          .values = &to}),
                        "same scale"));
}

TEST(PadShapes, AddBeforeAndAfter) {
    EXPECT_TRUE(gives(pad({2, 3}, {1, 2, 0, 4}), {5, 7}));
    EXPECT_TRUE(gives(pad({0}, {1, 1}), {2}));
    EXPECT_TRUE(gives(pad({}, {}), {}));
}

TEST(PadShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(pad({kUnknown, 3}, {1, 2, 0, 4}), {kUnknown, 7}));
    EXPECT_TRUE(gives(pad(kNoRank, {1, 2, 0, 4}), {kUnknown, kUnknown}));
    EXPECT_TRUE(
            gives(infer(Pad(), {.inputs = {floats({2, 3}), ints({2, 2})}}), {kUnknown, kUnknown}));
    EXPECT_TRUE(
            gives(infer(Pad(), {.inputs = {floats({2, 3}), ints(kNoRank)}}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(infer(Pad(), {.inputs = {floats(kNoRank), ints({kUnknown, 2})}}), kNoRank));
}

TEST(PadShapes, RejectNegativeAndHugePaddings) {
    EXPECT_TRUE(rejects(pad({2, 3}, {1, -1, 0, 0}), "axis 0 is negative"));
    EXPECT_TRUE(rejects(pad({2, 3}, {0, 0, kMax, kMax}), "axis 1 is too large"));
}

TEST(PadShapes, RejectPaddingsOfAnotherForm) {
    EXPECT_TRUE(rejects(pad({2, 3}, {1, 1}), "rank"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2}), ints({1, 3})}}), "columns"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2}), ints({2})}}), "rank 2"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2}), floats({1, 2})}}), "INT32"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2})}}), "takes 2 inputs"));
    EXPECT_EQ(infer(Pad(), {.inputs = {floats(kNoRank), ints({9, 2})}}).status().code(),
              StatusCode::UNSUPPORTED);
}

TEST(PadShapes, RejectAnotherScale) {
    EXPECT_TRUE(rejects(
            infer(Pad(), {.inputs = {bytes({2}, 0.5F), ints({1, 2})}, .output = bytes({}, 0.25F)}),
            "same scale"));
}

TEST(ConcatShapes, AddAlongTheAxis) {
    EXPECT_TRUE(gives(concat(1, {{2, 3}, {2, 0}, {2, 4}}), {2, 7}));
    EXPECT_TRUE(gives(concat(0, {{2, 3}}), {2, 3}));
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
    EXPECT_TRUE(rejects(concat(-1, {{2, 3}}), "axis -1"));
    EXPECT_TRUE(rejects(concat(0, {}), "at least one"));
    EXPECT_TRUE(rejects(concat(0, {{kMax}, {kMax}}), "too long"));
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

TEST(TransposeShapes, RejectWhatIsNoPermutation) {
    EXPECT_TRUE(rejects(transpose({2, 3}, {0, 0}), "each of the 2 axes once"));
    EXPECT_TRUE(rejects(transpose({2, 3}, {0, 2}), "each of the 2 axes once"));
    EXPECT_TRUE(rejects(transpose({2, 3}, {-1, 0}), "each of the 2 axes once"));
    EXPECT_TRUE(rejects(transpose({2, 3}, {0}), "rank 1"));
    EXPECT_EQ(transpose(kNoRank, std::vector<int32_t>(9, 0)).status().code(),
              StatusCode::UNSUPPORTED);
    EXPECT_TRUE(rejects(infer(Transpose(), {.inputs = {}}), "takes 1 inputs"));
    EXPECT_TRUE(rejects(infer(Transpose{.permutation = {0}},
                              {.inputs = {bytes({2}, 0.5F)}, .output = bytes({}, 0.25F)}),
                        "same scale"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
