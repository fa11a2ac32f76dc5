// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/shape_inference.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "engine/graph/verifier.h"
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

TEST(InferShapes, CountsInputsAndOutputsThatRepeat) {
    const TensorType type = float32({2, 2});
    const std::vector<KnownInput> inputs(3, {.type = &type});
    std::vector<TensorType> outputs(1, type);
    Node node;
    node.descriptor = Concat();
    EXPECT_TRUE(inferShapes(node, inputs, outputs).ok());
    node.descriptor = Reshape();
    EXPECT_EQ(inferShapes(node, inputs, outputs).message(), ": takes 2 inputs, not 3");
    node.descriptor = Split();
    EXPECT_EQ(inferShapes(node, inputs, outputs).message(), ": takes 1 inputs, not 3");
}

TEST(InferShapes, RejectsThatAnInputIsLeftOutUnlessItMayBe) {
    const TensorType type = float32({2, 1});
    const std::vector<KnownInput> inputs = {{.type = &type}, {}};
    std::vector<TensorType> outputs(1, type);
    Node node;
    node.descriptor = Squeeze();
    EXPECT_TRUE(inferShapes(node, inputs, outputs).ok());
    node.descriptor = Reshape();
    EXPECT_EQ(inferShapes(node, inputs, outputs).message(),
              ": input 1, the shape, can't be left out");
}

TEST(ResolveAxis, CountsFromEitherEnd) {
    EXPECT_EQ(*resolveAxis(1, 3), 1U);
    EXPECT_EQ(*resolveAxis(-1, 3), 2U);
    EXPECT_EQ(*resolveAxis(-3, 3), 0U);
    for (const int32_t axis : {3, -4, std::numeric_limits<int32_t>::min()}) {
        EXPECT_EQ(resolveAxis(axis, 3).status().code(), StatusCode::INVALID_ARGUMENT) << axis;
    }
    EXPECT_FALSE(resolveAxis(0, 0).ok());
}

TEST(InferShapes, RejectsANodeWithoutAKind) {
    EXPECT_FALSE(inferShapes(Node(), {}, {}).ok());
}

TEST(VerifyAndInfer, CarriesShapesFromNodeToNode) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, kUnknown}));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x);
    const TensorId z = addSum(graph, y, addConstant<float>(graph, float32({5}), {1, 2, 3, 4, 5}));
    graph.setOutputs({z});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({2, kUnknown}));
    EXPECT_EQ(graph.tensor(z).type.shape, Shape({2, 5}));
}

TEST(VerifyAndInfer, KeepsWhatTheGraphKnewBetter) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknown}));
    graph.setInputs({x});
    const TensorId y = addNode(graph, Activate(), {x}, "node", {7});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({7}));
}

TEST(VerifyAndInfer, RejectsADeclaredShapeThatCannotBe) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({6}));
    graph.setInputs({x});
    addNode(graph, Activate(), {x}, "operation 0 (RELU)", {7});
    const Status status = verifyAndInfer(graph);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), "operation 0 (RELU): output 0: shape [7] contradicts [6]");
}

TEST(VerifyAndInfer, UsesTheValuesOfConstants) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, 6}));
    graph.setInputs({x});
    const TensorId shape = addConstant<int32_t>(graph, int32({2}), {-1, 4});
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({3, 4}));
}

TEST(VerifyAndInfer, SurvivesIdsOutOfRange) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.addNode({.descriptor = Activate(),
                   .inputs = {99},
                   .outputs = {x},
                   .label = "bad",
                   .sources = {0}});
    EXPECT_EQ(verifyAndInfer(graph).code(), StatusCode::INVALID_ARGUMENT);
    Graph other;
    const TensorId y = other.addTensor(float32({1}));
    other.addNode({.descriptor = Activate(),
                   .inputs = {y},
                   .outputs = {kNoTensor},
                   .label = "bad",
                   .sources = {0}});
    EXPECT_EQ(verifyAndInfer(other).code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::engine
