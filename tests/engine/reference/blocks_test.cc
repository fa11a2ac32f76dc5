// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

// Pixels hold their own numbers; the order is TensorFlow's.
TEST(DepthToSpaceRef, SpreadsChannelsOverPixels) {
    const Values x = floats({1, 1, 2, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    EXPECT_TRUE(holds(evaluate(DepthToSpace{.block = 2}, {x}, kFloat),
                      {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15}));
}

TEST(SpaceToDepthRef, IsTheOppositeOfDepthToSpace) {
    const Values x = floats({1, 2, 4, 2}, {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15});
    EXPECT_TRUE(holds(evaluate(SpaceToDepth{.block = 2}, {x}, kFloat),
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
    EXPECT_TRUE(holds(evaluate(SpaceToDepth{.block = 2}, {floats({0, 2, 2, 1}, {})}, kFloat), {}));
}

TEST(BatchToSpaceRef, SpreadsBatchesOverPixels) {
    const Values x = floats({4, 1, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_TRUE(holds(evaluate(BatchToSpace(), {x, ints({2}, {2, 2})}, kFloat),
                      {1, 2, 3, 4, 5, 6, 7, 8}));
    const Values rows = floats({2, 1, 3, 1}, {1, 2, 3, 4, 5, 6});
    EXPECT_TRUE(
            holds(evaluate(BatchToSpace(), {rows, ints({2}, {1, 2})}, kFloat), {1, 4, 2, 5, 3, 6}));
}

// Six batches of one pixel: rows of the block, then its columns.
TEST(BatchToSpaceRef, TellsTheBlocksHeightFromItsWidth) {
    const Values x = floats({6, 1, 1, 1}, {1, 2, 3, 4, 5, 6});
    const Result<Values> result = evaluate(BatchToSpace(), {x, ints({2}, {2, 3})}, kFloat);
    EXPECT_TRUE(holds(result, {1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(result->type.shape, (Shape{1, 2, 3, 1}));
    const Values featureMap = floats({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
    EXPECT_TRUE(holds(evaluate(SpaceToBatch(),
                               {featureMap, ints({2}, {2, 3}), ints({2, 2}, {0, 0, 0, 0})}, kFloat),
                      {1, 2, 3, 4, 5, 6}));
}

TEST(SpaceToBatchRef, PadsWithTheZeroPoint) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 1, 3, 1}, 0.5F, 9);
    EXPECT_TRUE(holds(
            evaluate(SpaceToBatch(),
                     {quantized(type, {1, 2, 3}), ints({2}, {1, 2}), ints({2, 2}, {0, 1, 1, 0})},
                     type),
            {9, 2, 9, 9, 1, 3, 9, 9}));
    EXPECT_TRUE(holds(
            evaluate(SpaceToBatch(),
                     {floats({1, 0, 1, 1}, {}), ints({2}, {1, 1}), ints({2, 2}, {1, 0, 0, 0})},
                     kFloat),
            {0}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
