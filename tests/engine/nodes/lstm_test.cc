// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

using Inputs = std::vector<std::optional<TensorType>>;

// b 2, k 3, n 4, m 5 (4 without a projection), everything that is optional there.
Inputs everything() {
    const auto weights = floats({4, 3});
    const auto recurrent = floats({4, 5});
    const auto perUnit = floats({4});
    return {floats({2, 3}), weights,        weights,   weights, weights,        recurrent,
            recurrent,      recurrent,      recurrent, perUnit, perUnit,        perUnit,
            perUnit,        perUnit,        perUnit,   perUnit, floats({5, 4}), floats({5}),
            floats({2, 5}), floats({2, 4}), perUnit,   perUnit, perUnit,        perUnit};
}

Inputs without(Inputs inputs, std::initializer_list<size_t> absent) {
    for (const size_t input : absent) {
        inputs[input].reset();
    }
    return inputs;
}

Inputs bare() {
    Inputs inputs = without(everything(), {9, 10, 11, 16, 17, 20, 21, 22, 23});
    for (const size_t recurrent : {5, 6, 7, 8}) {
        inputs[recurrent] = floats({4, 4});
    }
    inputs[lstm::kOutputState] = floats({2, 4});
    return inputs;
}

Asking ask(const NodeDescriptor& node, const Inputs& inputs,
           const std::vector<TensorType>& outputs) {
    Asking asking(node);
    for (const std::optional<TensorType>& input : inputs) {
        if (input.has_value()) {
            asking.with(*input);
        } else {
            asking.without();
        }
    }
    for (const TensorType& output : outputs) {
        asking.giving(output);
    }
    return asking;
}

// `scratch`: what the graph says of it.
Result<std::vector<Shape>> step(const Inputs& inputs, const TensorType& scratch = floats(kNoRank)) {
    std::vector<TensorType> outputs(4, floats(kNoRank));
    outputs[0] = scratch;
    return ask(Lstm(), inputs, outputs).shapes();
}

TEST(LstmShapes, AreStatesAndOutputAndAScratchThatTheRunFinds) {
    EXPECT_TRUE(gives(step(everything()), {{2, -1}, {2, 5}, {2, 4}, {2, 5}}));
    EXPECT_TRUE(gives(step(bare()), {{2, -1}, {2, 4}, {2, 4}, {2, 4}}));
    EXPECT_TRUE(gives(step(without(everything(), {1, 5, 12})), {{2, -1}, {2, 5}, {2, 4}, {2, 5}}))
            << "the peephole of no gate is not looked at";
}

TEST(LstmShapes, KeepAScratchOfThreeGatesOrFour) {
    for (const int32_t extent : {12, 16}) {
        EXPECT_TRUE(
                gives(step(bare(), floats({2, extent})), {{2, extent}, {2, 4}, {2, 4}, {2, 4}}));
        EXPECT_TRUE(gives(step(without(bare(), {1, 5, 12}), floats({2, extent})),
                          {{2, extent}, {2, 4}, {2, 4}, {2, 4}}))
                << "specs have it of four where there is no input gate, too";
    }
    EXPECT_TRUE(rejects(step(bare(), floats({2, 15})), "neither 3 nor 4 gates"));
}

TEST(LstmShapes, RejectPartsThatAreThereByHalf) {
    for (const size_t part : {1, 5, 12}) {
        EXPECT_TRUE(rejects(step(without(everything(), {part})), "the input gate")) << part;
    }
    for (const size_t part : {9, 10, 11}) {
        EXPECT_TRUE(rejects(step(without(everything(), {part})), "the peepholes")) << part;
    }
    for (const size_t part : {20, 21, 22, 23}) {
        EXPECT_TRUE(rejects(step(without(everything(), {part})), "the layer normalisation"))
                << part;
    }
    EXPECT_TRUE(rejects(step(without(everything(), {16})), "no projection"));
    Inputs inputs = bare();
    inputs[lstm::kCellToInputWeights] = floats({4});
    EXPECT_TRUE(rejects(step(inputs), "the cell_to_input_weights is not left out"));
    EXPECT_TRUE(rejects(step(without(inputs, {1, 5, 12})), "cell_to_input_weights is not left out"))
            << "nor without an input gate";
}

TEST(LstmShapes, MayProjectWithoutABias) {
    EXPECT_TRUE(gives(step(without(everything(), {17})), {{2, -1}, {2, 5}, {2, 4}, {2, 5}}));
}

