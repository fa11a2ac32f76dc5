// SPDX-License-Identifier: Apache-2.0
//
// Cells that keep a state from run to run, and sequences of their steps. TFLite's states are
// variables: a run reads what the last one made of them. 8-bit weights of float activations are
// widened, and what quantises these activations on the way (asymmetric_quantize_inputs) has no
// meaning then.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/recurrence.h"
#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

using engine::kNoTensor;
using engine::LstmAttributes;
namespace lstm = engine::lstm;

// The place of an operator's input that a node lacks.
constexpr size_t kNowhere = SIZE_MAX;

Status checkFloat(const Mapper& mapper) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t x, mapper.input(0));
    const ElementType type = mapper.tensor(x).type;
    if (type != ElementType::FLOAT32) {
        return unsupported("it is of " + toString(type) + ", and the engine's of FLOAT32");
    }
    return {};
}

// What a run reads of a state.
Result<TensorId> readState(Mapper& mapper, size_t place) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(place));
    if (!mapper.tensor(index).isVariable) {
        return unsupported("its state " + mapper.shown(index) + " is no variable");
    }
    return mapper.read(index);
}

// No input, weights widened to the activations, or an input as it is.
Result<TensorId> readPart(Mapper& mapper, size_t place) {
    if (place == kNowhere || !mapper.has(place)) {
        return kNoTensor;
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t x, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(place));
    return mapper.tensor(index).isConstant() ? mapper.readWeights(place, x) : mapper.read(index);
}

// The inputs of a node, by the places of the operator's; `states` are among them.
Result<std::vector<TensorId>> readParts(Mapper& mapper, std::span<const size_t> places,
                                        std::span<const size_t> states) {
    std::vector<TensorId> inputs;
    for (const size_t place : places) {
        const bool isState = std::ranges::find(states, place) != states.end();
        HALYARD_ASSIGN_OR_RETURN(const TensorId input,
                                 isState ? readState(mapper, place) : readPart(mapper, place));
        inputs.push_back(input);
    }
    return inputs;
}

std::vector<size_t> placesUpTo(size_t count, size_t all) {
    std::vector<size_t> places(all, kNowhere);
    for (size_t place = 0; place < count; ++place) {
        places[place] = place;
    }
    return places;
}

// A node with outputs that are no tensors of the subgraph's: all of the type of the operator's
// output, or each with its own.
Result<std::vector<TensorId>> emitCell(Mapper& mapper, engine::NodeDescriptor node,
                                       std::vector<TensorId> inputs, size_t outputs) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType type, mapper.declared(output));
    return mapper.emitInnerN(std::move(node), std::move(inputs),
                             std::vector<engine::TensorType>(outputs, type));
}

// ---- Cells without gates ------------------------------------------------------------------------

// A sequence applies its activation at every step.
Result<engine::Activation> stepActivation(Mapper& mapper, size_t option) {
    HALYARD_ASSIGN_OR_RETURN(const FusedActivation activation, mapper.fusedActivation(option));
    const std::optional<engine::Activation> found = Mapper::fused(activation);
    if (!found.has_value()) {
        return unsupported(
                "its activation is TANH or SIGMOID, and the engine's sequences have others");
    }
    return *found;
}

constexpr std::array<size_t, 1> kRnnState = {4};

// The same for both directions of a pair.
Result<std::vector<TensorId>> emitRnnSequence(Mapper& mapper, engine::RnnSequence node,
                                              std::span<const size_t> places, size_t state) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                             readParts(mapper, places, std::span(&state, 1)));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             emitCell(mapper, node, std::move(inputs), 2));
    mapper.update(mapper.op().inputs[state], found[1]);
    return found;
}

// Both directions: merged along the last axis, or an output for each.
Status emitBoth(Mapper& mapper, bool merge, TensorId forward, TensorId backward) {
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(merge ? 1 : 2, merge ? 1 : 2));
    if (merge) {
        return mapper.emit(engine::Concat{.axis = 2}, {forward, backward});
    }
    HALYARD_RETURN_IF_ERROR(mapper.alias(mapper.op().outputs[0], forward));
    return mapper.alias(mapper.op().outputs[1], backward);
}

