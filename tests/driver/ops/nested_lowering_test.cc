// SPDX-License-Identifier: Apache-2.0
//
// The graphs inside the nodes of IF and WHILE.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/verifier.h"
#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;

const OperandSpec kPair = floats({2});

Subgraph unary(OperationType type, const OperandSpec& output = kPair) {
    return OperationModel(type).input(kPair).output(output).build().main;
}

// in1 -> IF in0 -> out0, of the subgraphs `then` and `otherwise`.
OperationModel ifOperation(uint32_t then, uint32_t otherwise) {
    return OperationModel(OperationType::IF)
            .input(kFlag)
            .subgraph(then)
            .subgraph(otherwise)
            .input(kPair)
            .output(kPair);
}

// A subgraph that is an IF: its condition is its first input.
Subgraph ifSubgraph(uint32_t then, uint32_t otherwise) {
    ModelBuilder builder;
    const uint32_t value = builder.input(kPair);
    const uint32_t flag = builder.constant<uint8_t>(kFlag, {1});
    const uint32_t thenModel = OperationModel::addReference(builder, then);
    const uint32_t elseModel = OperationModel::addReference(builder, otherwise);
    builder.operation(OperationType::IF, {flag, thenModel, elseModel, value},
                      {builder.output(kPair)});
    return builder.build().main;
}

Status statusOf(const Model& model) {
    return lowerModel(model, Constants(model, poolsOf(model))).status();
}

// `length` subgraphs, each of which refers to the next and to the last, or to the next twice.
Model chain(uint32_t length, bool twice = false) {
    std::vector<Subgraph> subgraphs;
    for (uint32_t next = 1; next < length; ++next) {
        subgraphs.push_back(ifSubgraph(next, twice ? next : length - 1));
    }
    subgraphs.push_back(unary(OperationType::RELU));
    Model model = ifOperation(0, 0).build(std::move(subgraphs));
    model.operandValues = std::make_shared<const std::vector<uint8_t>>(1, uint8_t{1});
    return model;
}

TEST(LoweredIf, HoldsAGraphForEachBranch) {
    const engine::Graph graph = graphOf(
            ifOperation(1, 0).build({unary(OperationType::RELU6), unary(OperationType::LOGISTIC)}));
    ASSERT_EQ(graph.nodes().size(), 1U);
    EXPECT_EQ(namesOf(graph, graph.node(0).inputs), "in0 in1");
    EXPECT_EQ(namesOf(graph, graph.node(0).outputs), "out0");
    const auto node = firstNode<engine::If>(graph);
    using Function = engine::Activate::Function;
    expectNode(inside(node.then), 0, engine::Activate{.function = Function::LOGISTIC}, "in0");
    expectNode(inside(node.otherwise), 0, engine::Activate{.function = Function::RELU6}, "in0");
    ASSERT_EQ(inside(node.then).nodes().size(), 1U);
    EXPECT_EQ(inside(node.then).node(0).label, "operation 0 (LOGISTIC)");
    EXPECT_EQ(inside(node.then).node(0).sources, std::vector<uint32_t>{0});
}

TEST(LoweredWhile, HoldsItsConditionAndItsBody) {
    const Subgraph condition = OperationModel(OperationType::LESS)
                                       .input(floats({1}))
                                       .input(floats({1}))
                                       .output(kFlag)
                                       .build()
                                       .main;
    const Subgraph body = OperationModel(OperationType::MAX_POOL_2D)
                                  .input(floats({1}))
                                  .input(floats({1}))
                                  .output(floats({1}))
                                  .build()
                                  .main;
    Subgraph sum = body;
    sum.operations[0].type = OperationType::OEM_OPERATION;
    const auto model = [&](const Subgraph& loop) {
        return OperationModel(OperationType::WHILE)
                .subgraph(0)
                .subgraph(1)
                .input(floats({1}))
                .input(floats({1}))
                .output(floats({1}))
                .build({condition, loop});
    };
    EXPECT_EQ(statusOf(model(sum)).message(),
              "operation 0 (WHILE): subgraph 1: operation 0 (OEM_OPERATION): Halyard can't run "
              "this operation");
    Subgraph relu = body;
    relu.operations[0] = {.type = OperationType::RELU,
                          .inputs = {relu.inputIndexes[0]},
                          .outputs = relu.outputIndexes};
    const engine::Graph graph = graphOf(model(relu));
    EXPECT_EQ(namesOf(graph, graph.node(0).inputs), "in0 in1");
    const auto node = firstNode<engine::While>(graph);
    expectNode(inside(node.condition), 0,
               engine::Compare{.function = engine::Compare::Function::LESS}, "in0 in1");
    expectNode(inside(node.body), 0, engine::Activate{}, "in0");
    EXPECT_EQ(inside(node.body).inputs().size(), 2U);
}

