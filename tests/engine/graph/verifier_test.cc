// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/verifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

// x -> activate -> y -> activate -> z
class Verifier : public testing::Test {
  protected:
    Verifier() {
        x = graph.addTensor(float32({1, 4}));
        graph.setInputs({x});
        y = addActivate(graph, x, "first");
        z = addActivate(graph, y, "second");
        graph.setOutputs({z});
    }

    void addBadNode(std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
        graph.addNode({.descriptor = Activate(),
                       .inputs = std::move(inputs),
                       .outputs = std::move(outputs),
                       .label = "bad",
                       .sources = {0}});
    }

    // On a copy, so that nothing inferred stays.
    Status verdict() const {
        Graph copy = graph;
        return verifyAndInfer(copy);
    }

    void expectInvalid(const std::string& message) const {
        const Status status = verdict();
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(status.message(), message);
    }

    Graph graph;
    TensorId x = kNoTensor;
    TensorId y = kNoTensor;
    TensorId z = kNoTensor;
};

TEST_F(Verifier, AcceptsAWellFormedGraph) {
    EXPECT_TRUE(verdict().ok()) << verdict().toString();
}

TEST_F(Verifier, AcceptsOutputsThatRepeatOrAreInputsOrConstants) {
    const TensorId constant = addConstant<float>(graph, float32({1}), {1});
    graph.setOutputs({z, z, x, constant, y});
    EXPECT_TRUE(verdict().ok()) << verdict().toString();
}

TEST_F(Verifier, RejectsIdsOutOfRange) {
    graph.setOutputs({77});
    expectInvalid("graph output 0: tensor 77 does not exist");
    graph.setOutputs({kNoTensor});
    expectInvalid("graph output 0: may not be left out");
    graph.setInputs({x, 78});
    expectInvalid("graph input 1: tensor 78 does not exist");
}

TEST_F(Verifier, RejectsNodesThatReadOrWriteOutOfRange) {
    addBadNode({79}, {graph.addTensor(float32({1, 4}))});
    expectInvalid("bad: input 0: tensor 79 does not exist");
}

TEST_F(Verifier, RejectsNodesThatLeaveOutAnOutput) {
    addBadNode({x}, {kNoTensor});
    expectInvalid("bad: output 0: may not be left out");
}

TEST_F(Verifier, RejectsInputsThatRepeat) {
    graph.setInputs({x, x});
    expectInvalid("graph input 1: tensor 0 has a value already");
}

TEST_F(Verifier, RejectsInputsThatAreConstants) {
    graph.setInputs({x, addConstant<float>(graph, float32({1}), {1})});
    expectInvalid("graph input 1: tensor 3 is a constant");
}

TEST_F(Verifier, RejectsATensorThatIsReadBeforeItIsWritten) {
    const TensorId late = graph.addTensor(float32({1, 4}));
    addBadNode({late}, {graph.addTensor(float32({1, 4}))});
    expectInvalid("bad: input 0: tensor 3 has no value yet");
}

TEST_F(Verifier, RejectsANodeThatReadsWhatItWrites) {
    const TensorId loop = graph.addTensor(float32({1, 4}));
    addBadNode({loop}, {loop});
    expectInvalid("bad: input 0: tensor 3 has no value yet");
}

TEST_F(Verifier, RejectsATensorThatIsWrittenTwice) {
    addBadNode({x}, {z});
    expectInvalid("bad: output 0: tensor 2 has a value already");
}

TEST_F(Verifier, RejectsANodeThatWritesAGraphInput) {
    addBadNode({y}, {x});
    expectInvalid("bad: output 0: tensor 0 has a value already");
}

TEST_F(Verifier, RejectsANodeThatWritesAConstant) {
    addBadNode({x}, {addConstant<float>(graph, float32({1, 4}), {1, 2, 3, 4})});
    expectInvalid("bad: output 0: tensor 3 is a constant");
}

TEST_F(Verifier, RejectsOutputsThatNothingComputes) {
    graph.setOutputs({graph.addTensor(float32({1}))});
    expectInvalid("graph output 0: tensor 3 has no value yet");
}

TEST_F(Verifier, RejectsANodeWithoutAKind) {
    graph.addNode({.descriptor = NodeDescriptor(),
                   .inputs = {x},
                   .outputs = {graph.addTensor(float32({1, 4}))},
                   .label = "bad",
                   .sources = {0}});
    expectInvalid("bad: the node has no kind");
}