TEST(LstmShapes, RejectAnyShapeThatDisagrees) {
    for (size_t input = 0; input < everything().size(); ++input) {
        for (size_t axis = 0; axis < everything()[input]->shape.rank(); ++axis) {
            Inputs inputs = everything();
            inputs[input]->shape[axis] = 9;
            EXPECT_TRUE(rejects(step(inputs), "must be")) << "input " << input << ", axis " << axis;
        }
    }
}

TEST(LstmShapes, LearnExtentsFromEachOther) {
    Inputs inputs = everything();
    for (const size_t input : {0, 2, 16, 18}) {
        inputs[input] = floats(kNoRank);
    }
    EXPECT_TRUE(gives(step(inputs), {{2, -1}, {2, 5}, {2, 4}, {2, 5}}));
}

TEST(LstmShapes, RejectNegativeClamps) {
    const auto clamped = [](float cell, float projection) {
        return ask(Lstm{.attributes = {.cellClip = cell, .projectionClip = projection}}, bare(),
                   std::vector<TensorType>(4, floats(kNoRank)))
                .shapes();
    };
    EXPECT_TRUE(clamped(1.0F, 2.0F).ok());
    EXPECT_TRUE(rejects(clamped(-1.0F, 0.0F), "clamp"));
    EXPECT_TRUE(rejects(clamped(0.0F, std::numeric_limits<float>::quiet_NaN()), "clamp"));
}

TEST(LstmShapes, AreOfOneFloatType) {
    Inputs inputs = everything();
    inputs[23]->type = DataType::FLOAT16;
    EXPECT_TRUE(rejects(step(inputs), "input 23"));
}

// t 6, l 7.
Inputs sequenceOf(bool timeMajor) {
    Inputs inputs = everything();
    inputs[0] = floats(timeMajor ? Shape{6, 2, 3} : Shape{2, 6, 3});
    inputs.resize(29);
    return inputs;
}

Inputs withAux(Inputs inputs) {
    inputs[lstm::kAux] = floats({6, 2, 7});
    for (size_t weights = lstm::kAuxToInputWeights; weights < 29; ++weights) {
        inputs[weights] = floats({4, 7});
    }
    return inputs;
}

Result<std::vector<Shape>> run(bool timeMajor, const Inputs& inputs) {
    return ask(LstmSequence{.timeMajor = timeMajor}, inputs,
               std::vector<TensorType>(3, floats(kNoRank)))
            .shapes();
}

TEST(LstmSequenceShapes, HaveTimeFirstOrSecond) {
    EXPECT_TRUE(gives(run(true, sequenceOf(true)), {{6, 2, 5}, {2, 5}, {2, 4}}));
    EXPECT_TRUE(gives(run(false, sequenceOf(false)), {{2, 6, 5}, {2, 5}, {2, 4}}));
    EXPECT_TRUE(rejects(run(false, sequenceOf(true)), "must be"));
}

TEST(LstmSequenceShapes, AddAnAuxiliaryInput) {
    const Inputs inputs = withAux(sequenceOf(true));
    EXPECT_TRUE(gives(run(true, inputs), {{6, 2, 5}, {2, 5}, {2, 4}}));
    for (size_t part = lstm::kAux; part < 29; ++part) {
        EXPECT_TRUE(rejects(run(true, without(inputs, {part})),
                            part == lstm::kAux ? "no auxiliary input" : "the auxiliary weights"))
                << part;
    }
    Inputs wrong = inputs;
    wrong[28] = floats({4, 8});
    EXPECT_TRUE(rejects(run(true, wrong), "aux_to_output_weights"));
}

// As models declare what no request brings.
TEST(LstmSequenceShapes, TakeAnyRankOfWhatMayBeLeftOut) {
    Inputs inputs = withAux(sequenceOf(true));
    for (size_t input = 0; input < inputs.size(); ++input) {
        Inputs unsaid = inputs;
        unsaid[input] = floats({kUnknown});
        const bool vector = inputs[input]->shape.rank() == 1;
        const bool mayBeLeftOut = LstmSequence::kInputs[input].traits == kOmittable;
        EXPECT_EQ(run(true, unsaid).ok(), vector || mayBeLeftOut) << input;
        unsaid[input] = floats({3});
        EXPECT_FALSE(run(true, unsaid).ok()) << input;
    }
}