Status checkBothAux(const Mapper& mapper, size_t forward, size_t backward) {
    return mapper.has(forward) == mapper.has(backward)
                   ? Status()
                   : unsupported("only one of its directions has auxiliary weights");
}

}  // namespace

Status mapRnn(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(5, 5));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    mapper.accept(RnnOptions::kAsymmetricQuantizeInputs);
    HALYARD_ASSIGN_OR_RETURN(const FusedActivation activation,
                             mapper.fusedActivation(RnnOptions::kFusedActivationFunction));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                             readParts(mapper, placesUpTo(5, 5), kRnnState));
    const std::optional<engine::Activation> inside = Mapper::fused(activation);
    const engine::Rnn node = {.activation = inside.value_or(engine::Activation::NONE)};
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             emitCell(mapper, node, std::move(inputs), 2));
    TensorId result = found[1];
    if (!inside.has_value()) {
        using Function = engine::Activate::Function;
        const Function function =
                activation == FusedActivation::TANH ? Function::TANH : Function::LOGISTIC;
        HALYARD_ASSIGN_OR_RETURN(result, mapper.emitInner(engine::Activate{.function = function},
                                                          {result}, mapper.typeOf(result)));
    }
    mapper.update(mapper.op().inputs[4], inside.has_value() ? found[0] : result);
    return mapper.alias(mapper.op().outputs.front(), result);
}

Status mapSequenceRnn(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(5, 5));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    mapper.accept(SequenceRnnOptions::kAsymmetricQuantizeInputs);
    engine::RnnSequence node = {.timeMajor = mapper.flag(SequenceRnnOptions::kTimeMajor)};
    HALYARD_ASSIGN_OR_RETURN(node.activation,
                             stepActivation(mapper, SequenceRnnOptions::kFusedActivationFunction));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             emitRnnSequence(mapper, node, placesUpTo(5, 7), kRnnState[0]));
    return mapper.alias(mapper.op().outputs.front(), found[0]);
}

Status mapBidirectionalRnn(Mapper& mapper) {
    using Options = BidirectionalSequenceRnnOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(9, 12));
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    HALYARD_RETURN_IF_ERROR(checkBothAux(mapper, 10, 11));
    mapper.accept(Options::kAsymmetricQuantizeInputs);
    engine::RnnSequence node = {.timeMajor = mapper.flag(Options::kTimeMajor)};
    HALYARD_ASSIGN_OR_RETURN(node.activation,
                             stepActivation(mapper, Options::kFusedActivationFunction));
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> forward,
            emitRnnSequence(mapper, node, std::array<size_t, 7>{0, 1, 2, 3, 4, 9, 10}, 4));
    node.backward = true;
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> backward,
            emitRnnSequence(mapper, node, std::array<size_t, 7>{0, 5, 6, 7, 8, 9, 11}, 8));
    return emitBoth(mapper, mapper.flag(Options::kMergeOutputs), forward[0], backward[0]);
}

// What the engine passes on has moved forward by one place already, which TFLite does before the
// next step. It begins with zeros, which are the same in both, so that only another reader of the
// state could tell.
Status mapSvdf(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(5, 5));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    mapper.accept(SvdfOptions::kAsymmetricQuantizeInputs);
    engine::Svdf node = {.rank = mapper.integer(SvdfOptions::kRank)};
    HALYARD_ASSIGN_OR_RETURN(node.activation,
                             stepActivation(mapper, SvdfOptions::kFusedActivationFunction));
    constexpr size_t kState = 4;
    HALYARD_ASSIGN_OR_RETURN(const int32_t state, mapper.input(kState));
    const auto names = [&](const std::vector<int32_t>& tensors) {
        return std::ranges::count(tensors, state);
    };
    int64_t uses = names(mapper.subgraph().inputs) + names(mapper.subgraph().outputs);
    for (const Operator& each : mapper.subgraph().operators) {
        uses += names(each.inputs) + names(each.outputs);
    }
    if (uses != 1) {
        return unsupported("its state " + mapper.shown(state) + " is another's, too");
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                             readParts(mapper, placesUpTo(5, 5), std::span(&kState, 1)));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             emitCell(mapper, node, std::move(inputs), 2));
    mapper.update(state, found[0]);
    return mapper.alias(mapper.op().outputs.front(), found[1]);
}

