// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

constexpr int64_t kRelu = static_cast<int64_t>(FusedActivation::RELU);
constexpr int64_t kTanh = static_cast<int64_t>(FusedActivation::TANH);

// A cell of one unit: 2 x + 3 h + 1, or with weights of INT8 of a scale of a half.
struct Cell {
    ModelBuilder builder;
    int32_t x = 0;
    int32_t weights = 0;
    int32_t recurrent = 0;
    int32_t bias = 0;
    int32_t state = 0;
    int32_t output = 0;

    explicit Cell(const Extents& shape, bool isHybrid = false) {
        x = builder.input(ElementType::FLOAT32, shape);
        const TensorQuantization half = {.scales = {0.5F}, .zeroPoints = {0}};
        weights = isHybrid ? builder.constant(ElementType::INT8, {1, 1}, {4}, half)
                           : builder.floats({1, 1}, {2});
        recurrent = isHybrid ? builder.constant(ElementType::INT8, {1, 1}, {6}, half)
                             : builder.floats({1, 1}, {3});
        bias = builder.floats({1}, {1});
        state = builder.variable(ElementType::FLOAT32, {1, 1});
        output = builder.tensor(ElementType::FLOAT32, {});
        builder.output(output);
    }
    void add(OperatorCode code, const std::map<size_t, OptionValue>& options) {
        builder.add(code, {x, weights, recurrent, bias, state}, {output}, options);
    }
};

TEST(RecurrentTest, ARunReadsTheStateThatTheLastOneLeft) {
    for (const bool isHybrid : {false, true}) {
        Cell cell({1, 1}, isHybrid);
        cell.add(OperatorCode::RNN, {{RnnOptions::kFusedActivationFunction, integer(kRelu)}});
        const Outcome first = run(cell.builder.model(), {{cell.x, bytesOf(Floats{1})}});
        ASSERT_TRUE(first.status.ok()) << first.status.toString();
        EXPECT_EQ(first.floats(cell.output), (Floats{3}));
        EXPECT_EQ(first.floats(cell.state), (Floats{3}));
        const Outcome second = run(cell.builder.model(), {{cell.x, bytesOf(Floats{1})},
                                                          {cell.state, first[cell.state].bytes}});
        EXPECT_EQ(second.floats(cell.output), (Floats{12}));
    }
}

