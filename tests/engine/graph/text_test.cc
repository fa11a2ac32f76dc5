// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/graph/verifier.h"
#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

TEST(Text, ShowsTensorsNodesAndFates) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2}));
    graph.setInputs({x});
    const TensorId constant = addConstant<float>(graph, float32({1}), {1});
    graph.setOutputs({addSum(graph, x, constant, "operation 0 (ADD)")});
    graph.addVanished({.operation = 1, .fate = "folded into a constant"});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_EQ(toText(graph),
              "input %0 FLOAT32[2]\n"
              "constant %1 FLOAT32[1]\n"
              "node \"operation 0 (ADD)\" [0] Binary{function: ADD, activation: NONE}\n"
              "  a: %0 FLOAT32[2]\n"
              "  b: %1 FLOAT32[1]\n"
              "  -> output: %2 FLOAT32[2]\n"
              "output %2 FLOAT32[2]\n"
              "vanished operation 1: \"folded into a constant\"\n");
    EXPECT_EQ(nodeLines(graph),
              std::vector<std::string>{
                      "\"operation 0 (ADD)\" [0] Binary{function: ADD, activation: NONE} "
                      "(FLOAT32[2], constant FLOAT32[1]) -> (FLOAT32[2])"});
}

TEST(Text, ShowsGraphsInside) {
    Graph inside;
    const TensorId x = inside.addTensor(float32({2}));
    inside.setInputs({x});
    inside.setOutputs({addActivate(inside, x, "inner")});
    const auto branch = std::make_shared<const Graph>(inside);
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = Shape({1}), .quantization = {}});
    const TensorId y = graph.addTensor(float32({2}));
    graph.setInputs({condition, y});
    graph.setOutputs(
            {addNode(graph, If{.then = {branch}, .otherwise = {branch}}, {condition, y}, "if")});
    EXPECT_NE(toText(graph).find("\n  graph inside:\n    input %0 FLOAT32[2]\n    node \"inner\""),
              std::string::npos)
            << toText(graph);
    ASSERT_EQ(nodeLines(graph).size(), 3U);
    EXPECT_TRUE(nodeLines(graph)[1].starts_with("\"if\": \"inner\" ")) << nodeLines(graph)[1];
}

TEST(Text, LetsNoLabelPassForAnythingElse) {
    EXPECT_EQ(inQuotes("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
    EXPECT_EQ(inQuotes(std::string("\n\r\0\x1b\xff", 5)), "\"\\n\\x0d\\x00\\x1b\\xff\"");
}

}  // namespace
}  // namespace halyard::engine