// ---- LSTM ---------------------------------------------------------------------------------------

namespace {

constexpr std::array<size_t, 2> kLstmStates = {lstm::kOutputState, lstm::kCellState};
constexpr int32_t kFullKernel = 0;
// Of its intermediates the last is the hidden state.
constexpr size_t kHidden = 4;

Result<LstmAttributes::Function> functionOf(int32_t activation) {
    using enum LstmAttributes::Function;
    switch (static_cast<FusedActivation>(activation)) {
        case FusedActivation::NONE:
            return NONE;
        case FusedActivation::RELU:
            return RELU;
        case FusedActivation::RELU_N1_TO_1:
            return RELU1;
        case FusedActivation::RELU6:
            return RELU6;
        case FusedActivation::TANH:
            return TANH;
        case FusedActivation::SIGMOID:
            return LOGISTIC;
        default:
            return unsupported("its activation is " + std::to_string(activation));
    }
}

struct LstmPlaces {
    size_t activation = 0;
    size_t cellClip = 0;
    size_t projectionClip = 0;
};

Result<LstmAttributes> attributesOf(Mapper& mapper, const LstmPlaces& options) {
    LstmAttributes attributes = {.cellClip = mapper.real(options.cellClip),
                                 .projectionClip = mapper.real(options.projectionClip)};
    HALYARD_ASSIGN_OR_RETURN(attributes.activation, functionOf(mapper.integer(options.activation)));
    return attributes;
}

// TFLite has a layer normalisation where there are as many inputs.
Status checkLstmInputs(const Mapper& mapper) {
    const size_t count = mapper.op().inputs.size();
    return count == lstm::kInputLayerNormWeights || count == lstm::kAux
                   ? Status()
                   : unsupported("it has " + std::to_string(count) + " inputs, not " +
                                 std::to_string(lstm::kInputLayerNormWeights) + " or " +
                                 std::to_string(lstm::kAux));
}

// Room for each gate, which the engine does not infer: without it only a run would tell a shape.
engine::Shape scratchShape(const Mapper& mapper, const std::vector<TensorId>& inputs) {
    const TensorId weights = inputs[lstm::kInputToOutputWeights];
    if (weights == kNoTensor || !mapper.typeOf(weights).shape.hasKnownRank() ||
        mapper.typeOf(weights).shape.rank() != 2) {
        return engine::Shape::unknownRank();
    }
    const int32_t units = mapper.typeOf(weights).shape[0];
    const int32_t gates = inputs[lstm::kInputToInputWeights] == kNoTensor ? 3 : 4;
    if (units < 0 || units > std::numeric_limits<int32_t>::max() / gates) {
        return engine::Shape::unknownRank();
    }
    return {engine::kUnknownDimension, gates * units};
}

struct ScaleAndZeroPoint {
    float scale = 0.0F;
    int32_t zeroPoint = 0;
};

ScaleAndZeroPoint quantizationOf(const Mapper& mapper, size_t intermediate) {
    const int32_t index = mapper.op().intermediates[intermediate];
    if (index == kOmitted || mapper.tensor(index).quantization.scales.empty()) {
        return {};
    }
    const TensorQuantization& found = mapper.tensor(index).quantization;
    return {.scale = found.scales.front(),
            .zeroPoint =
                    found.zeroPoints.empty() ? 0 : static_cast<int32_t>(found.zeroPoints.front())};
}

// 8 bits, with a cell state of 16.
Status mapQuantizedLstm(Mapper& mapper, const LstmAttributes& attributes) {
    if (mapper.op().intermediates.size() != kHidden + 1) {
        return unsupported("it is of INT8 without the scales of its gates and its hidden state");
    }
    if (attributes.activation != LstmAttributes::Function::TANH) {
        return unsupported("it is of INT8, and its activation is not TANH");
    }
    std::vector<TensorId> inputs;
    for (size_t place = 0; place < lstm::kAux; ++place) {
        const bool isWeights =
                (place >= lstm::kInputToInputWeights && place <= lstm::kRecurrentToOutputWeights) ||
                place == lstm::kProjectionWeights;
        TensorId input = kNoTensor;
        if (place == lstm::kOutputState || place == lstm::kCellState) {
            HALYARD_ASSIGN_OR_RETURN(input, readState(mapper, place));
        } else if (mapper.has(place)) {
            HALYARD_ASSIGN_OR_RETURN(
                    input, isWeights ? mapper.readSymmetric(place) : mapper.readInput(place));
        }
        inputs.push_back(input);
    }
    const bool isNormalized = inputs[lstm::kForgetLayerNormWeights] != kNoTensor;
    const auto scaleOf = [&](size_t gate) {
        return isNormalized ? quantizationOf(mapper, gate).scale : 0.0F;
    };
    const ScaleAndZeroPoint hidden = quantizationOf(mapper, kHidden);
    const engine::QuantizedLstm node = {.cellClip = attributes.cellClip,
                                        .projectionClip = attributes.projectionClip,
                                        .inputIntermediateScale = scaleOf(0),
                                        .forgetIntermediateScale = scaleOf(1),
                                        .cellIntermediateScale = scaleOf(2),
                                        .outputIntermediateScale = scaleOf(3),
                                        .hiddenZeroPoint = hidden.zeroPoint,
                                        .hiddenScale = hidden.scale};
    const engine::TensorType state = mapper.typeOf(inputs[lstm::kOutputState]);
    const engine::TensorType cell = mapper.typeOf(inputs[lstm::kCellState]);
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType type, mapper.declared(output));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             mapper.emitInnerN(node, std::move(inputs), {state, cell, type}));
    mapper.update(mapper.op().inputs[lstm::kOutputState], found[0]);
    mapper.update(mapper.op().inputs[lstm::kCellState], found[1]);
    return mapper.alias(output, found[2]);
}