TEST(NestedLowering, ReadsConstantsThatAllSubgraphsShare) {
    ModelBuilder builder;
    const uint32_t input = builder.input(kPair);
    const uint32_t addend = builder.pooled<float>(kPair, {1, 2});
    const uint32_t activation = builder.int32(1);
    builder.operation(OperationType::ADD, {input, addend, activation}, {builder.output(kPair)});
    const Model branch = builder.build();
    Model model = ifOperation(0, 0).build({branch.main});
    model.operandValues = branch.operandValues;
    model.pools = branch.pools;
    const engine::Graph graph = graphOf(model);
    const auto node = firstNode<engine::If>(graph);
    expectNode(inside(node.then), 0, engine::Binary{.activation = engine::Activation::RELU},
               "in0 constant");
    const engine::Graph& then = inside(node.then);
    ASSERT_EQ(then.nodes().size(), 1U);
    EXPECT_TRUE(then.tensor(then.node(0).inputs[1]).constant.shared);
}

TEST(NestedLowering, KeepsTheModelsPrecision) {
    Model model = ifOperation(0, 0).build({unary(OperationType::RELU)});
    model.relaxComputationFloat32toFloat16 = true;
    const engine::Graph graph = graphOf(model);
    EXPECT_TRUE(inside(firstNode<engine::If>(graph).then).relaxedFloat());
}

TEST(NestedLowering, LowersASubgraphOnceForAllThatReferToIt) {
    const engine::Graph graph = graphOf(ifOperation(0, 0).build({unary(OperationType::RELU)}));
    const auto node = firstNode<engine::If>(graph);
    EXPECT_EQ(node.then.graph, node.otherwise.graph);

    const Model model = chain(2);
    const Constants constants(model, poolsOf(model));
    ModelLowering run(model, constants);
    const Result<engine::NestedGraph> first = run.nested(1);
    const Result<engine::Graph> whole = run.whole();
    ASSERT_TRUE(first.ok() && whole.ok());
    const auto outer = firstNode<engine::If>(*whole);
    const auto inner = firstNode<engine::If>(inside(outer.then));
    EXPECT_EQ(inner.then.graph, first->graph);
}

TEST(NestedLowering, NamesTheOperationInsideThatCantBeRun) {
    const Status status = statusOf(ifOperation(0, 1).build(
            {unary(OperationType::RELU), unary(OperationType::OEM_OPERATION)}));
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(),
              "operation 0 (IF): subgraph 1: operation 0 (OEM_OPERATION): Halyard can't run this "
              "operation");
}

TEST(NestedLowering, RefusesWhatAnOptionTurnsOffAtAnyDepth) {
    const Model model = chain(3);
    const Constants constants(model, poolsOf(model));
    ModelLowering run(model, constants, {OperationType::RELU});
    const Status status = run.whole().status();
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(),
              "operation 0 (IF): subgraph 0: operation 0 (IF): subgraph 1: operation 0 (IF): "
              "subgraph 2: operation 0 (RELU): turned off by option -u");
    EXPECT_EQ(run.operation(0).status().message(), status.message());
}

TEST(NestedLowering, PassesOnThatAConstantInsideBreaksARule) {
    ModelBuilder builder;
    const uint32_t input = builder.input(kPair);
    const uint32_t activation = builder.int32(4);
    builder.operation(OperationType::ADD, {input, input, activation}, {builder.output(kPair)});
    const Model branch = builder.build();
    Model model = ifOperation(0, 0).build({branch.main});
    model.operandValues = branch.operandValues;
    const Status status = statusOf(model);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "operation 0 (IF): subgraph 0: operation 0 (ADD): the activation (input 2, operand "
              "1) is 4, not 0..3");
}

TEST(NestedLowering, GoesAsDeepAsTheEngine) {
    engine::Graph graph = graphOf(chain(engine::kMaxNesting));
    EXPECT_TRUE(engine::verifyAndInfer(graph).ok());
    const Status status = statusOf(chain(engine::kMaxNesting + 1));
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(),
              "operation 0 (IF): with subgraph 0 graphs are nested more than 16 deep");
}

// 2^30 graphs if each reference counted.
TEST(NestedLowering, RefusesABombOfReferences) {
    const Status status = statusOf(chain(30, true));
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(),
              "operation 0 (IF): with subgraph 0 graphs are nested more than 16 deep");
}

// A subgraph that is nested too deep for one operation may not be for another.
TEST(NestedLowering, JudgesEachReferenceByItself) {
    const Model model = chain(20);
    const Constants constants(model, poolsOf(model));
    ModelLowering run(model, constants);
    EXPECT_FALSE(run.operation(0).ok());
    EXPECT_FALSE(run.nested(3).ok());
    EXPECT_TRUE(run.nested(4).ok());
}

TEST(NestedLowering, EndsWhereReferencesRunInACircle) {
    Model model = chain(3);
    model.referenced[1] = ifSubgraph(2, 0);
    EXPECT_EQ(statusOf(model).code(), StatusCode::UNSUPPORTED);
    model.referenced[1] = ifSubgraph(2, 99);
    EXPECT_EQ(statusOf(model).code(), StatusCode::UNSUPPORTED);
}

}  // namespace
}  // namespace halyard::driver
