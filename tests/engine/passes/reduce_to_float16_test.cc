// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/reduce_to_float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "engine/passes/optimize.h"
#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

constexpr double kRounding = 4e-3;

Graph toFloat16(Graph graph) {
    const Result<bool> done =
            optimize(graph, {.keepRounding = false, .precision = FloatPrecision::FLOAT16});
    EXPECT_TRUE(done.ok()) << done.status().toString();
    return graph;
}

TensorId convolve(TestGraph& test, TensorId x, int32_t channels) {
    const int32_t depth = test.type(x).shape[3];
    return test.node(Conv2d(), {x, test.constant(floatType({channels, 3, 3, depth})),
                                test.constant(floatType({channels}))});
}

std::vector<DataType> floatTypesOf(const Graph& graph, const Node& node) {
    std::vector<DataType> types;
    for (const TensorId id : node.inputs) {
        types.push_back(graph.tensor(id).type.type);
    }
    for (const TensorId id : node.outputs) {
        types.push_back(graph.tensor(id).type.type);
    }
    std::erase_if(types, [](DataType type) { return !isFloat(type); });
    return types;
}

TEST(ReduceToFloat16, ConvertsAtTheBordersOfTheGraphAlone) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 12, 12, 2}));
    TensorId y = convolve(test, x, 3);
    y = test.node(Activate{.function = Activate::Function::LOGISTIC}, {convolve(test, y, 4)});
    const TensorId z = test.node(Binary(), {y, y});
    const Graph before = test.build({z});
    const Graph graph = toFloat16(before);
    EXPECT_EQ(kindsOf(graph), (Kinds{"Cast", "Conv2d", "Conv2d", "Activate", "Binary", "Cast"}));
    for (const Node& node : graph.nodes()) {
        if (node.kind() != NodeKind::Cast) {
            for (const DataType type : floatTypesOf(graph, node)) {
                EXPECT_EQ(type, DataType::FLOAT16);
            }
        }
    }
    EXPECT_TRUE(computeTheSame(before, graph, test.random(), kRounding));
}

TEST(ReduceToFloat16, LeavesGraphsAloneUnlessAskedFor) {
    TestGraph test;
    const Graph before = test.build({convolve(test, test.input(floatType({1, 8, 8, 2})), 3)});
    for (const FloatPrecision precision : {FloatPrecision::FLOAT32, FloatPrecision::BFLOAT16}) {
        for (const bool relaxed : {false, true}) {
            Graph graph = before;
            graph.setRelaxedFloat(relaxed);
            ASSERT_TRUE(optimize(graph, {.precision = precision}).ok());
            EXPECT_EQ(kindsOf(graph), Kinds{"Conv2d"});
        }
    }
}

TEST(ReduceToFloat16, ConvertsRelaxedGraphsWhereBackendsAreFasterSo) {
    TestGraph test;
    const Graph before = test.build({convolve(test, test.input(floatType({1, 8, 8, 2})), 3)});
    for (const bool relaxed : {false, true}) {
        Graph graph = before;
        graph.setRelaxedFloat(relaxed);
        ASSERT_TRUE(optimize(graph, {.relaxedAsFloat16 = true}).ok());
        EXPECT_EQ(kindsOf(graph), relaxed ? (Kinds{"Cast", "Conv2d", "Cast"}) : Kinds{"Conv2d"});
    }
}

TEST(ReduceToFloat16, LetsSumsBeOfThatPrecisionToo) {
    TestGraph test;
    const Graph graph =
            toFloat16(test.build({convolve(test, test.input(floatType({1, 8, 8, 2})), 3)}));
    EXPECT_TRUE(graph.relaxedFloat());
}

TEST(ReduceToFloat16, HasNothingToDoASecondTime) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 8, 8, 2}));
    Graph graph = toFloat16(test.build({convolve(test, x, 2), x}));
    const Result<bool> again = optimize(graph, {.precision = FloatPrecision::FLOAT16});
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(*again);
}

TEST(ReduceToFloat16, ConvertsAConstantOnceForAllItsReaders) {
    TestGraph test;
    const TensorId c = test.constant(floatType({4}));
    const TensorId x = test.input(floatType({3, 4}));
    const TensorId sum = test.node(Binary(), {x, c});
    const TensorId product = test.node(Binary{.function = Binary::Function::MUL}, {sum, c});
    const Graph graph = toFloat16(test.build({product}));
    ASSERT_EQ(kindsOf(graph), (Kinds{"Cast", "Binary", "Binary", "Cast"}));
    EXPECT_EQ(graph.node(1).inputs[1], graph.node(2).inputs[1]);
    EXPECT_TRUE(graph.tensor(graph.node(1).inputs[1]).isConstant());
}

TEST(ReduceToFloat16, KeepsReadersOfConstantsThatAreTooLarge) {
    TestGraph test;
    const TensorId x = test.input(floatType({2}));
    const TensorId far = test.constant(ref_test::floats({2}, {1e6F, 1}));
    const TensorId scaled = test.node(Binary{.function = Binary::Function::DIV}, {x, far});
    const Graph before = test.build({test.node(Binary(), {scaled, x})});
    const Graph graph = toFloat16(before);
    EXPECT_EQ(kindsOf(graph), (Kinds{"Binary", "Cast", "Cast", "Binary", "Cast"}));
    EXPECT_EQ(graph.tensor(graph.node(0).inputs[1]).type.type, DataType::FLOAT32);
    EXPECT_TRUE(computeTheSame(before, graph, test.random(), kRounding));
}