Result<TensorId> emitLstmSequence(Mapper& mapper, const engine::LstmSequence& node,
                                  std::span<const size_t> places,
                                  const std::array<size_t, 2>& states) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs, readParts(mapper, places, states));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             emitCell(mapper, node, std::move(inputs), 3));
    mapper.update(mapper.op().inputs[states[0]], found[1]);
    mapper.update(mapper.op().inputs[states[1]], found[2]);
    return found[0];
}

}  // namespace

Status mapLstm(Mapper& mapper) {
    if (mapper.integer(LstmOptions::kKernelType) != kFullKernel) {
        return unsupported("it is an LSTM of the basic kind");
    }
    HALYARD_RETURN_IF_ERROR(checkLstmInputs(mapper));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    mapper.accept(LstmOptions::kAsymmetricQuantizeInputs);
    HALYARD_ASSIGN_OR_RETURN(
            const LstmAttributes attributes,
            attributesOf(mapper, {.activation = LstmOptions::kFusedActivationFunction,
                                  .cellClip = LstmOptions::kCellClip,
                                  .projectionClip = LstmOptions::kProjClip}));
    HALYARD_ASSIGN_OR_RETURN(const int32_t x, mapper.input(0));
    if (mapper.tensor(x).type == ElementType::INT8) {
        return mapQuantizedLstm(mapper, attributes);
    }
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                             readParts(mapper, placesUpTo(lstm::kAux, lstm::kAux), kLstmStates));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType type, mapper.declared(output));
    std::vector<engine::TensorType> types(4, type);
    types[0].shape = scratchShape(mapper, inputs);
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             mapper.emitShapedN(engine::Lstm{.attributes = attributes},
                                                std::move(inputs), std::move(types)));
    mapper.update(mapper.op().inputs[lstm::kOutputState], found[1]);
    mapper.update(mapper.op().inputs[lstm::kCellState], found[2]);
    return mapper.alias(mapper.op().outputs.front(), found[3]);
}

