// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Result<Shape> pool(const Pool2d& node, Shape x) {
    return infer(node, {.inputs = {floats(x)}});
}

TEST(Pool2dShapes, KeepTheDepth) {
    EXPECT_TRUE(gives(pool({.window = {.strideH = 2, .strideW = 2}, .filterH = 2, .filterW = 2},
                           {2, 4, 5, 3}),
                      {2, 2, 2, 3}));
    EXPECT_TRUE(gives(pool({.window = {.padding = PaddingScheme::SAME}, .filterH = 3, .filterW = 3},
                           {1, 4, 5, 3}),
                      {1, 4, 5, 3}));
}

TEST(Pool2dShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(
            gives(pool({}, {kUnknown, 4, kUnknown, kUnknown}), {kUnknown, 4, kUnknown, kUnknown}));
    EXPECT_TRUE(gives(pool({}, Shape::unknownRank()), {kUnknown, kUnknown, kUnknown, kUnknown}));
}

TEST(Pool2dShapes, AcceptEmptyBatchesAndDepths) {
    EXPECT_TRUE(gives(pool({.filterH = 2, .filterW = 2}, {0, 4, 4, 0}), {0, 3, 3, 0}));
    EXPECT_TRUE(gives(pool({.window = {.padding = PaddingScheme::SAME}, .filterH = 2, .filterW = 2},
                           {1, 0, 4, 1}),
                      {1, 0, 4, 1}));
}

TEST(Pool2dShapes, RejectWindowsWithoutElements) {
    const Window2d deep = {.padding = PaddingScheme::EXPLICIT, .top = 2};
    EXPECT_TRUE(rejects(pool({.window = deep, .filterH = 2, .filterW = 2}, {1, 4, 4, 1}),
                        "smaller than the filter"));
    const Window2d wide = {.padding = PaddingScheme::EXPLICIT, .right = 3};
    EXPECT_TRUE(rejects(pool({.window = wide, .filterH = 3, .filterW = 3}, {1, 4, 4, 1}),
                        "smaller than the filter"));
    const Window2d empty = {.padding = PaddingScheme::EXPLICIT, .top = 1, .bottom = 1};
    EXPECT_TRUE(rejects(pool({.window = empty, .filterH = 2, .filterW = 2}, {1, 0, 4, 1}),
                        "no elements to pool"));
}

TEST(Pool2dShapes, RejectAttributesOutOfRange) {
    EXPECT_TRUE(rejects(pool({.filterH = 0}, {1, 4, 4, 1}), "must be positive"));
    EXPECT_TRUE(rejects(pool({.filterW = -1}, {1, 4, 4, 1}), "must be positive"));
    EXPECT_TRUE(rejects(pool({.window = {.dilationH = 2}}, {1, 4, 4, 1}), "no dilation"));
    EXPECT_TRUE(rejects(pool({.window = {.strideH = 0}}, {1, 4, 4, 1}), "must be positive"));
    EXPECT_TRUE(rejects(pool({.filterH = 5}, {1, 4, 4, 1}), "does not fit"));
    EXPECT_TRUE(rejects(pool({}, {4, 4, 1}), "rank 4"));
}

TEST(Pool2dShapes, MaximaKeepTheirScaleAndAveragesNeedNot) {
    const Question question = {.inputs = {bytes({1, 4, 4, 1}, 0.5F)}, .output = bytes({}, 0.25F)};
    EXPECT_TRUE(gives(infer(Pool2d(), question), {1, 4, 4, 1}));
    EXPECT_TRUE(rejects(infer(Pool2d{.function = Pool2d::Function::MAX}, question), "same scale"));
    EXPECT_TRUE(rejects(infer(Pool2d(), {.inputs = {bytes({1, 4, 4, 1})}}), "same element type"));
    EXPECT_TRUE(rejects(infer(Pool2d(), {.inputs = {}}), "takes 1 inputs"));
}

TEST(Pool2dShapes, TakeTheTypesThatTheFunctionIsDefinedFor) {
    using Function = Pool2d::Function;
    EXPECT_EQ(acceptedAlone(Pool2d{.function = Function::AVERAGE}, {1, 2, 2, 1}), kRealNames);
    EXPECT_EQ(acceptedAlone(Pool2d{.function = Function::MAX}, {1, 2, 2, 1}), kRealNames);
    EXPECT_EQ(acceptedAlone(Pool2d{.function = Function::L2}, {1, 2, 2, 1}), kFloatNames);
}

}  // namespace
}  // namespace halyard::engine::nodes_test