// Without weights of its own it takes the place of the input, k 3, where backward.
TEST(LstmSequenceShapes, ReadTheAuxiliaryInputAloneBackwards) {
    const auto reading = [](bool backward, Shape x, Shape aux) {
        Inputs inputs = sequenceOf(true);
        inputs[lstm::kX] = floats(x);
        inputs[lstm::kAux] = floats(aux);
        return ask(LstmSequence{.timeMajor = true, .backward = backward}, inputs,
                   std::vector<TensorType>(3, floats(kNoRank)))
                .shapes();
    };
    const std::vector<Shape> shapes = {{6, 2, 5}, {2, 5}, {2, 4}};
    EXPECT_TRUE(gives(reading(true, {6, 2, 9}, {6, 2, 3}), shapes));
    EXPECT_TRUE(rejects(reading(true, {6, 2, 3}, {6, 2, 9}), "must be"));
    EXPECT_TRUE(rejects(reading(true, {6, 2, 9}, {7, 2, 3}), "the auxiliary input"));
    EXPECT_TRUE(gives(reading(false, {6, 2, 3}, {6, 2, 9}), shapes));
    EXPECT_TRUE(rejects(reading(false, {6, 2, 9}, {6, 2, 3}), "must be"));
}

// Whether there are auxiliary weights only a run tells: without them aux has k 3, with them l 7.
TEST(LstmSequenceShapes, FitOneUseOfAnAuxiliaryInputWhoseWeightsMayBeLeftOut) {
    const auto reading = [](bool backward, int32_t x, int32_t aux, bool perhaps = true) {
        Asking asking(LstmSequence{.timeMajor = true, .backward = backward});
        Inputs inputs = withAux(sequenceOf(true));
        inputs[lstm::kX] = floats({6, 2, x});
        inputs[lstm::kAux] = floats({6, 2, aux});
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (perhaps && i >= lstm::kAuxToInputWeights) {
                asking.withPerhaps(*inputs[i]);
            } else {
                asking.with(*inputs[i]);
            }
        }
        return asking.giving(floats(kNoRank))
                .giving(floats(kNoRank))
                .giving(floats(kNoRank))
                .shapes();
    };
    const std::vector<Shape> shapes = {{6, 2, 5}, {2, 5}, {2, 4}};
    EXPECT_TRUE(gives(reading(true, 9, 3), shapes));
    EXPECT_TRUE(gives(reading(true, 3, 7), shapes));
    EXPECT_TRUE(gives(reading(false, 3, 9), shapes));
    EXPECT_TRUE(rejects(reading(true, 9, 7), "must be"));
    EXPECT_TRUE(rejects(reading(true, 9, 3, false), "must be"));
    EXPECT_TRUE(rejects(reading(false, 3, 9, false), "must be"));
}

TensorType fixedPoint(Shape shape, float scale = 1.0F / 2048) {
    return typed(DataType::QUANT16_SYMM, shape, scale);
}

Inputs quantized() {
    Inputs inputs = everything();
    for (size_t i = 0; i < inputs.size(); ++i) {
        const bool isBias = (i >= 12 && i <= 15) || i == 17;
        const bool isFixed = (i >= 9 && i <= 11) || i >= 19;
        const bool isByte = i == 0 || i == 18;
        inputs[i] = typed(isBias    ? DataType::INT32
                          : isFixed ? DataType::QUANT16_SYMM
                          : isByte  ? DataType::QUANT8_ASYMM_SIGNED
                                    : DataType::QUANT8_SYMM,
                          inputs[i]->shape, isFixed ? 1.0F / 2048 : 0.5F);
    }
    return inputs;
}

const QuantizedLstm kScaled = {.inputIntermediateScale = 0.1F,
                               .forgetIntermediateScale = 0.1F,
                               .cellIntermediateScale = 0.1F,
                               .outputIntermediateScale = 0.1F,
                               .hiddenScale = 0.1F};

Result<std::vector<Shape>> quantizedStep(const QuantizedLstm& node, const Inputs& inputs) {
    const TensorType state = typed(DataType::QUANT8_ASYMM_SIGNED, kNoRank);
    return ask(node, inputs, {state, fixedPoint(kNoRank), state}).shapes();
}

TEST(QuantizedLstmShapes, AreStatesAndOutput) {
    EXPECT_TRUE(gives(quantizedStep(kScaled, quantized()), {{2, 5}, {2, 4}, {2, 5}}));
}

