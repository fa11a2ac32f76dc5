// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Result<Shape> softmax(float beta, int32_t axis, Shape x) {
    return infer(Softmax{.beta = beta, .axis = axis}, {.inputs = {floats(x)}});
}

TEST(SoftmaxShapes, AreTheInputs) {
    EXPECT_TRUE(gives(softmax(1.0F, 1, {2, 3}), {2, 3}));
    EXPECT_TRUE(gives(softmax(1.0F, -2, {2, 3}), {2, 3}));
    EXPECT_TRUE(gives(softmax(1.0F, 0, {0, kUnknown}), {0, kUnknown}));
    EXPECT_TRUE(gives(softmax(1.0F, 4, Shape::unknownRank()), Shape::unknownRank()));
}

TEST(SoftmaxShapes, RejectAxesOutOfRange) {
    EXPECT_TRUE(rejects(softmax(1.0F, 2, {2, 3}), "axis 2"));
    EXPECT_TRUE(rejects(softmax(1.0F, -3, {2, 3}), "axis -3"));
    EXPECT_TRUE(rejects(softmax(1.0F, 0, {}), "axis 0"));
}

TEST(SoftmaxShapes, RejectBetasThatAreNotPositive) {
    for (const float beta : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity()}) {
        EXPECT_TRUE(rejects(softmax(beta, 1, {2, 3}), "beta must be positive"));
    }
}

TEST(SoftmaxShapes, RejectOtherTypesAndCounts) {
    EXPECT_TRUE(rejects(infer(Softmax(), {.inputs = {bytes({2})}}), "same element type"));
    EXPECT_TRUE(rejects(infer(Softmax(), {.inputs = {}}), "takes 1 inputs"));
}

TEST(NormalizationShapes, TakeTheTypesThatTheyAreDefinedFor) {
    EXPECT_EQ(acceptedAlone(Softmax()), kRealNames);
    EXPECT_EQ(acceptedAlone(L2Normalize()), kRealNames);
    EXPECT_EQ(acceptedAlone(LogSoftmax()), kFloatNames);
    EXPECT_EQ(acceptedAlone(LocalResponseNormalize()), kFloatNames);
    EXPECT_EQ(acceptedAlone(InstanceNormalize(), {1, 2, 2, 1}), kFloatNames);
}

TEST(NormalizationShapes, RejectAxesOutOfRange) {
    const Question question = {.inputs = {floats({2, 3})}};
    EXPECT_TRUE(rejects(infer(L2Normalize{.axis = 2}, question), "axis 2"));
    EXPECT_TRUE(rejects(infer(LogSoftmax{.axis = -3}, question), "axis -3"));
    EXPECT_TRUE(rejects(infer(LocalResponseNormalize{.axis = 2}, question), "axis 2"));
    EXPECT_TRUE(gives(infer(L2Normalize{.axis = 0}, question), {2, 3}));
}

TEST(NormalizationShapes, RejectAttributesOutOfRange) {
    EXPECT_TRUE(rejects(infer(LogSoftmax{.beta = 0.0F}, {.inputs = {floats({2})}}), "beta"));
    EXPECT_TRUE(rejects(infer(LocalResponseNormalize{.radius = -1}, {.inputs = {floats({2})}}),
                        "radius"));
}

TEST(InstanceNormalizeShapes, AreThoseOfFeatureMaps) {
    EXPECT_TRUE(
            gives(infer(InstanceNormalize(), {.inputs = {floats({0, 2, 3, 4})}}), {0, 2, 3, 4}));
    EXPECT_TRUE(rejects(infer(InstanceNormalize(), {.inputs = {floats({2, 3, 4})}}), "rank 4"));
}

Result<Shape> layerNormalize(int32_t axis, Shape x, Shape gamma, Shape beta) {
    return infer(LayerNormalize{.axis = axis},
                 {.inputs = {floats(x), floats(gamma), floats(beta)}});
}

TEST(LayerNormalizeShapes, AreTheInputs) {
    EXPECT_TRUE(gives(layerNormalize(-1, {2, 3}, {3}, {1, 3}), {2, 3}));
    EXPECT_TRUE(gives(layerNormalize(1, {2, 3, 4}, {3, 4}, {3, 4}), {2, 3, 4}));
    EXPECT_TRUE(gives(layerNormalize(-1, {kUnknown, 3}, {3}, {kUnknown}), {kUnknown, 3}));
    EXPECT_TRUE(gives(Asking(LayerNormalize()).with(floats({2, 3})).shape(), {2, 3}));
    EXPECT_TRUE(gives(Asking(LayerNormalize()).with(floats(Shape::unknownRank())).shape(),
                      Shape::unknownRank()));
}

TEST(LayerNormalizeShapes, RejectWeightsThatAreNoRow) {
    EXPECT_TRUE(rejects(layerNormalize(-1, {2, 3}, {2}, {3}), "gamma"));
    EXPECT_TRUE(rejects(layerNormalize(-1, {2, 3}, {3}, {1}), "beta"));
    EXPECT_TRUE(rejects(layerNormalize(-1, {2, 3}, {2, 3}, {3}), "gamma"));
    EXPECT_TRUE(rejects(layerNormalize(-1, {2, 3}, {1, 1, 3}, {3}), "rank 3"));
    EXPECT_TRUE(rejects(layerNormalize(1, {2, 3, 4}, {4}, {3, 4}), "rank 1"));
}

TEST(LayerNormalizeShapes, RejectOtherAxesNumbersAndTypes) {
    EXPECT_TRUE(rejects(layerNormalize(2, {2, 3}, {3}, {3}), "axis 2"));
    EXPECT_TRUE(rejects(Asking(LayerNormalize{.epsilon = std::numeric_limits<float>::infinity()})
                                .with(floats({2, 3}))
                                .shape(),
                        "epsilon"));
    EXPECT_TRUE(rejects(Asking(LayerNormalize()).with(bytes({2, 3})).giving(bytes({})).shape(),
                        "FLOAT32 or FLOAT16"));
    EXPECT_TRUE(rejects(Asking(LayerNormalize()).with(floats({2, 3})).with(bytes({3})).shape(),
                        "gamma"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
