// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace halyard::engine {
namespace {

using Bytes = std::vector<uint8_t>;

TensorType int32s(Shape shape) {
    return {.type = DataType::INT32, .shape = shape, .quantization = {}};
}

TEST(Graph, KeepsAlignedConstantsWhereTheyAre) {
    const auto pool = std::make_shared<const Bytes>(16);
    Graph graph;
    const Result<TensorId> id = graph.addConstant(
            int32s({2}), {.owner = pool, .bytes = std::span(*pool).subspan(4, 8)});
    ASSERT_TRUE(id.ok()) << id.status().toString();
    EXPECT_EQ(graph.tensor(*id).constant.bytes.data(), pool->data() + 4);
    EXPECT_EQ(pool.use_count(), 2) << "the graph keeps the pool alive";
}

TEST(Graph, CopiesConstantsThatAreNotAlignedToTheirElements) {
    const auto pool = std::make_shared<Bytes>(16);
    const int32_t value = 123456789;
    std::memcpy(pool->data() + 3, &value, sizeof(value));
    Graph graph;
    const Result<TensorId> id =
            graph.addConstant(int32s({}), {.owner = pool, .bytes = std::span(*pool).subspan(3, 4)});
    ASSERT_TRUE(id.ok()) << id.status().toString();
    const ConstantData& constant = graph.tensor(*id).constant;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.bytes.data()) % 4, 0U);
    EXPECT_EQ(std::memcmp(constant.bytes.data(), &value, sizeof(value)), 0);
    EXPECT_EQ(pool.use_count(), 1) << "the pool is not needed any more";
}

TEST(Graph, CopiesConstantsWithoutAnOwner) {
    Graph graph;
    Bytes bytes = {1, 0, 0, 0};
    const Result<TensorId> id = graph.addConstant(int32s({1}), {.owner = nullptr, .bytes = bytes});
    ASSERT_TRUE(id.ok()) << id.status().toString();
    bytes[0] = 9;
    EXPECT_TRUE(graph.tensor(*id).isConstant());
    EXPECT_EQ(graph.tensor(*id).constant.bytes[0], 1);
}

TEST(Graph, TakesConstantsWithoutElements) {
    Graph graph;
    const Result<TensorId> id = graph.addConstant(int32s({0, 3}), {});
    ASSERT_TRUE(id.ok()) << id.status().toString();
    EXPECT_TRUE(graph.tensor(*id).isConstant());
    EXPECT_NE(graph.tensor(*id).constant.bytes.data(), nullptr);
    EXPECT_TRUE(graph.tensor(*id).constant.bytes.empty());
}

TEST(Graph, RejectsConstantsWhoseBytesDoNotMatchTheirType) {
    Graph graph;
    const Bytes bytes(7);
    EXPECT_EQ(graph.addConstant(int32s({2}), {.owner = nullptr, .bytes = bytes}).status().code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_FALSE(graph.addConstant(int32s({-1}), {.owner = nullptr, .bytes = bytes}).ok());
    EXPECT_TRUE(graph.tensors().empty());
}

TEST(Graph, NumbersTensorsAndNodesAsTheyCome) {
    Graph graph;
    EXPECT_EQ(graph.addTensor(int32s({1})), 0U);
    EXPECT_EQ(graph.addTensor(int32s({2})), 1U);
    EXPECT_EQ(graph.addNode({}), 0U);
    EXPECT_EQ(graph.addNode({}), 1U);
    EXPECT_FALSE(graph.tensor(0).isConstant());
}

TEST(NodeKind, OfANodeIsThatOfItsDescriptor) {
    Node node;
    node.descriptor = Softmax();
    EXPECT_EQ(node.kind(), NodeKind::Softmax);
    EXPECT_EQ(toString(node.kind()), "Softmax");
    node.descriptor = NodeDescriptor();
    EXPECT_EQ(toString(node.kind()), "no kind");
}

Graph twoTensors(int32_t value) {
    Graph graph;
    Bytes bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    (void)graph.addConstant(int32s({1}), {.owner = nullptr, .bytes = bytes});
    graph.addTensor(int32s({1}));
    graph.addNode({.descriptor = Unary(),
                   .inputs = {0},
                   .outputs = {1},
                   .label = "label " + std::to_string(value),
                   .sources = {3}});
    graph.setOutputs({1});
    return graph;
}

TEST(Graph, IsEqualToAnotherByItsContent) {
    const Graph graph = twoTensors(7);
    EXPECT_TRUE(graph == twoTensors(7)) << "with elements in another place";
    EXPECT_FALSE(graph == twoTensors(8));
    Graph other = twoTensors(7);
    other.mutableNode(0).label = "another";
    EXPECT_TRUE(graph == other) << "labels are for people";
    other.mutableNode(0).sources = {4};
    EXPECT_FALSE(graph == other);
    other = twoTensors(7);
    other.mutableNode(0).descriptor = Unary{.function = Unary::Function::NEG};
    EXPECT_FALSE(graph == other);
    other = twoTensors(7);
    other.mutableTensor(1).type.shape = {2};
    EXPECT_FALSE(graph == other);
    other = twoTensors(7);
    other.setRelaxedFloat(true);
    EXPECT_FALSE(graph == other);
    other = twoTensors(7);
    other.addVanished({.operation = 1, .fate = "folded"});
    EXPECT_FALSE(graph == other);
}

TEST(NestedGraph, IsEqualToAnotherByItsContent) {
    const auto nested = [](int32_t value) {
        return NestedGraph{.graph = std::make_shared<const Graph>(twoTensors(value))};
    };
    EXPECT_TRUE(nested(7) == nested(7));
    EXPECT_FALSE(nested(7) == nested(8));
    EXPECT_FALSE(nested(7) == NestedGraph());
    EXPECT_TRUE(NestedGraph() == NestedGraph());
}

TEST(NestedGraph, AreThoseOfIfAndWhile) {
    Node node;
    node.descriptor = If();
    EXPECT_EQ(nestedGraphs(node).size(), 2U);
    node.descriptor = While();
    EXPECT_EQ(nestedGraphs(node).size(), 2U);
    node.descriptor = Unary();
    EXPECT_TRUE(nestedGraphs(node).empty());
}

}  // namespace
}  // namespace halyard::engine
