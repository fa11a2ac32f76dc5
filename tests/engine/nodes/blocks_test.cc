// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Result<Shape> alone(const NodeDescriptor& node, Shape x) {
    return infer(node, {.inputs = {floats(x)}});
}

TEST(DepthToSpaceShapes, TakeTheDepthApart) {
    EXPECT_TRUE(gives(alone(DepthToSpace{.block = 2}, {1, 2, 3, 8}), {1, 4, 6, 2}));
    EXPECT_TRUE(gives(alone(DepthToSpace{.block = 2}, {0, kUnknown, 3, 8}), {0, kUnknown, 6, 2}));
    EXPECT_TRUE(rejects(alone(DepthToSpace{.block = 2}, {1, 2, 3, 6}), "the depth (6)"));
    EXPECT_TRUE(rejects(alone(DepthToSpace{.block = 0}, {1, 2, 3, 8}), "block's extent (0)"));
    EXPECT_TRUE(rejects(alone(DepthToSpace{.block = kMax}, {1, 2, 3, 8}), "too large"));
    EXPECT_TRUE(rejects(alone(DepthToSpace(), {2, 3, 8}), "rank 4"));
}

TEST(SpaceToDepthShapes, PutBlocksIntoTheDepth) {
    EXPECT_TRUE(gives(alone(SpaceToDepth{.block = 2}, {1, 4, 6, 2}), {1, 2, 3, 8}));
    EXPECT_TRUE(gives(alone(SpaceToDepth{.block = 2}, kNoRank),
                      {kUnknown, kUnknown, kUnknown, kUnknown}));
    EXPECT_TRUE(rejects(alone(SpaceToDepth{.block = 2}, {1, 3, 6, 2}), "the height (3)"));
    EXPECT_TRUE(rejects(alone(SpaceToDepth{.block = 2}, {1, 4, 5, 2}), "the width (5)"));
    EXPECT_TRUE(rejects(alone(SpaceToDepth{.block = 2}, {1, 4, 6, kMax}), "too large"));
    EXPECT_TRUE(rejects(alone(SpaceToDepth{.block = -2}, {1, 4, 6, 2}), "block's extent (-2)"));
}

Asking batchToSpace(Shape x) {
    return Asking(BatchToSpace()).with(floats(x));
}

TEST(BatchToSpaceShapes, TakeTheBatchesApart) {
    EXPECT_TRUE(gives(batchToSpace({12, 1, 2, 5}).withList({2, 3}).shape(), {2, 2, 6, 5}));
    EXPECT_TRUE(gives(batchToSpace({12, 1, 2, 5}).with(ints({2})).shape(),
                      {kUnknown, kUnknown, kUnknown, 5}));
    EXPECT_TRUE(rejects(batchToSpace({8, 1, 2, 5}).withList({2, 3}).shape(), "batches (8)"));
    EXPECT_TRUE(rejects(batchToSpace({8, 1, 2, 5}).withList({2, 0}).shape(), "extent (0)"));
    EXPECT_TRUE(rejects(batchToSpace({8, 1, 2, 5}).withList({2}).shape(), "the block"));
}

Asking spaceToBatch(Shape x) {
    return Asking(SpaceToBatch()).with(floats(x));
}

TEST(SpaceToBatchShapes, PutBlocksIntoTheBatches) {
    EXPECT_TRUE(gives(
            spaceToBatch({2, 3, 4, 5}).withList({2, 3}).with(ints({2, 2}), {1, 0, 0, 2}).shape(),
            {12, 2, 2, 5}));
    EXPECT_TRUE(gives(spaceToBatch({2, 3, 4, 5}).withList({2, 3}).with(ints({2, 2})).shape(),
                      {kUnknown, kUnknown, kUnknown, 5}));
    EXPECT_TRUE(rejects(
            spaceToBatch({2, 3, 4, 5}).withList({2, 3}).with(ints({2, 2}), {0, 0, 0, 2}).shape(),
            "the padded height (3)"));
    EXPECT_TRUE(rejects(
            spaceToBatch({2, 3, 4, 5}).withList({2, 3}).with(ints({2, 2}), {0, -1, 0, 2}).shape(),
            "negative"));
    EXPECT_TRUE(rejects(
            spaceToBatch({2, 3, 4, 5}).withList({1, 1}).with(ints({2, 2}), {kMax, 0, 0, 0}).shape(),
            "too large"));
    EXPECT_TRUE(rejects(spaceToBatch({2, 3, 4, 5}).withList({2, 3}).with(ints({2, 3})).shape(),
                        "the paddings"));
}

TEST(BlockShapes, MoveTheElementsOfAnyTypeAndFillNumbers) {
    EXPECT_EQ(acceptedAlone(DepthToSpace(), {1, 1, 1, 1}), kMovableNames);
    EXPECT_EQ(acceptedAlone(SpaceToDepth(), {1, 1, 1, 1}), kMovableNames);
    EXPECT_EQ(acceptedAlone(Resize{.height = 1, .width = 1}, {1, 1, 1, 1}), kRealNames);
    EXPECT_EQ(accepted([](DataType type) {
                  return Asking(SpaceToBatch())
                          .with(typed(type, {1, 1, 1, 1}))
                          .with(ints({2}))
                          .with(ints({2, 2}))
                          .giving(typed(type, {1}))
                          .shape();
              }),
              kNumberNames);
}

TEST(ResizeShapes, AreAskedForOrScaled) {
    EXPECT_TRUE(gives(alone(Resize{.height = 3, .width = 5}, {1, 2, 2, 4}), {1, 3, 5, 4}));
    EXPECT_TRUE(gives(alone(Resize{.heightScale = 1.7F, .widthScale = 0.8F}, {1, 2, 2, 4}),
                      {1, 3, 1, 4}));
    EXPECT_TRUE(gives(alone(Resize{.width = 5, .heightScale = 2.0F}, {0, kUnknown, 2, 4}),
                      {0, kUnknown, 5, 4}));
}

TEST(ResizeShapes, RejectSizesAndScalesOutOfRange) {
    EXPECT_TRUE(rejects(alone(Resize{.width = 5}, {1, 2, 2, 4}), "height (0)"));
    for (const float scale :
         {-1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        EXPECT_TRUE(rejects(alone(Resize{.width = 5, .heightScale = scale}, {1, 2, 2, 4}),
                            "the scale of the height must be"));
    }
    EXPECT_TRUE(rejects(alone(Resize{.width = 5, .heightScale = 3e9F}, {1, 2, 2, 4}), "too large"));
    EXPECT_TRUE(rejects(alone(Resize{.width = 5, .heightScale = 0.4F}, {1, 2, 2, 4}),
                        "leaves nothing"));
    EXPECT_TRUE(rejects(alone(Resize{.height = 3, .width = 5}, {1, 0, 2, 4}), "no elements"));
    EXPECT_TRUE(rejects(
            alone(Resize{.height = 3, .width = 5, .alignCorners = true, .halfPixelCenters = true},
                  {1, 2, 2, 4}),
            "can't both"));
    EXPECT_TRUE(rejects(infer(Resize{.height = 3, .width = 5},
                              {.inputs = {bytes({1, 2, 2, 4}, 0.5F)}, .output = bytes({}, 0.25F)}),
                        "same scale"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
