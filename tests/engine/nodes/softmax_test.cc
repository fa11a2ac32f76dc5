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
    EXPECT_TRUE(gives(softmax(1.0F, 0, {0, kUnknown}), {0, kUnknown}));
    EXPECT_TRUE(gives(softmax(1.0F, 4, Shape::unknownRank()), Shape::unknownRank()));
}

TEST(SoftmaxShapes, RejectAxesOutOfRange) {
    EXPECT_TRUE(rejects(softmax(1.0F, 2, {2, 3}), "axis 2"));
    EXPECT_TRUE(rejects(softmax(1.0F, -1, Shape::unknownRank()), "axis -1"));
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

}  // namespace
}  // namespace halyard::engine::nodes_test
