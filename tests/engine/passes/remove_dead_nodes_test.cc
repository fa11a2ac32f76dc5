// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/remove_dead_nodes.h"

#include <gtest/gtest.h>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

TEST(RemoveDeadNodes, RemovesChainsThatAreNotRead) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    const TensorId y = test.node(Unary(), {x});
    const TensorId dead = test.node(Binary(), {y, test.constant(floatType({4}))});
    test.node(Unary(), {dead});
    const Graph graph = after(removeDeadNodes, test.build({y}));
    EXPECT_EQ(kindsOf(graph), Kinds{"Unary"});
    EXPECT_EQ(fateOf(graph, 1), "removed: nothing reads what it computes");
    EXPECT_EQ(fateOf(graph, 0), "");
    EXPECT_EQ(graph.tensors().size(), 2U) << "the constant goes, too";
}

TEST(RemoveDeadNodes, KeepsANodeOfWhichOneOutputIsRead) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    const TensorId values = test.graph().addTensor(floatType({2}));
    const TensorId indices = test.graph().addTensor(typeOf(DataType::INT32, {2}));
    test.graph().addNode({.descriptor = TopK{.k = 2},
                          .inputs = {x},
                          .outputs = {values, indices},
                          .label = "top",
                          .sources = {0}});
    EXPECT_EQ(kindsOf(after(removeDeadNodes, test.build({indices}))), Kinds{"TopK"});
}

TEST(RemoveDeadNodes, KeepsInputsThatAreNotRead) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    test.input(floatType({4}));
    EXPECT_EQ(after(removeDeadNodes, test.build({test.node(Unary(), {x})})).inputs().size(), 2U);
}

}  // namespace
}  // namespace halyard::engine::pass_test