Status mapSequenceLstm(Mapper& mapper) {
    using Options = UnidirectionalSequenceLstmOptions;
    HALYARD_RETURN_IF_ERROR(checkLstmInputs(mapper));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    if (mapper.flag(Options::kDiagonalRecurrentTensors)) {
        return unsupported("its recurrent weights are diagonals");
    }
    mapper.accept(Options::kAsymmetricQuantizeInputs);
    engine::LstmSequence node = {.timeMajor = mapper.flag(Options::kTimeMajor)};
    HALYARD_ASSIGN_OR_RETURN(node.attributes,
                             attributesOf(mapper, {.activation = Options::kFusedActivationFunction,
                                                   .cellClip = Options::kCellClip,
                                                   .projectionClip = Options::kProjClip}));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId found,
            emitLstmSequence(mapper, node,
                             placesUpTo(lstm::kAux, std::size(engine::LstmSequence::kInputs)),
                             kLstmStates));
    return mapper.alias(mapper.op().outputs.front(), found);
}

// Inputs: x; the weights and biases of both directions, 17 each; their states; the auxiliary input
// and its weights, four for each direction. There is no layer normalisation.
Status mapBidirectionalLstm(Mapper& mapper) {
    using Options = BidirectionalSequenceLstmOptions;
    constexpr size_t kParts = lstm::kProjectionBias;
    constexpr size_t kStates = 1 + 2 * kParts;
    constexpr size_t kAux = kStates + 4;
    constexpr size_t kGates = 4;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(kAux, kAux + 1 + 2 * kGates));
    HALYARD_RETURN_IF_ERROR(checkFloat(mapper));
    mapper.accept(Options::kAsymmetricQuantizeInputs);
    engine::LstmSequence node = {.timeMajor = mapper.flag(Options::kTimeMajor)};
    HALYARD_ASSIGN_OR_RETURN(node.attributes,
                             attributesOf(mapper, {.activation = Options::kFusedActivationFunction,
                                                   .cellClip = Options::kCellClip,
                                                   .projectionClip = Options::kProjClip}));
    // The forget gate has them wherever any gate does.
    HALYARD_RETURN_IF_ERROR(checkBothAux(mapper, kAux + 2, kAux + 2 + kGates));
    std::array<TensorId, 2> found = {};
    for (size_t direction = 0; direction < 2; ++direction) {
        std::vector<size_t> places(std::size(engine::LstmSequence::kInputs), kNowhere);
        places[0] = 0;
        for (size_t part = 0; part < kParts; ++part) {
            places[1 + part] = 1 + direction * kParts + part;
        }
        const std::array<size_t, 2> states = {kStates + 2 * direction, kStates + 2 * direction + 1};
        places[lstm::kOutputState] = states[0];
        places[lstm::kCellState] = states[1];
        places[lstm::kAux] = kAux;
        for (size_t gate = 0; gate < kGates; ++gate) {
            places[lstm::kAuxToInputWeights + gate] = kAux + 1 + direction * kGates + gate;
        }
        node.backward = direction == 1;
        HALYARD_ASSIGN_OR_RETURN(found[direction], emitLstmSequence(mapper, node, places, states));
    }
    return emitBoth(mapper, mapper.flag(Options::kMergeOutputs), found[0], found[1]);
}

}  // namespace halyard::tflite
