// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

using Proposals = Result<std::vector<Values>>;

// ---- BoxTransform: numpy, in double precision ---------------------------------------------------

TEST(BoxTransformRef, MovesAndScalesBoxesAndCutsThemOff) {
    const Values boxes = floats({2, 4}, {100, 150, 400, 430, 20, 30, 120, 130});
    const Values deltas = floats({2, 8}, {0.2F, 0.2F, 0.1F, 0.1F, 0.3F, -0.1F, -0.2F, 0.1F,  //
                                          0.5F, -0.5F, 0.3F, 0.2F, 9, 9, 0, 0});
    const Values images = floats({2, 2}, {128, 256, 512, 512});
    EXPECT_TRUE(holds(
            evaluate(BoxTransform(), {boxes, deltas, ints({2}, {1, 0}), images}, kFloat),
            {144.224362, 191.276071, 475.775638, 500.723929, 217.190387, 107.276071, 462.809613,
             416.723929, 52.5070596, 0, 187.49294, 91.0701379, 256, 128, 256, 128},
            1e-4));
}

TEST(BoxTransformRef, TakesEighthsOfAPixel) {
    const auto coordinates = [](Shape shape, const std::vector<int32_t>& eighths) {
        return quantized(typeOf(DataType::QUANT16_ASYMM, shape, 0.125F), eighths);
    };
    const Values deltas =
            quantized(typeOf(DataType::QUANT8_ASYMM, {1, 4}, 0.05F, 128), {132, 132, 128, 128});
    // A fifth of 300 and of 280 to the right and down.
    EXPECT_TRUE(holds(evaluate(BoxTransform(),
                               {coordinates({1, 4}, {800, 1200, 3200, 3440}), deltas,
                                ints({1}, {0}), coordinates({1, 2}, {3600, 4096})},
                               typeOf(DataType::QUANT16_ASYMM, {}, 0.125F)),
                      {1280, 1648, 3680, 3600}));
}

TEST(BoxTransformRef, NamesTheRegionThatIsMalformed) {
    const auto transform = [](const std::vector<float>& box, int32_t batch) {
        return evaluate(BoxTransform(),
                        {floats({1, 4}, box), floats({1, 4}, {0, 0, 0, 0}), ints({1}, {batch}),
                         floats({1, 2}, {8, 8})},
                        kFloat);
    };
    EXPECT_TRUE(holds(transform({1, 1, 1, 1}, 0), {1, 1, 1, 1}));
    EXPECT_TRUE(refused(transform({1, 1, 2, 2}, 1), "region 0 lies in batch 1 of 1"));
    EXPECT_TRUE(refused(transform({1, 1, 2, 2}, -1), "region 0 lies in batch -1"));
    EXPECT_TRUE(refused(transform({1, 1, 0, 2}, 0), "region 0 ends before it begins"));
    EXPECT_TRUE(refused(transform({1, 1, 2, kNan}, 0), "region 0 ends before it begins"));
}

TEST(BoxTransformRef, AcceptsNoRegions) {
    EXPECT_TRUE(holds(evaluate(BoxTransform(),
                               {floats({0, 4}, {}), floats({0, 8}, {}), ints({0}, {}),
                                floats({1, 2}, {8, 8})},
                               kFloat),
                      {}));
}

// ---- GenerateProposals --------------------------------------------------------------------------

// One anchor of 8 x 8 at each of 1 x 4 pixels, 4 pixels of the image apart, which nothing moves:
// neighbours overlap by a third, the last one hangs over the edge by half.
Proposals propose(GenerateProposals node, const std::vector<float>& scores,
                  std::vector<float> deltas = {}) {
    node.heightRatio = 4;
    node.widthRatio = 4;
    deltas.resize(16);
    return evaluateAll(node,
                       {floats({1, 1, 4, 1}, scores), floats({1, 1, 4, 4}, deltas),
                        floats({1, 4}, {0, 0, 8, 8}), floats({1, 2}, {16, 16})},
                       {kFloat, kFloat, kInt32});
}

TEST(GenerateProposalsRef, DropsWhatOverlapsABetterOne) {
    const Proposals result = propose({.iouThreshold = 0.3F}, {0.5F, 0.9F, 0.6F, 0.7F});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.9F, 0.7F}));
    EXPECT_TRUE(holds((*result)[1], {4, 0, 12, 8, 12, 0, 16, 8}));
    EXPECT_TRUE(holds((*result)[2], {0, 0}));
    EXPECT_TRUE(holds((*propose({.iouThreshold = 0.5F}, {0.5F, 0.9F, 0.6F, 0.7F}))[0],
                      {0.9F, 0.7F, 0.5F}));
}

