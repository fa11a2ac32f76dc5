// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/verifier.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
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
                       .source = 0});
    }

    void expectInvalid(const std::string& message) const {
        const Status status = verify(graph);
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(status.message(), message);
    }

    Graph graph;
    TensorId x = kNoTensor;
    TensorId y = kNoTensor;
    TensorId z = kNoTensor;
};

TEST_F(Verifier, AcceptsAWellFormedGraph) {
    EXPECT_TRUE(verify(graph).ok()) << verify(graph).toString();
}

TEST_F(Verifier, AcceptsOutputsThatRepeatOrAreInputsOrConstants) {
    const TensorId constant = addConstant<float>(graph, float32({1}), {1});
    graph.setOutputs({z, z, x, constant, y});
    EXPECT_TRUE(verify(graph).ok()) << verify(graph).toString();
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
    graph.addNode({.descriptor = std::monostate(),
                   .inputs = {x},
                   .outputs = {graph.addTensor(float32({1, 4}))},
                   .label = "bad",
                   .source = 0});
    expectInvalid("bad: the node has no kind");
}

TEST_F(Verifier, RejectsTooFewInputsForAKind) {
    addBadNode({}, {graph.addTensor(float32({1, 4}))});
    EXPECT_EQ(verify(graph).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(Verifier, RejectsTypesThatANodeDoesNotLetDiffer) {
    addBadNode({x}, {graph.addTensor(int32({1, 4}))});
    EXPECT_EQ(verify(graph).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(Verifier, RejectsShapesThatContradictEachOther) {
    graph.mutableTensor(z).type.shape = {1, 5};
    expectInvalid("second: output 0: shape [1, 5] contradicts [1, 4]");
}

TEST_F(Verifier, LeavesTheGraphAsItIs) {
    ASSERT_TRUE(verify(graph).ok());
    EXPECT_EQ(graph.tensor(z).type.shape, Shape::unknownRank());
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
    EXPECT_FALSE(verify(graph).ok());
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
    EXPECT_TRUE(verify(graph).ok());
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
    EXPECT_TRUE(verify(graph).ok()) << verify(graph).toString();
    Quantization& quantization = graph.mutableTensor(tensor).type.quantization;
    quantization.channelDim = 0;
    expectInvalid("tensor 3: there are 3 scales for 2 channels");
    quantization.channelDim = 2;
    expectInvalid("tensor 3: the channel dimension 2 is not below the rank of [2, 3]");
    quantization.channelDim = 1;
    quantization.channelScales[2] = 0;
    expectInvalid("tensor 3: a channel's scale is not positive and finite");
}

}  // namespace
}  // namespace halyard::engine
