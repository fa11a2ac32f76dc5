// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fold_constants.h"

#include <gtest/gtest.h>

#include "engine/base/budget.h"
#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

TEST(FoldConstants, DequantizesWeights) {
    TestGraph test;
    const TensorId x = test.input(floatType({2, 40000}));
    const TensorId quantized =
            test.constant(typeOf(DataType::QUANT8_ASYMM_SIGNED, {3, 40000}, 0.5F, 3));
    const TensorId weights = test.node(Dequantize(), {quantized}, floatType({}));
    const Graph before =
            test.build({test.node(FullyConnected(), {x, weights, test.constant(floatType({3}))})});
    const Graph graph = after(foldConstants, before);
    EXPECT_EQ(kindsOf(graph), Kinds{"FullyConnected"});
    EXPECT_EQ(fateOf(graph, 0), "folded into a constant");
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
}

TEST(FoldConstants, FollowsChainsAndGivesConstantOutputs) {
    TestGraph test;
    const TensorId sum =
            test.node(Binary(), {test.constant(floatType({2, 3})), test.constant(floatType({3}))});
    const TensorId turned = test.node(Transpose(), {sum, test.ints({1, 0})});
    const TensorId parts = test.node(Concat(), {turned, turned});
    const Graph before = test.build({parts});
    const Graph graph = after(foldConstants, before);
    EXPECT_TRUE(graph.nodes().empty());
    EXPECT_TRUE(graph.tensor(graph.outputs()[0]).isConstant());
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
}

TEST(FoldConstants, KnowsTheRankOfWhatItDoesNotKnow) {
    TestGraph test;
    const TensorId x = test.input(floatType({2, 3}));
    const Graph before = test.build({test.node(Rank(), {x}, typeOf(DataType::INT32, {}))});
    const Graph graph = after(foldConstants, before);
    EXPECT_TRUE(graph.nodes().empty());
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
}

TEST(FoldConstants, LeavesBombsAlone) {
    TestGraph test;
    const TensorId value = test.constant(floatType({1}));
    const TensorId filled = test.node(Fill(), {test.ints({1 << 16}), value}, floatType({}));
    const TensorId tiled = test.node(Tile(), {test.constant(floatType({2})), test.ints({1 << 15})});
    EXPECT_EQ(after(foldConstants, test.build({filled, tiled})).nodes().size(), 2U);
    const TensorId small = test.node(Fill(), {test.ints({16}), value}, floatType({}));
    EXPECT_EQ(after(foldConstants, test.build({small})).nodes().size(), 0U);
}

TEST(FoldConstants, LimitsWhatAllResultsTakeTogether) {
    TestGraph test;
    // Each doubles the last: an input of 16 KiB would become gigabytes.
    TensorId part = test.constant(floatType({4096}));
    for (int i = 0; i < 10; ++i) {
        part = test.node(Concat(), {part, part});
    }
    const Graph graph = after(foldConstants, test.build({part}));
    EXPECT_GE(graph.nodes().size(), 5U);
    EXPECT_LT(graph.nodes().size(), 10U) << "the first ones are small";
}

TEST(FoldConstants, LeavesChanceAndSumsOfProductsAlone) {
    TestGraph test;
    const TensorId logits = test.constant(floatType({1, 4}));
    const TensorId drawn = test.node(RandomMultinomial{.samples = 3}, {logits, test.ints({1, 2})},
                                     typeOf(DataType::INT32, {}));
    const TensorId product = test.node(FullyConnected(), {logits, test.constant(floatType({3, 4})),
                                                          test.constant(floatType({3}))});
    EXPECT_EQ(after(foldConstants, test.build({drawn, product})).nodes().size(), 2U);
}

TEST(FoldConstants, LeavesANodeThatFailsToFailWhenItRuns) {
    TestGraph test;
    const TensorId x = test.constant(floatType({4}));
    const Graph before = test.build({test.node(Gather(), {x, test.ints({9})}, floatType({}))});
    EXPECT_EQ(after(foldConstants, before).nodes().size(), 1U);
}

TEST(FoldConstants, LeavesTheGraphAsItIsWithoutMemory) {
    TestGraph test;
    const TensorId y = test.node(Unary(), {test.constant(floatType({1024}))});
    Graph graph = test.build({y});
    const OptimizeOptions options;
    const PassContext context = {.options = options,
                                 .memory = std::make_shared<Budget>(1000),
                                 .checkpoint = {},
                                 .allowance = size_t{1} << 20};
    const Result<bool> done = foldConstants(graph, context);
    ASSERT_TRUE(done.ok());
    EXPECT_FALSE(*done);
    EXPECT_EQ(graph.nodes().size(), 1U);
}

TEST(FoldConstants, CountsItsConstantsAsLongAsTheyLive) {
    const auto memory = std::make_shared<Budget>(1 << 20);
    {
        TestGraph test;
        const TensorId y = test.node(Unary(), {test.constant(floatType({1024}))});
        Graph graph = test.build({y});
        const OptimizeOptions options;
        const PassContext context = {.options = options,
                                     .memory = memory,
                                     .checkpoint = {},
                                     .allowance = size_t{1} << 20};
        ASSERT_TRUE(foldConstants(graph, context).ok());
        EXPECT_GE(memory->reserved(), 4096U);
    }
    EXPECT_EQ(memory->reserved(), 0U);
}

}  // namespace
}  // namespace halyard::engine::pass_test
