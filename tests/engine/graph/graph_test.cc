// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
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

TEST(Graph, CopiesConstantsThatNobodyOwns) {
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
    node.descriptor = std::monostate();
    EXPECT_EQ(toString(node.kind()), "no kind");
}

}  // namespace
}  // namespace halyard::engine
