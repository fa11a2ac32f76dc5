// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/simplify_reshapes.h"

#include <gtest/gtest.h>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

// Behind a node, so that nothing stands for an input of the graph.
TensorId computed(TestGraph& test, const TensorType& type) {
    return test.node(Unary(), {test.input(type)});
}

void expectKinds(TestGraph& test, const Graph& before, const Kinds& kinds) {
    const Graph graph = after(simplifyReshapes, before);
    EXPECT_EQ(kindsOf(graph), kinds);
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
}

TEST(SimplifyReshapes, MakesOneOfSeveral) {
    TestGraph test;
    const TensorId x = computed(test, floatType({1, 2, 1, 6}));
    TensorId y = test.node(Reshape(), {x, test.ints({3, 4})});
    y = test.node(ExpandDims{.axis = 1}, {y});
    y = test.node(Transpose(), {y, test.ints({1, 0, 2})});
    y = test.node(Squeeze(), {y, kNoTensor});
    y = test.node(Reshape(), {y, test.ints({2, 6})});
    const Graph before = test.build({y});
    expectKinds(test, before, {"Unary", "Reshape"});
    EXPECT_EQ(fateOf(after(simplifyReshapes, before), 1), "merged into operation 2");
}

TEST(SimplifyReshapes, RemovesThoseThatChangeNothing) {
    TestGraph test;
    const TensorId x = computed(test, floatType({2, 6}));
    TensorId y = test.node(Reshape(), {x, test.ints({2, 6})});
    y = test.node(Reshape(), {y, test.ints({12})});
    y = test.node(Reshape(), {y, test.ints({2, 6})});
    expectKinds(test, test.build({y}), {"Unary"});
}

TEST(SimplifyReshapes, MakesAReshapeOfATransposeThatMovesOnes) {
    TestGraph test;
    const TensorId x = computed(test, floatType({1, 1, 5, 1, 7}));
    const TensorId moved = test.node(Transpose(), {x, test.ints({2, 0, 4, 3, 1})});
    expectKinds(test, test.build({moved}), {"Unary", "Reshape"});
    TestGraph other;
    const TensorId y = computed(other, floatType({1, 5, 7}));
    expectKinds(other, other.build({other.node(Transpose(), {y, other.ints({0, 2, 1})})}),
                {"Unary", "Transpose"});
}

TEST(SimplifyReshapes, RemovesNodesThatOnlyCopy) {
    TestGraph test;
    const TensorId x = computed(test, floatType({2, 6}));
    TensorId y = test.node(Cast(), {x});
    y = test.node(Concat{.axis = 1}, {y});
    y = test.node(Slice(), {y, test.ints({0, 0}), test.ints({2, -1})});
    y = test.node(Pad(), {y, test.paddings({0, 0, 0, 0}), kNoTensor});
    y = test.node(Tile(), {y, test.ints({1, 1})});
    y = test.node(Transpose(), {y, test.ints({0, 1})});
    expectKinds(test, test.build({y}), {"Unary"});
}

TEST(SimplifyReshapes, KeepsWhatDoesMore) {
    TestGraph test;
    const TensorId x = computed(test, floatType({2, 6}));
    const TensorId cast = test.node(Cast(), {x}, typeOf(DataType::FLOAT16, {}));
    const TensorId tile = test.node(Tile(), {x, test.ints({1, 2})});
    const TensorId slice = test.node(Slice(), {x, test.ints({0, 1}), test.ints({2, -1})});
    const TensorId pair = test.node(Concat{.axis = 1}, {x, x});
    expectKinds(test, test.build({cast, tile, slice, pair}),
                {"Unary", "Cast", "Tile", "Slice", "Concat"});
}

TEST(SimplifyReshapes, KeepsACopyFromAnInputToAnOutput) {
    TestGraph test;
    const TensorId x = test.input(floatType({2, 6}));
    expectKinds(test, test.build({test.node(Reshape(), {x, test.ints({2, 6})})}), {"Reshape"});
}

TEST(SimplifyReshapes, KeepsReshapesOfUnknownExtents) {
    TestGraph test;
    const TensorId x = test.node(Unary(), {test.input(floatType({-1, 6}))});
    const TensorId y = test.node(Reshape(), {x, test.ints({-1, 3})});
    const Graph before = test.build({test.node(Reshape(), {y, test.ints({-1, 6})})});
    EXPECT_EQ(kindsOf(after(simplifyReshapes, before)), (Kinds{"Unary", "Reshape", "Reshape"}));
}

TEST(SimplifyReshapes, KeepsWhatIsReadBetween) {
    TestGraph test;
    const TensorId x = computed(test, floatType({2, 6}));
    const TensorId y = test.node(Reshape(), {x, test.ints({12})});
    const TensorId z = test.node(Reshape(), {y, test.ints({3, 4})});
    const Graph before = test.build({y, z});
    expectKinds(test, before, {"Unary", "Reshape", "Reshape"});
}

}  // namespace
}  // namespace halyard::engine::pass_test