TEST_F(Verifier, RejectsTooFewInputsForAKind) {
    addBadNode({}, {graph.addTensor(float32({1, 4}))});
    EXPECT_EQ(verdict().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(Verifier, RejectsTypesThatANodeDoesNotLetDiffer) {
    addBadNode({x}, {graph.addTensor(int32({1, 4}))});
    EXPECT_EQ(verdict().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(Verifier, RejectsShapesThatContradictEachOther) {
    graph.mutableTensor(z).type.shape = {1, 5};
    expectInvalid("second: output 0: shape [1, 5] contradicts [1, 4]");
}

TEST_F(Verifier, InfersShapesInPlace) {
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_EQ(graph.tensor(z).type.shape, Shape({1, 4}));
}

TEST_F(Verifier, RejectsNegativeExtents) {
    graph.mutableTensor(x).type.shape[0] = -7;
    expectInvalid("tensor 0: extent -7 is negative");
}

TEST_F(Verifier, RejectsConstantsWhoseTypeWasChanged) {
    const TensorId constant = addConstant<float>(graph, float32({2}), {1, 2});
    graph.mutableTensor(constant).type.shape = {3};
    expectInvalid("tensor 3: the constant takes 12 bytes but has 8");
    graph.mutableTensor(constant).type.shape = {kUnknownDimension};
    EXPECT_FALSE(verdict().ok());
}

TEST_F(Verifier, RejectsScalesAndZeroPointsThatNoElementCanMean) {
    TensorType type = {.type = DataType::QUANT8_ASYMM_SIGNED, .shape = {1}, .quantization = {}};
    const TensorId tensor = graph.addTensor(type);
    Quantization& quantization = graph.mutableTensor(tensor).type.quantization;
    for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
        quantization.scale = scale;
        expectInvalid("tensor 3: the scale is not positive and finite");
    }
    quantization.scale = 0.5F;
    quantization.zeroPoint = -128;
    EXPECT_TRUE(verdict().ok());
    quantization.zeroPoint = 128;
    expectInvalid("tensor 3: the zero point 128 is not in [-128, 127]");
    graph.mutableTensor(tensor).type.type = DataType::QUANT16_SYMM;
    quantization.zeroPoint = 1;
    expectInvalid("tensor 3: the zero point 1 is not in [0, 0]");
}

TEST_F(Verifier, RejectsPerChannelScalesThatDoNotFitTheShape) {
    const TensorId tensor = graph.addTensor(
            {.type = DataType::QUANT8_SYMM_PER_CHANNEL,
             .shape = {2, 3},
             .quantization = {
                     .scale = 0, .zeroPoint = 0, .channelScales = {1, 2, 3}, .channelDim = 1}});
    EXPECT_TRUE(verdict().ok()) << verdict().toString();
    Quantization& quantization = graph.mutableTensor(tensor).type.quantization;
    quantization.channelDim = 0;
    expectInvalid("tensor 3: there are 3 scales for 2 channels");
    quantization.channelDim = 2;
    expectInvalid("tensor 3: the channel dimension 2 is not below the rank of [2, 3]");
    quantization.channelDim = 1;
    quantization.channelScales = {1, 2, 0};
    expectInvalid("tensor 3: a channel's scale is not positive and finite");
}

TEST_F(Verifier, RejectsScalesOfChannelsInATypeThatHasOne) {
    graph.addTensor(
            {.type = DataType::QUANT8_ASYMM,
             .shape = {2, 3},
             .quantization = {
                     .scale = 1, .zeroPoint = 0, .channelScales = {1, 2}, .channelDim = 0}});
    expectInvalid("tensor 3: a tensor of QUANT8_ASYMM has scales for its channels");
}

TEST_F(Verifier, AcceptsAConstantThatWasPackedAway) {
    const TensorId packed = graph.addPackedConstant(float32({4}), static_cast<ConstantId>(7));
    const TensorId sum = addSum(graph, y, packed);
    graph.setOutputs({sum});
    EXPECT_TRUE(verdict().ok()) << verdict().toString();
    EXPECT_TRUE(graph.tensor(packed).isConstant());
    EXPECT_FALSE(graph.tensor(y).isConstant());
    EXPECT_TRUE(checkElements(Graph()).ok());
    EXPECT_EQ(checkElements(graph).message(), "the elements of constant " + std::to_string(packed) +
                                                      " were packed away by another program");
    graph.mutableTensor(packed).type.shape = {kUnknownDimension};
    EXPECT_EQ(verdict().code(), StatusCode::INVALID_ARGUMENT) << "and has a size all the same";
}

// ---- Control constants --------------------------------------------------------------------------

// x [2, 6] is reshaped to what a constant in a pool of a client says.
class ControlConstant : public testing::Test {
  protected:
    ControlConstant() {
        x = graph.addTensor(float32({2, 6}));
        graph.setInputs({x});
        shape = addShared(int32({2}));
        y = addNode(graph, Reshape(), {x, shape});
        graph.setOutputs({y});
    }

    TensorId addShared(TensorType type) {
        return graph
                .addConstant(std::move(type),
                             {.owner = pool,
                              .bytes = {reinterpret_cast<const uint8_t*>(pool->data()), 8},
                              .shared = true})
                .value();
    }

    std::shared_ptr<std::vector<int32_t>> pool =
            std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{3, 4});
    Graph graph;
    TensorId x = kNoTensor;
    TensorId y = kNoTensor;
    TensorId shape = kNoTensor;
};

TEST_F(ControlConstant, IsCopiedWhereAClientCanWriteToIt) {
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    (*pool)[0] = 1000;
    const ConstantData& constant = graph.tensor(shape).constant;
    EXPECT_FALSE(constant.shared);
    EXPECT_EQ(reinterpret_cast<const int32_t*>(constant.bytes.data())[0], 3);
    EXPECT_EQ(graph.tensor(y).type.shape, Shape({3, 4}));
}

TEST_F(ControlConstant, MayNotHaveBeenPackedAway) {
    graph.replaceConstant(
            shape,
            {.owner = nullptr, .bytes = {}, .shared = false, .id = static_cast<ConstantId>(1)});
    const Status status = verifyAndInfer(graph);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "node: input 1 is its control input, and its elements were packed away");
}

TEST_F(ControlConstant, IsAllThatIsCopied) {
    const TensorId weights = addShared(float32({2}));
    graph.setOutputs({y, weights});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_TRUE(graph.tensor(weights).constant.shared);
    EXPECT_EQ(static_cast<const void*>(graph.tensor(weights).constant.bytes.data()), pool->data());
}

TEST_F(ControlConstant, IsCopiedWithinTheBudget) {
    const auto none = std::make_shared<Budget>(4);
    const Status status = verifyAndInfer(graph, none);
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(status.message().starts_with("node: the private copy of input 1"))
            << status.message();
}

TEST_F(ControlConstant, ShowsInTheControlTensors) {
    const std::vector<bool> control = controlTensors(graph);
    EXPECT_FALSE(control[x]);
    EXPECT_TRUE(control[shape]);
    EXPECT_FALSE(control[y]);
}

// ---- Graphs inside ------------------------------------------------------------------------------

TensorType bool8() {
    return {.type = DataType::BOOL8, .shape = {1}, .quantization = {}};
}

NestedGraph nest(Graph graph) {
    return {.graph = std::make_shared<const Graph>(std::move(graph))};
}

// Takes a condition and a value of unknown shape, and gives the value, activated.
Graph activating() {
    Graph graph;
    const TensorId condition = graph.addTensor(bool8());
    const TensorId value = graph.addTensor(float32(Shape::unknownRank()));
    graph.setInputs({condition, value});
    graph.setOutputs({addActivate(graph, value, "inner")});
    return graph;
}

// Takes the same, and gives what the branch gives.
Graph branching(const NestedGraph& then, const NestedGraph& otherwise,
                const Shape& shape = Shape::unknownRank()) {
    Graph graph;
    const TensorId condition = graph.addTensor(bool8());
    const TensorId value = graph.addTensor(float32(shape));
    graph.setInputs({condition, value});
    graph.setOutputs({addNode(graph, If{.then = then, .otherwise = otherwise},
                              {condition, condition, value}, "branch")});
    return graph;
}

const Graph& thenOf(const Graph& graph) {
    return *std::get<If>(graph.node(0).descriptor).then.graph;
}

TEST(NestedVerification, CarriesShapesIntoBranchesAndOut) {
    const NestedGraph inner = nest(activating());
    Graph graph = branching(inner, inner, {2, 3});
    const Status status = verifyAndInfer(graph);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(graph.tensor(graph.outputs()[0]).type.shape, Shape({2, 3}));
    const Graph& then = thenOf(graph);
    EXPECT_EQ(then.tensor(then.outputs()[0]).type.shape, Shape({2, 3}));
}

TEST(NestedVerification, GivesEachNodeItsOwnCopy) {
    const NestedGraph inner = nest(activating());
    Graph graph = branching(inner, inner, {2, 3});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_NE(std::get<If>(graph.node(0).descriptor).otherwise.graph.get(), &thenOf(graph));
    EXPECT_EQ(inner.graph->tensor(inner.graph->outputs()[0]).type.shape, Shape::unknownRank());
}

TEST(NestedVerification, LeavesALoopsValuesAsTheBodyDeclaresThem) {
    Graph condition = activating();
    condition.setOutputs({condition.inputs()[0]});
    Graph body = activating();
    body.setOutputs({body.inputs()[0], body.outputs()[0]});
    Graph graph;
    const TensorId start = graph.addTensor(bool8());
    const TensorId value = graph.addTensor(float32({2}));
    graph.setInputs({start, value});
    const TensorId stop = graph.addTensor(bool8());
    const TensorId result = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = While{.condition = nest(condition), .body = nest(body)},
                   .inputs = {start, value},
                   .outputs = {stop, result},
                   .label = "loop",
                   .sources = {}});
    graph.setOutputs({result});
    const Status status = verifyAndInfer(graph);
    ASSERT_TRUE(status.ok()) << status.toString();
    const Graph& verified = *std::get<While>(graph.node(0).descriptor).body.graph;
    EXPECT_EQ(verified.tensor(verified.inputs()[1]).type.shape, Shape::unknownRank());
    EXPECT_EQ(graph.tensor(result).type.shape, Shape::unknownRank());
}

