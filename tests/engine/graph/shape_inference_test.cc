// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/shape_inference.h"

#include <gtest/gtest.h>

#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

constexpr int32_t kUnknown = kUnknownDimension;

TEST(MergeShapes, LetsWhatIsKnownWin) {
    EXPECT_EQ(*mergeShapes(Shape::unknownRank(), {1, kUnknown}), Shape({1, kUnknown}));
    EXPECT_EQ(*mergeShapes({1, kUnknown}, Shape::unknownRank()), Shape({1, kUnknown}));
    EXPECT_EQ(*mergeShapes({1, kUnknown, kUnknown}, {kUnknown, 2, kUnknown}),
              Shape({1, 2, kUnknown}));
    EXPECT_EQ(*mergeShapes({}, {}), Shape());
}

TEST(MergeShapes, RejectsContradictions) {
    EXPECT_EQ(mergeShapes({1}, {2}).status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_FALSE(mergeShapes({1}, {1, 1}).ok());
    EXPECT_FALSE(mergeShapes({}, {kUnknown}).ok());
    EXPECT_FALSE(mergeShapes({0}, {1}).ok());
}

TEST(InferShapes, StartsItsMessagesWithTheNodesLabel) {
    Node node;
    node.descriptor = Activate();
    node.label = "operation 7 (RELU)";
    const Status status = inferShapes(node, {}, {});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(status.message().starts_with("operation 7 (RELU): ")) << status.message();
}

TEST(InferShapes, RejectsANodeWithoutAKind) {
    EXPECT_FALSE(inferShapes(Node(), {}, {}).ok());
}

TEST(InferGraphShapes, CarriesShapesFromNodeToNode) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, kUnknown}));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x);
    const TensorId z = addSum(graph, y, addConstant<float>(graph, float32({5}), {1, 2, 3, 4, 5}));
    graph.setOutputs({z});
    ASSERT_TRUE(inferGraphShapes(graph).ok());
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({2, kUnknown}));
    EXPECT_EQ(graph.tensor(z).type.shape, Shape({2, 5}));
}

TEST(InferGraphShapes, KeepsWhatTheGraphKnewBetter) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknown}));
    graph.setInputs({x});
    const TensorId y = addNode(graph, Activate(), {x}, "node", {7});
    ASSERT_TRUE(inferGraphShapes(graph).ok());
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({7}));
}

TEST(InferGraphShapes, RejectsADeclaredShapeThatCannotBe) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({6}));
    graph.setInputs({x});
    addNode(graph, Activate(), {x}, "operation 0 (RELU)", {7});
    const Status status = inferGraphShapes(graph);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), "operation 0 (RELU): output 0: shape [7] contradicts [6]");
}

TEST(InferGraphShapes, UsesTheValuesOfConstants) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, 6}));
    graph.setInputs({x});
    const TensorId shape = addConstant<int32_t>(graph, int32({2}), {-1, 4});
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    ASSERT_TRUE(inferGraphShapes(graph).ok());
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({3, 4}));
}

TEST(InferGraphShapes, SurvivesIdsOutOfRange) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.addNode({.descriptor = Activate(),
                   .inputs = {99},
                   .outputs = {x},
                   .label = "bad",
                   .source = 0});
    EXPECT_EQ(inferGraphShapes(graph).code(), StatusCode::INVALID_ARGUMENT);
    Graph other;
    const TensorId y = other.addTensor(float32({1}));
    other.addNode({.descriptor = Activate(),
                   .inputs = {y},
                   .outputs = {kNoTensor},
                   .label = "bad",
                   .source = 0});
    EXPECT_EQ(inferGraphShapes(other).code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::engine