TEST(QuantizedLstmShapes, RejectAnyOtherElementType) {
    for (size_t input = 0; input < quantized().size(); ++input) {
        Inputs inputs = quantized();
        inputs[input]->type = DataType::QUANT8_ASYMM;
        EXPECT_TRUE(rejects(quantizedStep(kScaled, inputs), "must be")) << input;
    }
}

TEST(QuantizedLstmShapes, ShiftTheCellState) {
    for (const float scale : {0.001F, 1.0F / 256}) {
        Inputs inputs = quantized();
        inputs[lstm::kCellState] = fixedPoint({2, 4}, scale);
        const TensorType state = typed(DataType::QUANT8_ASYMM_SIGNED, kNoRank);
        EXPECT_TRUE(
                rejects(ask(kScaled, inputs, {state, fixedPoint(kNoRank, scale), state}).shape(),
                        "power of two"))
                << scale;
    }
}

TEST(QuantizedLstmShapes, KeepTheQuantisationOfTheirStates) {
    const TensorType state = typed(DataType::QUANT8_ASYMM_SIGNED, kNoRank);
    const TensorType other = typed(DataType::QUANT8_ASYMM_SIGNED, kNoRank, 0.25F);
    const TensorType cell = fixedPoint(kNoRank);
    EXPECT_TRUE(rejects(ask(kScaled, quantized(), {other, cell, state}).shape(), "same scale"));
    EXPECT_TRUE(rejects(ask(kScaled, quantized(), {state, cell, other}).shape(), "same scale"));
    EXPECT_TRUE(rejects(
            ask(kScaled, quantized(), {state, fixedPoint(kNoRank, 1.0F / 4096), state}).shape(),
            "same scale"));
}

TEST(QuantizedLstmShapes, NeedTheScalesThatTheyUse) {
    QuantizedLstm node = kScaled;
    node.hiddenScale = 0.0F;
    EXPECT_TRUE(rejects(quantizedStep(node, quantized()), "hidden state"));
    node = kScaled;
    node.hiddenZeroPoint = 128;
    EXPECT_TRUE(rejects(quantizedStep(node, quantized()), "[-128, 127]"));
    node = kScaled;
    node.cellIntermediateScale = 0.0F;
    EXPECT_TRUE(rejects(quantizedStep(node, quantized()), "cellIntermediateScale"));
    EXPECT_TRUE(quantizedStep(node, without(quantized(), {20, 21, 22, 23})).ok())
            << "only layer normalisation asks for it";
}

Inputs sixteenBit() {
    const TensorType state = bytes({2, 4}, 1.0F / 128, 128);
    Inputs inputs = {bytes({2, 3}, 1.0F / 128, 128)};
    inputs.insert(inputs.end(), 4, bytes({4, 3}));
    inputs.insert(inputs.end(), 4, bytes({4, 4}));
    inputs.insert(inputs.end(), 4, ints({4}));
    inputs.insert(inputs.end(), {fixedPoint({2, 4}), state});
    return inputs;
}

Result<std::vector<Shape>> sixteenBitStep(const Inputs& inputs) {
    return ask(Quantized16BitLstm(), inputs, {fixedPoint(kNoRank), bytes(kNoRank, 1.0F / 128, 128)})
            .shapes();
}

TEST(Quantized16BitLstmShapes, AreStateAndOutput) {
    EXPECT_TRUE(gives(sixteenBitStep(sixteenBit()), {{2, 4}, {2, 4}}));
}

TEST(Quantized16BitLstmShapes, RejectAnyShapeTypeOrScaleThatDisagrees) {
    for (size_t input = 0; input < sixteenBit().size(); ++input) {
        for (size_t axis = 0; axis < sixteenBit()[input]->shape.rank(); ++axis) {
            Inputs inputs = sixteenBit();
            inputs[input]->shape[axis] = 9;
            EXPECT_TRUE(rejects(sixteenBitStep(inputs), "must be"))
                    << "input " << input << ", axis " << axis;
        }
        Inputs inputs = sixteenBit();
        inputs[input]->type = DataType::QUANT8_ASYMM_SIGNED;
        EXPECT_TRUE(rejects(sixteenBitStep(inputs), "must be")) << input;
        inputs = sixteenBit();
        inputs[input]->quantization.scale = 0.75F;
        EXPECT_EQ(sixteenBitStep(inputs).ok(), inputs[input]->type == DataType::INT32) << input;
    }
}

}  // namespace
}  // namespace halyard::engine::nodes_test