TEST(NestedVerification, RejectsWhatIsMissingOrBroken) {
    const NestedGraph inner = nest(activating());
    Graph missing = branching(inner, {});
    EXPECT_EQ(verifyAndInfer(missing).message(), "branch: a graph inside is missing");
    Graph broken = activating();
    broken.setOutputs({99});
    Graph graph = branching(inner, nest(broken));
    EXPECT_EQ(verifyAndInfer(graph).message(), "branch: graph output 0: tensor 99 does not exist");
    Graph other = activating();
    other.setInputs({other.inputs()[1]});
    graph = branching(inner, nest(other));
    EXPECT_EQ(verifyAndInfer(graph).message(), "branch: a graph with 1 inputs is given 2");
}

TEST(NestedVerification, EndsAtTheMostDepth) {
    const NestedGraph flat = nest(activating());
    Graph graph = activating();
    for (size_t depth = 0; depth < kMaxNesting; ++depth) {
        graph = branching(nest(graph), flat);
    }
    Graph deepest = graph;
    EXPECT_TRUE(verifyAndInfer(deepest).ok());
    graph = branching(nest(graph), flat);
    EXPECT_EQ(verifyAndInfer(graph).code(), StatusCode::UNSUPPORTED);
}

TEST(NestedVerification, EndsAtTheMostNodes) {
    Graph many = activating();
    for (size_t i = 0; i < kMaxNestedNodes / 2; ++i) {
        addActivate(many, many.inputs()[1]);
    }
    const NestedGraph shared = nest(many);
    Graph graph = branching(shared, shared);
    EXPECT_EQ(verifyAndInfer(graph).code(), StatusCode::UNSUPPORTED);
}

