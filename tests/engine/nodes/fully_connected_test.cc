// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Result<Shape> connect(Shape x, Shape weights, Shape bias) {
    return infer(FullyConnected(), {.inputs = {floats(x), floats(weights), floats(bias)}});
}

TEST(FullyConnectedShapes, AreBatchByUnits) {
    EXPECT_TRUE(gives(connect({3, 5}, {2, 5}, {2}), {3, 2}));
}

TEST(FullyConnectedShapes, SeeAnyInputAsRowsOfTheWeightsLength) {
    EXPECT_TRUE(gives(connect({4, 1, 5, 1}, {2, 10}, {2}), {2, 2}));
    EXPECT_TRUE(gives(connect({2, 10}, {3, 5}, {3}), {4, 3}));
}

TEST(FullyConnectedShapes, AcceptNoRowsAndEmptyRows) {
    EXPECT_TRUE(gives(connect({0, 5}, {2, 5}, {2}), {0, 2}));
    EXPECT_TRUE(gives(connect({0, 3, 5}, {2, 5}, {2}), {0, 2}));
    EXPECT_TRUE(gives(connect({3, 0}, {2, 0}, {2}), {3, 2}));
    EXPECT_TRUE(gives(connect({3, 5}, {0, 5}, {0}), {3, 0}));
}

TEST(FullyConnectedShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(connect(kNoRank, {2, 5}, {2}), {kUnknown, 2}));
    EXPECT_TRUE(gives(connect({kUnknown, 5}, {2, 5}, {2}), {kUnknown, 2}));
    EXPECT_TRUE(gives(connect({3, kUnknown}, {2, 5}, {2}), {kUnknown, 2}));
    EXPECT_TRUE(gives(connect({3, 5}, {2, kUnknown}, {2}), {kUnknown, 2}));
    EXPECT_TRUE(gives(connect({3, 5}, kNoRank, kNoRank), {kUnknown, kUnknown}));
}

TEST(FullyConnectedShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(connect({5}, {2, 5}, {2}), "rank 2 or more"));
    EXPECT_TRUE(rejects(connect({3, 4}, {2, 5}, {2}), "no rows of 5"));
    EXPECT_TRUE(rejects(connect({3, 4, 1}, {2, 0}, {2}), "no rows of 0"));
    EXPECT_TRUE(rejects(connect({3, 5}, {2, 5, 1}, {2}), "the weights must have rank 2"));
    EXPECT_TRUE(rejects(connect({3, 5}, {2, 5}, {3}), "the bias"));
    EXPECT_TRUE(rejects(connect({3, 5}, {2, 5}, {1, 2}), "the bias must have rank 1"));
}

TEST(FullyConnectedShapes, RejectMissingInputs) {
    EXPECT_TRUE(rejects(infer(FullyConnected(), {.inputs = {floats({3, 5}), floats({2, 5})}}),
                        "takes 3 inputs"));
}

Result<Shape> multiply(const BatchMatmul& node, Shape a, Shape b) {
    return infer(node, {.inputs = {floats(a), floats(b)}});
}

TEST(BatchMatmulShapes, AreRowsByColumns) {
    EXPECT_TRUE(gives(multiply({}, {2, 3}, {3, 4}), {2, 4}));
    EXPECT_TRUE(gives(multiply({.transposeA = true}, {3, 2}, {3, 4}), {2, 4}));
    EXPECT_TRUE(gives(multiply({.transposeB = true}, {2, 3}, {4, 3}), {2, 4}));
    EXPECT_TRUE(gives(multiply({}, {0, 3}, {3, 4}), {0, 4}));
}

TEST(BatchMatmulShapes, BroadcastTheLeadingExtents) {
    EXPECT_TRUE(gives(multiply({}, {5, 1, 2, 3}, {1, 6, 3, 4}), {5, 6, 2, 4}));
    EXPECT_TRUE(rejects(multiply({}, {5, 2, 3}, {6, 3, 4}), "broadcast"));
}

TEST(BatchMatmulShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(multiply({}, {2, kUnknown}, {3, 4}), {2, 4}));
    EXPECT_TRUE(gives(multiply({}, kNoRank, {5, 3, 4}), {5, kUnknown, 4}));
    EXPECT_TRUE(gives(multiply({}, kNoRank, kNoRank), kNoRank));
}

TEST(BatchMatmulShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(multiply({}, {2, 3}, {4, 3}), "the columns of a (3)"));
    EXPECT_TRUE(rejects(multiply({}, {2, 3}, {1, 3, 4}), "rank 2"));
    EXPECT_TRUE(rejects(multiply({}, {3}, {3}), "rank 2 or more"));
}

TEST(BatchMatmulShapes, TakeNumbers) {
    EXPECT_EQ(accepted([](DataType type) {
                  return infer(BatchMatmul(), {.inputs = {typed(type, {2, 2}), typed(type, {2, 2})},
                                               .output = typed(type, {})});
              }),
              kNumberNames);
}

}  // namespace
}  // namespace halyard::engine::nodes_test
