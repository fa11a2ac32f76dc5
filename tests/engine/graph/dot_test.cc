// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/dot.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

Graph smallGraph(const std::string& label) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, -1}));
    graph.setInputs({x});
    const TensorId constant = addConstant<float>(graph, float32({1}), {1});
    graph.setOutputs({addSum(graph, x, constant, label)});
    return graph;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Dot, ShowsNodesInputsConstantsOutputsAndTypes) {
    const std::string dot = toDot(smallGraph("operation 0 (ADD)"));
    EXPECT_TRUE(dot.starts_with("digraph {\n") && dot.ends_with("}\n")) << dot;
    EXPECT_TRUE(contains(dot,
                         "node0 [shape=box, label=\"operation 0 (ADD)\\nBinary{function: ADD, "
                         "activation: NONE}\"]"))
            << dot;
    EXPECT_TRUE(contains(dot, "input0 -> node0 [label=\"FLOAT32[2, ?]\"]")) << dot;
    EXPECT_TRUE(contains(dot, "constant1 -> node0 [label=\"FLOAT32[1]\"]")) << dot;
    EXPECT_TRUE(contains(dot, "node0 -> output0 [label=\"FLOAT32[*]\"]")) << dot;
    EXPECT_FALSE(contains(dot, "cluster")) << dot;
}

TEST(Dot, FramesTheNodesOfAGroup) {
    const std::vector<std::string> groups = {"partition 0: CpuRef"};
    const std::string dot = toDot(smallGraph("add"), groups);
    EXPECT_TRUE(contains(dot, "subgraph cluster0 {\n    label=\"partition 0: CpuRef\"\n    node0"))
            << dot;
}

TEST(Dot, EscapesLabels) {
    const std::string dot = toDot(smallGraph("a \"quoted\" \\ label"));
    EXPECT_TRUE(contains(dot, "label=\"a \\\"quoted\\\" \\\\ label\\nBinary{")) << dot;
}

TEST(Dot, SurvivesGraphsThatAreNotVerified) {
    Graph graph = smallGraph("add");
    graph.addNode({.descriptor = NodeDescriptor(),
                   .inputs = {kNoTensor, 99},
                   .outputs = {98},
                   .label = "bad",
                   .sources = {0}});
    graph.setInputs({97});
    graph.setOutputs({96});
    EXPECT_TRUE(contains(toDot(graph), "bad\\nno kind"));
}

TEST(Dot, FramesTheGraphsInsideANode) {
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    graph.setInputs({condition});
    If branch;
    branch.then.graph = std::make_shared<const Graph>(smallGraph("inner"));
    graph.setOutputs({addNode(graph, branch, {condition}, "operation 3 (IF)")});
    const std::string dot = toDot(graph);
    EXPECT_TRUE(contains(dot,
                         "  subgraph cluster_node0_then_ {\n"
                         "    label=\"then of operation 3 (IF)\"\n"
                         "    node0_then_node0 [shape=box, label=\"inner\\nBinary{"))
            << dot;
    EXPECT_TRUE(contains(dot, "    node0_then_node0 -> node0_then_output0")) << dot;
    EXPECT_TRUE(contains(dot, "If{then: graph of 1 nodes, otherwise: nothing}")) << dot;
}

}  // namespace
}  // namespace halyard::engine