// The shape that a Reshape inside a branch reads is a value of the branch.
TEST(NestedVerification, KnowsTheControlInputsInside) {
    Graph inner;
    const TensorId x = inner.addTensor(float32({2, 6}));
    const TensorId shape = inner.addTensor(int32({2}));
    inner.setInputs({x, shape});
    inner.setOutputs({addNode(inner, Reshape(), {x, shape})});
    const auto pool = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{3, 4});
    Graph graph;
    const TensorId condition = graph.addTensor(bool8());
    const TensorId value = graph.addTensor(float32({2, 6}));
    graph.setInputs({condition, value});
    const TensorId asked =
            graph.addConstant(int32({2}),
                              {.owner = pool,
                               .bytes = {reinterpret_cast<const uint8_t*>(pool->data()), 8},
                               .shared = true})
                    .value();
    graph.setOutputs({addNode(graph, If{.then = nest(inner), .otherwise = nest(inner)},
                              {condition, value, asked})});
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    const std::vector<bool> control = controlTensors(graph);
    EXPECT_TRUE(control[condition]);
    EXPECT_FALSE(control[value]);
    EXPECT_TRUE(control[asked]);
    EXPECT_FALSE(graph.tensor(asked).constant.shared) << "a private copy";
}

TEST(Verification, StopsWhenItMust) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    const std::atomic<bool> cancelled = true;
    EXPECT_EQ(verifyAndInfer(graph, nullptr, Checkpoint(std::nullopt, &cancelled)).code(),
              StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace halyard::engine