// Scores and shapes are control inputs; what is quantised stays bit for bit.
TEST(ReduceToFloat16, LeavesQuantizedPartsAndControlInputsAsTheyAre) {
    TestGraph test;
    const TensorType bytes = typeOf(DataType::QUANT8_ASYMM, {1, 6, 6, 2}, 0.05F, 10);
    const TensorId x = test.input(bytes);
    const TensorId pooled = test.node(Pool2d{.filterH = 2, .filterW = 2}, {x});
    const TensorId real = test.node(Dequantize(), {pooled}, floatType({}));
    const TensorId shape = test.ints({-1, 2});
    const TensorId flat = test.node(Reshape(), {real, shape});
    const Graph before = test.build({pooled, test.node(Softmax(), {flat})});
    const Graph graph = toFloat16(before);
    EXPECT_EQ(kindsOf(graph), (Kinds{"Pool2d", "Reshape", "Dequantize", "Softmax", "Cast"}));
    EXPECT_EQ(graph.tensor(graph.node(1).inputs[1]).type.type, DataType::INT32);
    EXPECT_TRUE(computeTheSame(before, graph, test.random(), kRounding));

    TestGraph found;
    const TensorId scores = found.input(floatType({1, 4, 2}));
    const TensorId anchors = found.constant(ref_test::floats(
            {4, 4}, {.5F, .5F, 1, 1, .5F, .5F, 1, 1, .5F, .5F, 1, 1, .5F, .5F, 1, 1}));
    const TensorId deltas = found.input(floatType({1, 4, 4}));
    Graph detection = found.graph();
    Node node = {.descriptor = DetectionPostprocess{.maxDetections = 2},
                 .inputs = {scores, deltas, anchors},
                 .outputs = {},
                 .label = "detection",
                 .sources = {0}};
    for (const DataType output :
         {DataType::FLOAT32, DataType::FLOAT32, DataType::INT32, DataType::INT32}) {
        TensorType type = typeOf(output, {});
        type.shape = Shape::unknownRank();
        node.outputs.push_back(detection.addTensor(type));
    }
    detection.addNode(node);
    detection.setInputs({scores, deltas});
    detection.setOutputs(node.outputs);
    ASSERT_TRUE(verifyAndInfer(detection).ok());
    EXPECT_EQ(kindsOf(toFloat16(detection)), Kinds{"DetectionPostprocess"});
}

// Nothing casts what is not there.
TEST(ReduceToFloat16, LeavesReadersOfInputsThatARunMayLeaveOut) {
    const auto padded = [](bool byInput) {
        TestGraph test;
        const TensorId x =
                test.node(Unary{.function = Unary::Function::NEG}, {test.input(floatType({2, 3}))});
        const TensorId value =
                byInput ? test.input(floatType({1})) : test.constant(ref_test::floats({1}, {0.5F}));
        return kindsOf(
                toFloat16(test.build({test.node(Pad(), {x, test.paddings({0, 1, 1, 0}), value})})));
    };
    EXPECT_EQ(padded(true), (Kinds{"Cast", "Unary", "Cast", "Pad"}));
    EXPECT_EQ(padded(false), (Kinds{"Cast", "Unary", "Pad", "Cast"}));
}

TEST(ReduceToFloat16, LosesNoOperation) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 12, 12, 2}));
    const TensorId a = convolve(test, x, 2);
    const TensorId b = convolve(test, a, 3);
    const Graph graph = toFloat16(test.build({a, b}));
    std::set<uint32_t> operations;
    for (const Node& node : graph.nodes()) {
        EXPECT_FALSE(node.sources.empty());
        EXPECT_FALSE(node.label.empty());
        operations.insert(node.sources.begin(), node.sources.end());
    }
    EXPECT_EQ(operations, (std::set<uint32_t>{0, 1}));
    EXPECT_EQ(kindsOf(graph), (Kinds{"Cast", "Conv2d", "Cast", "Conv2d", "Cast"}));
}

TEST(ReduceToFloat16, ReachesGraphsInside) {
    const auto branch = [] {
        TestGraph inside;
        const TensorId x = inside.input(floatType({2}));
        return NestedGraph{std::make_shared<const Graph>(
                inside.build({inside.node(Unary{.function = Unary::Function::SIN}, {x})}))};
    };
    TestGraph test;
    const TensorId condition = test.input(typeOf(DataType::BOOL8, {1}));
    const TensorId x = test.input(floatType({2}));
    const TensorId y =
            test.node(If{.then = branch(), .otherwise = branch()}, {condition, x}, floatType({}));
    const Graph graph = toFloat16(test.build({y}));
    ASSERT_EQ(kindsOf(graph), Kinds{"If"});
    EXPECT_EQ(kindsOf(*nestedGraphs(graph.node(0))[0]->graph), (Kinds{"Cast", "Unary", "Cast"}));
}

}  // namespace
}  // namespace halyard::engine::pass_test
