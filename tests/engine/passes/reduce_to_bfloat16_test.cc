// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/reduce_to_bfloat16.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "engine/base/half.h"
#include "engine/passes/optimize.h"
#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

Graph reduced(Graph graph, FloatPrecision precision = FloatPrecision::BFLOAT16) {
    const Result<bool> done = optimize(graph, {.precision = precision});
    EXPECT_TRUE(done.ok()) << done.status().toString();
    return graph;
}

std::vector<float> elementsOf(const Graph& graph, TensorId constant) {
    const std::span<const uint8_t> bytes = graph.tensor(constant).constant.bytes;
    std::vector<float> elements(bytes.size() / sizeof(float));
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
}

TEST(ReduceToBfloat16, RoundsWeightsAndNothingElse) {
    TestGraph test;
    const TensorId x = test.input(floatType({3, 16}));
    const TensorId weights = test.constant(floatType({5, 16}));
    const TensorId bias = test.constant(floatType({5}));
    const TensorId offset = test.constant(floatType({3, 5}));
    const TensorId y = test.node(FullyConnected(), {x, weights, bias});
    const Graph before = test.build({test.node(Binary(), {y, offset})});
    const Graph graph = reduced(before);
    ASSERT_EQ(kindsOf(graph), (Kinds{"FullyConnected", "Binary"}));
    const std::vector<float> old = elementsOf(before, weights);
    const std::vector<float> rounded = elementsOf(graph, graph.node(0).inputs[1]);
    ASSERT_EQ(rounded.size(), old.size());
    for (size_t i = 0; i < old.size(); ++i) {
        EXPECT_EQ(rounded[i], toFloat(toBFloat16(old[i])));
    }
    EXPECT_EQ(elementsOf(graph, graph.node(0).inputs[2]), elementsOf(before, bias));
    EXPECT_EQ(elementsOf(graph, graph.node(1).inputs[1]), elementsOf(before, offset));
    EXPECT_EQ(graph.node(0).sources, std::vector<uint32_t>{0});
    // Eight bits of each product.
    EXPECT_TRUE(computeTheSame(before, graph, test.random(), 2e-2));
}

TEST(ReduceToBfloat16, LeavesGraphsAloneUnlessAskedFor) {
    TestGraph test;
    const TensorId x = test.input(floatType({3, 4}));
    Graph graph = test.build({test.node(FullyConnected(), {x, test.constant(floatType({5, 4})),
                                                           test.constant(floatType({5}))})});
    graph.setRelaxedFloat(true);
    const std::vector<float> old = elementsOf(graph, graph.node(0).inputs[1]);
    const Graph same = reduced(graph, FloatPrecision::FLOAT32);
    EXPECT_EQ(elementsOf(same, same.node(0).inputs[1]), old);
}

TEST(ReduceToBfloat16, LeavesQuantizedWeightsAndThoseThatWouldOverflow) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 2}));
    const TensorId largest =
            test.constant(ref_test::floats({1, 2}, {std::numeric_limits<float>::max(), 1.001F}));
    const TensorId y = test.node(FullyConnected(), {x, largest, test.constant(floatType({1}))});
    const TensorId bytes = test.input(typeOf(DataType::QUANT8_ASYMM, {1, 2}, 0.5F, 3));
    const TensorId filter = test.constant(typeOf(DataType::QUANT8_ASYMM, {1, 2}, 0.5F, 3));
    TensorType biasType = typeOf(DataType::INT32, {1});
    biasType.quantization.scale = 0.25F;
    const TensorId z = test.node(
            FullyConnected(),
            {bytes, filter, test.constant(ref_test::pack(biasType, std::vector<int32_t>{1}))});
    Graph graph = test.build({y, z});
    const Result<bool> done = optimize(graph, {.precision = FloatPrecision::BFLOAT16});
    ASSERT_TRUE(done.ok());
    EXPECT_FALSE(*done);
}

}  // namespace
}  // namespace halyard::engine::pass_test
