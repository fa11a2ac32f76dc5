// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

TEST(BroadcastShapes, StretchesOnesAndPrepends) {
    EXPECT_TRUE(gives(broadcastShapes({2, 1, 3}, {4, 1}), {2, 4, 3}));
    EXPECT_TRUE(gives(broadcastShapes({4, 1}, {2, 1, 3}), {2, 4, 3}));
    EXPECT_TRUE(gives(broadcastShapes({}, {5}), {5}));
    EXPECT_TRUE(gives(broadcastShapes({}, {}), {}));
}

TEST(BroadcastShapes, ZeroIsAnOrdinaryExtent) {
    EXPECT_TRUE(gives(broadcastShapes({0, 3}, {1, 3}), {0, 3}));
    EXPECT_TRUE(rejects(broadcastShapes({0}, {3}), "can't be broadcast"));
}

TEST(BroadcastShapes, AnExtentAboveOneDecidesForAnUnknownOne) {
    EXPECT_TRUE(gives(broadcastShapes({kUnknown, 3}, {5, kUnknown}), {5, 3}));
    EXPECT_TRUE(gives(broadcastShapes({kUnknown, 1}, {1, kUnknown}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(broadcastShapes({kUnknown}, {0}), {0}));
    EXPECT_TRUE(gives(broadcastShapes(Shape::unknownRank(), {3}), Shape::unknownRank()));
}

TEST(BroadcastShapes, RejectsDifferentExtents) {
    EXPECT_TRUE(rejects(broadcastShapes({2, 3}, {2, 4}), "[2, 3] and [2, 4]"));
}

TEST(ActivateShapes, AreTheInputs) {
    EXPECT_TRUE(gives(infer(Activate(), {.inputs = {floats({2, kUnknown})}}), {2, kUnknown}));
    EXPECT_TRUE(gives(infer(Activate(), {.inputs = {floats(Shape::unknownRank())}}),
                      Shape::unknownRank()));
}

TEST(ActivateShapes, RejectsOtherElementTypes) {
    EXPECT_TRUE(rejects(infer(Activate(), {.inputs = {bytes({2})}}), "same element type"));
}

TEST(ActivateShapes, AllowAnotherScale) {
    EXPECT_TRUE(gives(
            infer(Activate(), {.inputs = {bytes({2}, 0.5F)}, .output = bytes({}, 1.0F / 256, 0)}),
            {2}));
}

TEST(ActivateShapes, RejectsWrongCountsAndOmittedInputs) {
    EXPECT_TRUE(rejects(infer(Activate(), {.inputs = {}}), "takes 1 inputs"));
    EXPECT_TRUE(
            rejects(infer(Activate(), {.inputs = {floats({1}), floats({1})}}), "takes 1 inputs"));
    const std::array<KnownInput, 1> omitted = {};
    std::array<TensorType, 1> outputs = {floats({})};
    EXPECT_FALSE(inferShapes(Activate(), omitted, outputs).ok());
    EXPECT_FALSE(inferShapes(Activate(), omitted, {}).ok());
}

TEST(BinaryShapes, Broadcast) {
    EXPECT_TRUE(gives(infer(Binary(), {.inputs = {floats({2, 1}), floats({3})}}), {2, 3}));
}

TEST(BinaryShapes, RejectsMixedTypes) {
    EXPECT_TRUE(rejects(infer(Binary(), {.inputs = {floats({2}), ints({2})}}), "input 1"));
    EXPECT_TRUE(rejects(infer(Binary(), {.inputs = {floats({2}), floats({2})}, .output = ints({})}),
                        "the output"));
    EXPECT_TRUE(rejects(infer(Binary(), {.inputs = {floats({2}), floats({3})}}), "broadcast"));
}

TEST(BinaryShapes, RejectsAnActivatedInt32) {
    const Question question = {.inputs = {ints({2}), ints({2})}, .output = ints({})};
    EXPECT_TRUE(gives(infer(Binary(), question), {2}));
    EXPECT_TRUE(rejects(infer(Binary{.activation = Activation::RELU}, question), "no activation"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