TEST(RecurrentTest, TanhOfAStepIsItsStateAsWell) {
    Cell cell({1, 1});
    cell.add(OperatorCode::RNN, {{RnnOptions::kFusedActivationFunction, integer(kTanh)}});
    const Outcome found = run(cell.builder.model(), {{cell.x, bytesOf(Floats{-0.25F})}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_FLOAT_EQ(found.floats(cell.output)[0], std::tanh(0.5F));
    EXPECT_FLOAT_EQ(found.floats(cell.state)[0], std::tanh(0.5F));
}

TEST(RecurrentTest, ALaterReaderOfAStateHasWhatItBecame) {
    Cell cell({1, 1});
    cell.add(OperatorCode::RNN, {});
    const int32_t later = cell.builder.tensor(ElementType::FLOAT32, {1, 1});
    cell.builder.add(OperatorCode::RESHAPE, {cell.state}, {later},
                     {{ReshapeOptions::kNewShape, list({1, 1})}});
    cell.builder.output(later);
    EXPECT_EQ(run(cell.builder.model(), {{cell.x, bytesOf(Floats{1})}}).floats(later), (Floats{3}));
}

TEST(RecurrentTest, AStateThatIsNoVariableIsRefused) {
    Cell cell({1, 1});
    cell.builder.graph().tensors[static_cast<size_t>(cell.state)].isVariable = false;
    cell.add(OperatorCode::RNN, {});
    EXPECT_TRUE(has(reasonOf(cell.builder.model()), "is no variable"));
}

TEST(RecurrentTest, ASequenceTakesItsStepsInOrder) {
    Cell cell({1, 2, 1});
    cell.add(OperatorCode::UNIDIRECTIONAL_SEQUENCE_RNN, {});
    const Outcome found = run(cell.builder.model(), {{cell.x, bytesOf(Floats{1, 2})}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(cell.output), (Floats{3, 14}));
    EXPECT_EQ(found.floats(cell.state), (Floats{14}));
    Cell timed({2, 1, 1});
    timed.add(OperatorCode::UNIDIRECTIONAL_SEQUENCE_RNN,
              {{SequenceRnnOptions::kTimeMajor, integer(1)}});
    EXPECT_EQ(run(timed.builder.model(), {{timed.x, bytesOf(Floats{1, 2})}}).floats(timed.output),
              (Floats{3, 14}));
}

TEST(RecurrentTest, ASequenceRefusesTanh) {
    Cell cell({1, 2, 1});
    cell.add(OperatorCode::UNIDIRECTIONAL_SEQUENCE_RNN,
             {{SequenceRnnOptions::kFusedActivationFunction, integer(kTanh)}});
    EXPECT_TRUE(has(reasonOf(cell.builder.model()), "TANH or SIGMOID"));
}

TEST(RecurrentTest, BothDirectionsAreMergedOrApart) {
    for (const bool merges : {false, true}) {
        Cell cell({1, 2, 1});
        const int32_t weights = cell.builder.floats({1, 1}, {1});
        const int32_t recurrent = cell.builder.floats({1, 1}, {10});
        const int32_t bias = cell.builder.floats({1}, {0});
        const int32_t state = cell.builder.variable(ElementType::FLOAT32, {1, 1});
        std::vector<int32_t> outputs = {cell.output};
        if (!merges) {
            outputs.push_back(cell.builder.tensor(ElementType::FLOAT32, {}));
            cell.builder.output(outputs[1]);
        }
        cell.builder.add(
                OperatorCode::BIDIRECTIONAL_SEQUENCE_RNN,
                {cell.x, cell.weights, cell.recurrent, cell.bias, cell.state, weights, recurrent,
                 bias, state, kOmitted, kOmitted, kOmitted},
                outputs,
                {{BidirectionalSequenceRnnOptions::kMergeOutputs, integer(merges ? 1 : 0)}});
        const Outcome found = run(cell.builder.model(), {{cell.x, bytesOf(Floats{1, 2})}});
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        // Backward: 2, then 1 + 10 * 2.
        EXPECT_EQ(found.floats(outputs[0]), merges ? (Floats{3, 21, 14, 2}) : (Floats{3, 14}));
        EXPECT_EQ(found.floats(state), (Floats{21}));
        if (!merges) {
            EXPECT_EQ(found.floats(outputs[1]), (Floats{21, 2}));
        }
    }
}

TEST(RecurrentTest, AuxiliaryWeightsOfOneDirectionAreRefused) {
    Cell cell({1, 2, 1});
    const int32_t state = cell.builder.variable(ElementType::FLOAT32, {1, 1});
    cell.builder.add(OperatorCode::BIDIRECTIONAL_SEQUENCE_RNN,
                     {cell.x, cell.weights, cell.recurrent, cell.bias, cell.state, cell.weights,
                      cell.recurrent, cell.bias, state, cell.x, cell.weights, kOmitted},
                     {cell.output}, {{BidirectionalSequenceRnnOptions::kMergeOutputs, integer(1)}});
    EXPECT_TRUE(has(reasonOf(cell.builder.model()), "only one of its directions"));
}

// Two steps of a memory of two: 5 * x now, and 1 * what was before.
struct SvdfCell {
    ModelBuilder builder;
    int32_t x = 0;
    int32_t state = 0;
    int32_t output = 0;

    SvdfCell() {
        x = builder.input(ElementType::FLOAT32, {1, 1});
        const int32_t feature = builder.floats({1, 1}, {1});
        const int32_t time = builder.floats({1, 2}, {1, 5});
        state = builder.variable(ElementType::FLOAT32, {1, 2});
        output = builder.tensor(ElementType::FLOAT32, {});
        builder.add(OperatorCode::SVDF, {x, feature, time, kOmitted, state}, {output},
                    {{SvdfOptions::kRank, integer(1)}});
        builder.output(output);
    }
};

TEST(RecurrentTest, SvdfRemembers) {
    SvdfCell memory;
    const Outcome first = run(memory.builder.model(), {{memory.x, bytesOf(Floats{2})}});
    ASSERT_TRUE(first.status.ok()) << first.status.toString();
    EXPECT_EQ(first.floats(memory.output), (Floats{10}));
    const Outcome second = run(memory.builder.model(), {{memory.x, bytesOf(Floats{3})},
                                                        {memory.state, first[memory.state].bytes}});
    EXPECT_EQ(second.floats(memory.output), (Floats{17}));
}

TEST(RecurrentTest, SvdfRefusesAStateThatOthersRead) {
    SvdfCell memory;
    memory.builder.output(memory.state);
    EXPECT_TRUE(has(reasonOf(memory.builder.model()), "is another's, too"));
}

// ---- LSTM ---------------------------------------------------------------------------------------

// All weights, biases and states are zeros, but for the cell's bias: gates are a half, and the cell
// takes half of what its bias gives.
struct Lstm {
    ModelBuilder builder;
    std::vector<int32_t> inputs;
    int32_t output = 0;

    Lstm(const Extents& shape, bool hasInputGate = true) {
        inputs.push_back(builder.input(ElementType::FLOAT32, shape));
        for (size_t place = 1; place < 9; ++place) {
            const bool isLeftOut = !hasInputGate && (place == 1 || place == 5);
            inputs.push_back(isLeftOut ? kOmitted : builder.floats({1, 1}, {0}));
        }
        inputs.insert(inputs.end(), 3, kOmitted);
        for (size_t place = 12; place < 16; ++place) {
            const bool isLeftOut = !hasInputGate && place == 12;
            inputs.push_back(isLeftOut ? kOmitted
                                       : builder.floats({1}, {place == 14 ? 4.0F : 0.0F}));
        }
        inputs.insert(inputs.end(), 2, kOmitted);
        inputs.push_back(builder.variable(ElementType::FLOAT32, {1, 1}));
        inputs.push_back(builder.variable(ElementType::FLOAT32, {1, 1}));
        output = builder.tensor(ElementType::FLOAT32, {});
        builder.output(output);
    }
};

TEST(LstmTest, AStepHasItsActivationAndItsClip) {
    for (const bool hasInputGate : {false, true}) {
        Lstm model({1, 1}, hasInputGate);
        model.builder.add(OperatorCode::LSTM, model.inputs, {model.output},
                          {{LstmOptions::kFusedActivationFunction, integer(kRelu)},
                           {LstmOptions::kCellClip, real(1.5F)}});
        const Outcome found = run(model.builder.model());
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        // 4 / 2, clipped to 1.5, half of which is let out.
        EXPECT_EQ(found.floats(model.inputs[19]), (Floats{1.5F}));
        EXPECT_EQ(found.floats(model.output), (Floats{0.75F}));
        EXPECT_EQ(found.floats(model.inputs[18]), (Floats{0.75F}));
    }
}

// A delegate takes no operator of which only a run tells a shape.
TEST(LstmTest, EveryShapeOfAStepIsKnown) {
    for (const bool hasInputGate : {false, true}) {
        Lstm model({1, 1}, hasInputGate);
        model.builder.add(OperatorCode::LSTM, model.inputs, {model.output});
        const Model built = model.builder.model();
        const Result<Importer> importer = Importer::create(built, 0);
        ASSERT_TRUE(importer.ok());
        const Result<ImportedGraph> imported = importer->buildAll();
        ASSERT_TRUE(imported.ok()) << imported.status().toString();
        for (const engine::Node& node : imported->graph.nodes()) {
            for (const engine::TensorId id : node.outputs) {
                EXPECT_TRUE(imported->graph.tensor(id).type.shape.isFullyKnown());
            }
        }
    }
}

TEST(LstmTest, RefusesTheBasicKernelAndOtherCounts) {
    Lstm basic({1, 1});
    basic.builder.add(OperatorCode::LSTM, basic.inputs, {basic.output},
                      {{LstmOptions::kKernelType, integer(1)}});
    EXPECT_TRUE(has(reasonOf(basic.builder.model()), "basic kind"));
    Lstm more({1, 1});
    more.inputs.push_back(kOmitted);
    more.builder.add(OperatorCode::LSTM, more.inputs, {more.output});
    EXPECT_TRUE(has(reasonOf(more.builder.model()), "it has 21 inputs"));
    Lstm activation({1, 1});
    activation.builder.add(OperatorCode::LSTM, activation.inputs, {activation.output},
                           {{LstmOptions::kFusedActivationFunction, integer(5)}});
    EXPECT_TRUE(has(reasonOf(activation.builder.model()), "its activation is 5"));
}

TEST(LstmTest, ASequenceKeepsItsStates) {
    Lstm model({1, 2, 1});
    model.builder.add(
            OperatorCode::UNIDIRECTIONAL_SEQUENCE_LSTM, model.inputs, {model.output},
            {{UnidirectionalSequenceLstmOptions::kFusedActivationFunction, integer(kRelu)}});
    const Outcome found = run(model.builder.model());
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    // The cell is 2, then 2 / 2 + 2.
    EXPECT_EQ(found.floats(model.output), (Floats{1, 1.5F}));
    EXPECT_EQ(found.floats(model.inputs[19]), (Floats{3}));
}

TEST(LstmTest, ASequenceRefusesDiagonalsAndEightBits) {
    Lstm diagonal({1, 2, 1});
    diagonal.builder.add(
            OperatorCode::UNIDIRECTIONAL_SEQUENCE_LSTM, diagonal.inputs, {diagonal.output},
            {{UnidirectionalSequenceLstmOptions::kDiagonalRecurrentTensors, integer(1)}});
    EXPECT_TRUE(has(reasonOf(diagonal.builder.model()), "are diagonals"));
    Lstm bits({1, 2, 1});
    bits.builder.graph().tensors[static_cast<size_t>(bits.inputs[0])].type = ElementType::INT8;
    bits.builder.add(OperatorCode::UNIDIRECTIONAL_SEQUENCE_LSTM, bits.inputs, {bits.output});
    EXPECT_TRUE(has(reasonOf(bits.builder.model()), "it is of INT8"));
}

TEST(LstmTest, BothDirectionsHaveStatesOfTheirOwn) {
    Lstm model({2, 1, 1});
    std::vector<int32_t> inputs(model.inputs.begin(), model.inputs.begin() + 18);
    inputs.insert(inputs.end(), model.inputs.begin() + 1, model.inputs.begin() + 18);
    inputs[1 + 17 + 13] = model.builder.floats({1}, {8});  // the cell's bias, backward
    inputs.push_back(model.inputs[18]);
    inputs.push_back(model.inputs[19]);
    inputs.push_back(model.builder.variable(ElementType::FLOAT32, {1, 1}));
    inputs.push_back(model.builder.variable(ElementType::FLOAT32, {1, 1}));
    inputs.insert(inputs.end(), 9, kOmitted);
    using Options = BidirectionalSequenceLstmOptions;
    model.builder.add(OperatorCode::BIDIRECTIONAL_SEQUENCE_LSTM, inputs, {model.output},
                      {{Options::kFusedActivationFunction, integer(kRelu)},
                       {Options::kMergeOutputs, integer(1)}});
    const Outcome found = run(model.builder.model());
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(model.output), (Floats{1, 3, 1.5F, 2}));
    EXPECT_EQ(found.floats(inputs[36]), (Floats{3}));
    EXPECT_EQ(found.floats(inputs[38]), (Floats{6}));
}

// ---- 8 bits -------------------------------------------------------------------------------------

// Its weights are zeros; biases of the cell and the gates are what they are in 16 bits.
struct QuantisedLstm {
    ModelBuilder builder;
    std::vector<int32_t> inputs;
    std::vector<int32_t> intermediates;
    int32_t output = 0;

    explicit QuantisedLstm(int64_t zeroPointOfWeights = 0) {
        const TensorQuantization real = {.scales = {1.0F / 128}, .zeroPoints = {0}};
        inputs.push_back(builder.input(ElementType::INT8, {1, 1}, real));
        for (size_t place = 1; place < 9; ++place) {
            inputs.push_back(
                    builder.constant(ElementType::INT8, {1, 1}, {0},
                                     {.scales = {1.0F / 128}, .zeroPoints = {zeroPointOfWeights}}));
        }
        inputs.insert(inputs.end(), 3, kOmitted);
        for (size_t place = 12; place < 16; ++place) {
            inputs.push_back(builder.ints({1}, {0}));
        }
        inputs.insert(inputs.end(), 2, kOmitted);
        inputs.push_back(builder.variable(ElementType::INT8, {1, 1}, real));
        inputs.push_back(builder.variable(ElementType::INT16, {1, 1},
                                          {.scales = {1.0F / 2048}, .zeroPoints = {0}}));
        output = builder.tensor(ElementType::INT8, {}, real);
        builder.output(output);
        for (int i = 0; i < 5; ++i) {
            intermediates.push_back(
                    builder.tensor(i < 4 ? ElementType::INT16 : ElementType::INT8, {}, real));
        }
    }
    Operator& add(int64_t activation = kTanh) {
        Operator& op = builder.add(OperatorCode::LSTM, inputs, {output},
                                   {{LstmOptions::kFusedActivationFunction, integer(activation)}});
        op.intermediates = intermediates;
        return op;
    }
};

// The gates are a half: the cell is half of what it was, and its tanh is let out by half.
TEST(QuantisedLstmTest, AStepHalvesItsCell) {
    QuantisedLstm model;
    model.add();
    const std::vector<int16_t> cell = {2048};  // 1
    const Outcome found = run(model.builder.model(), {{model.inputs[19], bytesOf(cell)}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_NEAR(found[model.inputs[19]].as<int16_t>()[0], 1024, 1);
    EXPECT_NEAR(found[model.output].as<int8_t>()[0], 128 * std::tanh(0.5) / 2, 1);
}

TEST(QuantisedLstmTest, RefusesWhatItsArithmeticIsNotOf) {
    QuantisedLstm scales;
    scales.add().intermediates.clear();
    EXPECT_TRUE(has(reasonOf(scales.builder.model()), "without the scales"));
    QuantisedLstm activation;
    activation.add(kRelu);
    EXPECT_TRUE(has(reasonOf(activation.builder.model()), "is not TANH"));
    QuantisedLstm weights(1);
    weights.add();
    EXPECT_TRUE(has(reasonOf(weights.builder.model()), "or a zero point"));
}

}  // namespace
}  // namespace halyard::tflite