TEST(GenerateProposalsRef, LimitsBoxesBeforeAndAfter) {
    const std::vector<float> scores = {0.5F, 0.9F, 0.6F, 0.5F};
    EXPECT_TRUE(holds((*propose({.maxBeforeNms = 3, .iouThreshold = 0.9F}, scores))[0],
                      {0.9F, 0.6F, 0.5F}));
    // Of equals the first.
    EXPECT_TRUE(holds((*propose({.maxBeforeNms = 3, .iouThreshold = 0.9F}, scores))[1],
                      {4, 0, 12, 8, 8, 0, 16, 8, 0, 0, 8, 8}));
    EXPECT_TRUE(
            holds((*propose({.maxAfterNms = 2, .iouThreshold = 0.9F}, scores))[0], {0.9F, 0.6F}));
    EXPECT_TRUE(holds(
            (*propose({.maxBeforeNms = 0, .maxAfterNms = 0, .iouThreshold = 0.9F}, scores))[0],
            {0.9F, 0.6F, 0.5F, 0.5F}));
    // A box that is too small does not count for the second limit, but does for the first.
    EXPECT_TRUE(holds((*propose({.maxBeforeNms = 1, .iouThreshold = 0.9F, .minSize = 5},
                                {0.1F, 0.2F, 0.3F, 0.4F}))[0],
                      {}));
    EXPECT_TRUE(holds((*propose({.maxAfterNms = 1, .iouThreshold = 0.9F, .minSize = 5},
                                {0.1F, 0.2F, 0.3F, 0.4F}))[0],
                      {0.3F}));
}

TEST(GenerateProposalsRef, LeavesOutWhatIsSmallOrOutside) {
    const std::vector<float> scores = {0.4F, 0.3F, 0.2F, 0.1F};
    EXPECT_TRUE(
            holds((*propose({.iouThreshold = 0.9F, .minSize = 4}, scores))[0], {0.4F, 0.3F, 0.2F}));
    // Far to the right, the first one has no width left.
    EXPECT_TRUE(holds((*propose({.iouThreshold = 0.9F}, scores, {100}))[0], {0.3F, 0.2F, 0.1F}));
}

TEST(GenerateProposalsRef, TakesEveryBatchAlone) {
    const Proposals result =
            evaluateAll(GenerateProposals{.iouThreshold = 0.5F},
                        {floats({2, 1, 1, 2}, {0.1F, 0.2F, 0.4F, 0.3F}),
                         floats({2, 1, 1, 8}, std::vector<float>(16)),
                         floats({2, 4}, {0, 0, 2, 2, 4, 0, 6, 2}), floats({2, 2}, {8, 8, 8, 5})},
                        {kFloat, kFloat, kInt32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {0.2F, 0.1F, 0.4F, 0.3F}));
    EXPECT_TRUE(holds((*result)[1], {4, 0, 6, 2, 0, 0, 2, 2, 0, 0, 2, 2, 4, 0, 5, 2}));
    EXPECT_TRUE(holds((*result)[2], {0, 0, 1, 1}));
}

TEST(GenerateProposalsRef, TakesQuantisedScores) {
    const TensorType scoreType = typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 1, 1, 2}, 0.01F, -128);
    const TensorType coordinates = typeOf(DataType::QUANT16_ASYMM, {1, 2}, 0.125F);
    const Proposals result =
            evaluateAll(GenerateProposals{.iouThreshold = 0.5F},
                        {quantized(scoreType, {-100, -90}),
                         quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 1, 1, 8}, 0.05F, 0),
                                   {0, 0, 0, 0, 10, 0, 0, 0}),
                         quantized(typeOf(DataType::QUANT16_SYMM, {2, 4}, 0.125F),
                                   {-8, 0, 8, 16, 0, 0, 16, 16}),
                         quantized(coordinates, {80, 80})},
                        {scoreType, coordinates, kInt32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_TRUE(holds((*result)[0], {-90, -100}));
    EXPECT_TRUE(holds((*result)[1], {8, 0, 24, 16, 0, 0, 8, 16}));
}

TEST(GenerateProposalsRef, FindsNothingInNothing) {
    const Proposals result = evaluateAll(GenerateProposals(),
                                         {floats({0, 1, 1, 1}, {}), floats({0, 1, 1, 4}, {}),
                                          floats({1, 4}, {0, 0, 1, 1}), floats({0, 2}, {})},
                                         {kFloat, kFloat, kInt32});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_EQ((*result)[0].type.shape, (Shape{0}));
    EXPECT_EQ((*result)[1].type.shape, (Shape{0, 4}));
    EXPECT_EQ((*result)[2].type.shape, (Shape{0}));
}

TEST(GenerateProposalsRef, NamesTheAnchorThatIsMalformed) {
    const Proposals result =
            evaluateAll(GenerateProposals(),
                        {floats({1, 1, 1, 2}, {0, 0}), floats({1, 1, 1, 8}, std::vector<float>(8)),
                         floats({2, 4}, {0, 0, 2, 2, 4, 0, 3, 2}), floats({1, 2}, {8, 8})},
                        {kFloat, kFloat, kInt32});
    EXPECT_TRUE(refused(result, "anchor 1 ends before it begins"));
}

// Whatever NaN scores and boxes give, it ends.
TEST(GenerateProposalsRef, EndsWithNan) {
    EXPECT_TRUE(propose({.iouThreshold = 0.5F}, {kNan, kNan, 0.5F, kNan}, {kNan, 0, 0, 0}).ok());
}

}  // namespace
}  // namespace halyard::engine::ref_test
