// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/rewriter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/verifier.h"
#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

// x -> activate (operation 0) -> sum with a constant (1) -> activate (2)
struct Chain {
    Graph graph;
    TensorId x = graph.addTensor(float32({2}));
    TensorId y = addActivate(graph, x);
    TensorId c = addConstant<float>(graph, float32({2}), {1, 2});
    TensorId z = addSum(graph, y, c);
    TensorId out = addActivate(graph, z);

    Chain() {
        graph.setInputs({x});
        graph.setOutputs({out, y});
    }
};

TEST(Uses, TellsReadersAndWriters) {
    const Chain chain;
    const Uses uses(chain.graph);
    EXPECT_EQ(uses.of(chain.y).size(), 1U);
    EXPECT_EQ(uses.of(chain.y)[0], (Use{.node = 1, .input = 0}));
    EXPECT_EQ(uses.of(chain.c)[0], (Use{.node = 1, .input = 1}));
    EXPECT_TRUE(uses.of(chain.out).empty());
    EXPECT_EQ(uses.writer(chain.z), NodeId{1});
    EXPECT_FALSE(uses.writer(chain.x).has_value());
    EXPECT_TRUE(uses.isGraphOutput(chain.y));
    EXPECT_FALSE(uses.onlyUse(chain.y).has_value()) << "the caller reads it, too";
    EXPECT_EQ(uses.onlyUse(chain.z), (Use{.node = 2, .input = 0}));
}

TEST(Uses, CountsAnInputThatIsReadTwice) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2}));
    graph.setInputs({x});
    graph.setOutputs({addSum(graph, x, x)});
    const Uses uses(graph);
    ASSERT_EQ(uses.of(x).size(), 2U);
    EXPECT_EQ(uses.of(x)[1].input, 1U);
    EXPECT_FALSE(uses.onlyUse(x).has_value());
}

TEST(Rewrite, WithoutARuleGivesAnEqualGraph) {
    Chain chain;
    ASSERT_TRUE(verifyAndInfer(chain.graph).ok());
    Graph copy = rewrite(chain.graph, [](GraphRewriter&, NodeId) { return false; }).value();
    EXPECT_EQ(copy, chain.graph);
}

// Takes activations away: what read their output reads their input.
Result<bool> dropActivations(GraphRewriter& rewriter, NodeId id) {
    const Node& node = rewriter.from().node(id);
    if (node.kind() != NodeKind::Activate) {
        return false;
    }
    rewriter.replace(node.outputs[0], rewriter.tensor(node.inputs[0]));
    return true;
}

TEST(Rewrite, PutsOneTensorInThePlaceOfAnother) {
    const Chain chain;
    Graph graph = rewrite(chain.graph, dropActivations).value();
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    ASSERT_EQ(graph.nodes().size(), 1U);
    EXPECT_EQ(graph.node(0).inputs[0], graph.inputs()[0]);
    EXPECT_EQ(graph.outputs()[0], graph.node(0).outputs[0]);
    EXPECT_EQ(graph.outputs()[1], graph.inputs()[0]);
    EXPECT_EQ(graph.tensor(graph.node(0).inputs[1]).constant.bytes.size(), 8U);
}

TEST(Rewrite, SaysOfEveryOperationThatVanishedWhatBecameOfIt) {
    const Chain chain;
    const Graph graph = rewrite(chain.graph, [](GraphRewriter& rewriter, NodeId id) {
                            if (id == 2) {
                                rewriter.explain(2, "fused into operation 1");
                            }
                            return dropActivations(rewriter, id);
                        }).value();
    ASSERT_EQ(graph.vanished().size(), 2U);
    EXPECT_EQ(graph.vanished()[0], (VanishedOperation{2, "fused into operation 1"}));
    EXPECT_EQ(graph.vanished()[1], (VanishedOperation{0, "removed"}));

    const Graph again = rewrite(graph, [](GraphRewriter&, NodeId) { return false; }).value();
    EXPECT_EQ(again.vanished().size(), 2U) << "a later pass does not forget it";
}

TEST(Rewrite, UnitesTheOperationsThatANodeStemsFrom) {
    const Chain chain;
    const Graph graph =
            rewrite(chain.graph, [](GraphRewriter& rewriter, NodeId id) -> Result<bool> {
                if (id == 1) {
                    Node node = rewriter.from().node(1);
                    node.inputs = {rewriter.tensor(node.inputs[0]),
                                   rewriter.tensor(node.inputs[1])};
                    node.outputs = {rewriter.tensor(rewriter.from().node(2).outputs[0])};
                    node.sources = unionOf(node.sources, rewriter.from().node(2).sources);
                    rewriter.add(std::move(node));
                }
                return id != 0;
            }).value();
    ASSERT_EQ(graph.nodes().size(), 2U);
    EXPECT_EQ(graph.node(1).sources, (std::vector<uint32_t>{1, 2}));
    EXPECT_TRUE(graph.vanished().empty()) << "operation 2 lives on in the node of operation 1";
}

TEST(Rewrite, ReachesGraphsInside) {
    auto inside = std::make_shared<const Graph>(Chain().graph);
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = Shape({1}), .quantization = {}});
    const TensorId x = graph.addTensor(float32({2}));
    const TensorId out = graph.addTensor(float32({2}));
    const TensorId other = graph.addTensor(float32({2}));
    graph.addNode({.descriptor = If{.then = {inside}, .otherwise = {inside}},
                   .inputs = {condition, x},
                   .outputs = {out, other},
                   .label = "if",
                   .sources = {0}});
    graph.setInputs({condition, x});
    graph.setOutputs({out, other});
    Graph rewritten = rewrite(graph, dropActivations).value();
    ASSERT_TRUE(verifyAndInfer(rewritten).ok());
    for (const NestedGraph* nested : nestedGraphs(rewritten.node(0))) {
        EXPECT_EQ(nested->graph->nodes().size(), 1U);
        EXPECT_EQ(nested->graph->vanished().size(), 2U);
    }
    EXPECT_EQ(inside->nodes().size(), 3U) << "the old graph stays as it is";
}

TEST(Rewrite, FailsWhereTheRuleDoes) {
    const Chain chain;
    const Result<Graph> graph = rewrite(chain.graph, [](GraphRewriter&, NodeId id) -> Result<bool> {
        return id == 1 ? Result<bool>(unsupported("no sums")) : Result<bool>(false);
    });
    EXPECT_EQ(graph.status().message(), "no sums");
}

}  // namespace
}  // namespace halyard::engine
