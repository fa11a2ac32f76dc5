// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/multiply_adds.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

// Of a node with inputs and one output of these shapes.
uint64_t countOf(NodeDescriptor descriptor, const std::vector<Shape>& inputs, Shape output) {
    Graph graph;
    Node node = {.descriptor = std::move(descriptor),
                 .inputs = {},
                 .outputs = {},
                 .label = "node",
                 .sources = {}};
    for (const Shape& shape : inputs) {
        node.inputs.push_back(shape.hasKnownRank() ? graph.addTensor(float32(shape)) : kNoTensor);
    }
    node.outputs.push_back(graph.addTensor(float32(output)));
    graph.addNode(std::move(node));
    return multiplyAdds(graph, graph.node(0));
}

const Shape kOmitted = Shape::unknownRank();

TEST(MultiplyAdds, OfAConvolutionAreTheFilterForEachPixel) {
    EXPECT_EQ(countOf(Conv2d(), {{1, 8, 8, 3}, {16, 3, 3, 3}, {16}}, {1, 8, 8, 16}),
              8U * 8 * 16 * 3 * 3 * 3);
    EXPECT_EQ(countOf(Conv2d{.groups = 4}, {{1, 8, 8, 8}, {16, 1, 1, 2}, {16}}, {1, 8, 8, 16}),
              8U * 8 * 16 * 2)
            << "a group reads its own channels only";
    EXPECT_EQ(countOf(DepthwiseConv2d(), {{2, 8, 8, 4}, {1, 3, 5, 4}, {4}}, {2, 6, 4, 4}),
              2U * 6 * 4 * 4 * 3 * 5);
    EXPECT_EQ(countOf(TransposeConv2d(), {{1, 4, 4, 3}, {5, 2, 2, 3}, {5}}, {1, 8, 8, 5}),
              4U * 4 * 3 * 5 * 2 * 2)
            << "each element of x goes to every output channel";
}

TEST(MultiplyAdds, OfMatricesAreTheInnerExtentForEachElement) {
    EXPECT_EQ(countOf(FullyConnected(), {{2, 3, 4}, {5, 12}, {5}}, {2, 5}), 2U * 12 * 5);
    EXPECT_EQ(countOf(BatchMatmul(), {{7, 2, 3}, {7, 3, 4}}, {7, 2, 4}), 7U * 2 * 3 * 4);
    EXPECT_EQ(countOf(BatchMatmul{.transposeA = true}, {{7, 3, 2}, {7, 3, 4}}, {7, 2, 4}),
              7U * 2 * 3 * 4);
}

TEST(MultiplyAdds, OfRecurrenceAreTheWeightsForEachStep) {
    // b 2, k 3, n 4, t 5
    EXPECT_EQ(countOf(Rnn(), {{2, 3}, {4, 3}, {4, 4}, {4}, {2, 4}}, {2, 4}), 2U * (4 * 3 + 4 * 4));
    EXPECT_EQ(countOf(RnnSequence(), {{5, 2, 3}, {4, 3}, {4, 4}, {4}, {2, 4}}, {5, 2, 4}),
              5U * 2 * (4 * 3 + 4 * 4));
    std::vector<Shape> lstm = {{2, 3},   kOmitted, {4, 3}, {4, 3}, {4, 3},
                               kOmitted, {4, 4},   {4, 4}, {4, 4}};
    EXPECT_EQ(countOf(Lstm(), lstm, {2, 12}), 2U * 3 * (4 * 3 + 4 * 4)) << "CIFG has three gates";
    lstm.resize(16, kOmitted);
    lstm.push_back({6, 4});
    lstm[0] = {5, 2, 3};
    EXPECT_EQ(countOf(LstmSequence(), lstm, {5, 2, 6}), 5U * 2 * (3 * (4 * 3 + 4 * 4) + 6 * 4))
            << "and a projection";
}

TEST(MultiplyAdds, AreNoneForKindsWithoutWeightsAndForUnknownShapes) {
    EXPECT_EQ(countOf(Activate(), {{100}}, {100}), 0U);
    EXPECT_EQ(countOf(Pool2d(), {{1, 8, 8, 3}}, {1, 4, 4, 3}), 0U);
    EXPECT_EQ(countOf(Conv2d(), {{-1, 8, 8, 3}, {16, 3, 3, 3}, {16}}, {-1, 8, 8, 16}), 0U);
    EXPECT_EQ(countOf(FullyConnected(), {{-1, 4}, {5, 4}, {5}}, {-1, 5}), 0U);
}

}  // namespace
}  // namespace halyard::engine
