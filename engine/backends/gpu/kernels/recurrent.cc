// SPDX-License-Identifier: Apache-2.0
//
// Recurrent nodes of floats. What the gates take of x is multiplied for all steps of a sequence at
// once, or in the one step that there is; each step then has a launch, one more where gates are
// normalised, and one more where the output is projected.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/recurrent_step.h"
#include "engine/graph/lstm_gates.h"
#include "engine/graph/recurrence.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// Each is a few launches, which are all planned beforehand.
constexpr int32_t kMostSteps = 4096;

// Inputs of Rnn and RnnSequence.
constexpr size_t kX = 0;
constexpr size_t kHidden = 4;
constexpr size_t kAux = 5;
constexpr size_t kAuxWeights = 6;
constexpr lstm::GateInputs kRnnGate = {.weights = 1,
                                       .recurrentWeights = 2,
                                       .peephole = std::nullopt,
                                       .bias = 3,
                                       .layerNorm = 0,
                                       .auxWeights = kAuxWeights};

// Where the rows of each step lie in a sequence, in rows.
struct Sequence {
    int64_t batch = 0;
    int64_t steps = 1;
    int64_t rowsOfElement = 1;  // from an element of the batch to the next
    int64_t rowsOfStep = 0;
    int64_t firstRow = 0;

    int64_t row(int64_t number) const { return firstRow + number * rowsOfStep; }
};

Sequence sequenceOf(const Shape& x, bool timeMajor, bool backward) {
    const int64_t time = x[timeMajor ? 0 : 1];
    Sequence sequence = {.batch = x[timeMajor ? 1 : 0], .steps = time};
    sequence.rowsOfElement = timeMajor ? 1 : time;
    sequence.rowsOfStep = timeMajor ? sequence.batch : 1;
    if (backward) {
        sequence.firstRow = (time - 1) * sequence.rowsOfStep;
        sequence.rowsOfStep = -sequence.rowsOfStep;
    }
    return sequence;
}

// The part of a node that is the same in each of its steps.
class Recurrence {
  public:
    Recurrence(StepPlan& step, std::span<const lstm::GateInputs> gates, const Sequence& sequence)
        : mStep(step),
          mInputs(gates),
          mSequence(sequence),
          mStorage(storageOf(step.input(0).type)),
          mUnits(step.input(gates.back().weights).shape[0]) {}

    std::string_view storage() const { return mStorage; }
    int64_t units() const { return mUnits; }
    int64_t batch() const { return mSequence.batch; }
    int64_t steps() const { return mSequence.steps; }
    Stored asStored(const Operand& operand) const { return {operand, mStorage}; }
    Operand floats(int64_t count) {
        return mStep.scratch(static_cast<size_t>(count) * sizeof(float));
    }

    // Reads x, and aux where it has weights.
    Status takeInputs(size_t x, std::optional<size_t> aux, bool normalizes);

    // A step from what is the same in all of them; the rest is the caller's.
    RecurrentStep stepAt(int64_t number) const;
    // The rows of an output that a step writes.
    StoredRows rowsOf(const Operand& output, int64_t size, int64_t number) const {
        const int64_t element = mStorage == "F16" ? 2 : 4;
        return {.elements = asStored(output.at(mSequence.row(number) * size * element)),
                .size = size,
                .stride = mSequence.rowsOfElement * size};
    }

  private:
    StepPlan& mStep;
    const std::span<const lstm::GateInputs> mInputs;
    const Sequence mSequence;
    const std::string_view mStorage;
    const int64_t mUnits;
    std::vector<GateOperands> mGates;
    std::optional<StoredRows> mX;
    std::optional<Operand> mSums;
};

Status Recurrence::takeInputs(size_t x, std::optional<size_t> aux, bool normalizes) {
    const bool inStep = mSequence.steps == 1 && !aux.has_value();
    const auto gates = static_cast<int64_t>(mInputs.size());
    const int64_t rows = mSequence.batch * mSequence.steps;
    const int64_t size = mStep.input(mInputs.back().weights).shape[1];
    if (inStep) {
        mX = StoredRows{.elements = asStored(mStep.in(x)),
                        .size = size,
                        .stride = mSequence.rowsOfElement * size};
    } else {
        const int64_t count = rows * gates * mUnits;
        if (count > std::numeric_limits<int32_t>::max()) {
            return outOfReach("has " + std::to_string(count) + " sums, more than can be numbered");
        }
        mSums = floats(count);
    }
    for (int64_t i = 0; i < gates; ++i) {
        const lstm::GateInputs& inputs = mInputs[static_cast<size_t>(i)];
        GateOperands& gate = mGates.emplace_back();
        gate.recurrentWeights = mStep.in(inputs.recurrentWeights);
        if (normalizes) {
            gate.layerNorm = mStep.in(inputs.layerNorm);
        }
        if (inputs.peephole.has_value() && mStep.has(*inputs.peephole)) {
            gate.peephole = mStep.in(*inputs.peephole);
        }
        if (inStep) {
            gate.weights = mStep.in(inputs.weights);
        }
        if (inStep || normalizes) {
            gate.bias = mStep.in(inputs.bias);
        }
        if (inStep) {
            continue;
        }
        InputGemm gemm = {.x = asStored(mStep.in(x)),
                          .weights = mStep.in(inputs.weights),
                          .result = mSums->at(i * mUnits * int64_t{sizeof(float)}),
                          .rows = rows,
                          .columns = mUnits,
                          .depth = size,
                          .stride = gates * mUnits};
        if (!normalizes) {
            gemm.bias = mStep.in(inputs.bias);
        }
        HALYARD_RETURN_IF_ERROR(addInputGemm(mStep, gemm));
        if (aux.has_value()) {
            gemm.x = asStored(mStep.in(*aux));
            gemm.weights = mStep.in(inputs.auxWeights);
            gemm.bias = std::nullopt;
            gemm.adds = true;
            gemm.depth = mStep.input(inputs.auxWeights).shape[1];
            HALYARD_RETURN_IF_ERROR(addInputGemm(mStep, gemm));
        }
    }
    return {};
}

RecurrentStep Recurrence::stepAt(int64_t number) const {
    RecurrentStep recurrent = {.storage = mStorage,
                               .gates = mGates,
                               .batch = mSequence.batch,
                               .units = mUnits,
                               .state = {},
                               .x = mX};
    if (mSums.has_value()) {
        const int64_t row = static_cast<int64_t>(mGates.size()) * mUnits;
        recurrent.sums = StoredRows{.elements = {.operand = mSums->at(mSequence.row(number) * row *
                                                                      int64_t{sizeof(float)})},
                                    .size = row,
                                    .stride = mSequence.rowsOfElement * row};
    }
    return recurrent;
}

// A state from one step to the next: it begins in an input, ends in an output, and lies in two
// places in turn in between.
class State {
  public:
    State(Recurrence& recurrence, const Operand& input, const Operand& output, int64_t size)
        : mInput(recurrence.asStored(input)),
          mOutput(recurrence.asStored(output)),
          mSize(size),
          mSteps(recurrence.steps()) {
        for (int64_t i = 0; i < std::min<int64_t>(mSteps - 1, 2); ++i) {
            mBetween.push_back({.operand = recurrence.floats(recurrence.batch() * size)});
        }
    }

    Stored before(int64_t number) const {
        return number == 0 ? mInput : mBetween[static_cast<size_t>(number - 1) % 2];
    }
    Stored after(int64_t number) const {
        return number == mSteps - 1 ? mOutput : mBetween[static_cast<size_t>(number) % 2];
    }
    StoredRows rowsBefore(int64_t number) const {
        return {.elements = before(number), .size = mSize, .stride = mSize};
    }

  private:
    const Stored mInput;
    const Stored mOutput;
    const int64_t mSize;
    const int64_t mSteps;
    std::vector<Stored> mBetween;
};

// The elements of one tensor into another of the same type.
Status copy(StepPlan& step, size_t input, size_t output) {
    const TensorType& type = step.input(input);
    const std::string_view storage = movedStorageOf(type.type);
    return addMap(step,
                  {.extents = {countOf(type.shape)},
                   .inputs = {{.operand = step.in(input), .storage = storage, .strides = {1}}},
                   .output = {.operand = step.out(output), .storage = storage, .strides = {1}}});
}

Status runRnn(StepPlan& step, Activation activation, Recurrence& recurrence, size_t output,
              size_t hidden) {
    if (recurrence.steps() == 0) {
        return copy(step, kHidden, hidden);
    }
    const RealRange range = rangeOf(activation);
    const State state(recurrence, step.in(kHidden), step.out(hidden), recurrence.units());
    for (int64_t i = 0; i < recurrence.steps(); ++i) {
        RecurrentStep recurrent = recurrence.stepAt(i);
        recurrent.state = state.rowsBefore(i);
        recurrent.low = range.low;
        recurrent.high = range.high;
        recurrent.result = state.after(i);
        recurrent.output = recurrence.rowsOf(step.out(output), recurrence.units(), i);
        HALYARD_RETURN_IF_ERROR(addRecurrentStep(step, recurrent));
    }
    return {};
}

struct LstmOutputs {
    size_t output = 0;
    size_t outputState = 1;
    size_t cellState = 2;
};

Status runLstm(StepPlan& step, const LstmAttributes& attributes, Recurrence& recurrence,
               const LstmOutputs& outputs, bool normalizes) {
    const int64_t batch = recurrence.batch();
    const int64_t units = recurrence.units();
    const int64_t size = step.output(outputs.outputState).shape[1];
    if (recurrence.steps() == 0) {
        HALYARD_RETURN_IF_ERROR(copy(step, lstm::kOutputState, outputs.outputState));
        return copy(step, lstm::kCellState, outputs.cellState);
    }
    const State state(recurrence, step.in(lstm::kOutputState), step.out(outputs.outputState), size);
    const State cell(recurrence, step.in(lstm::kCellState), step.out(outputs.cellState), units);
    std::optional<Operand> gateScratch;
    if (normalizes) {
        gateScratch = recurrence.floats(batch * 4 * units);
    }
    const bool projects = step.has(lstm::kProjectionWeights);
    RecurrentStep projection;
    if (projects) {
        const Stored hidden = {.operand = recurrence.floats(batch * units)};
        projection = {.storage = recurrence.storage(),
                      .gates = {{.recurrentWeights = step.in(lstm::kProjectionWeights)}},
                      .batch = batch,
                      .units = size,
                      .state = {.elements = hidden, .size = units, .stride = units}};
        if (step.has(lstm::kProjectionBias)) {
            projection.gates[0].bias = step.in(lstm::kProjectionBias);
        }
        if (attributes.projectionClip > 0.0F) {
            projection.low = -attributes.projectionClip;
            projection.high = attributes.projectionClip;
        }
    }
    for (int64_t i = 0; i < recurrence.steps(); ++i) {
        RecurrentStep recurrent = recurrence.stepAt(i);
        recurrent.state = state.rowsBefore(i);
        recurrent.cell = CellOperands{
                .attributes = attributes, .before = cell.before(i), .after = cell.after(i)};
        recurrent.gateScratch = gateScratch;
        RecurrentStep& last = projects ? projection : recurrent;
        last.result = state.after(i);
        last.output = recurrence.rowsOf(step.out(outputs.output), size, i);
        if (projects) {
            recurrent.result = projection.state.elements;
        }
        HALYARD_RETURN_IF_ERROR(addRecurrentStep(step, recurrent));
        if (projects) {
            HALYARD_RETURN_IF_ERROR(addRecurrentStep(step, projection));
        }
    }
    return {};
}

// The gates that the node has.
std::span<const lstm::GateInputs> gatesOf(const StepPlan& step) {
    static constexpr std::array kGates = {lstm::kInputGate, lstm::kForgetGate, lstm::kCellGate,
                                          lstm::kOutputGate};
    const std::span<const lstm::GateInputs> all = kGates;
    return step.has(lstm::kInputToInputWeights) ? all : all.subspan(1);
}

Status supportsLength(const Graph& graph, const Node& whole, bool timeMajor) {
    const Shape& x = graph.tensor(whole.inputs[0]).type.shape;
    const int32_t steps =
            x.hasKnownRank() && x.rank() == 3 ? x[timeMajor ? 0 : 1] : kUnknownDimension;
    if (steps == kUnknownDimension) {
        return unsupported("takes no steps whose number only a run tells");
    }
    return steps <= kMostSteps
                   ? Status()
                   : unsupported("takes no more than " + std::to_string(kMostSteps) + " steps");
}

}  // namespace

Status supports(const Rnn& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Rnn& node, StepPlan& step) {
    Recurrence recurrence(step, {&kRnnGate, 1}, {.batch = step.input(kX).shape[0]});
    HALYARD_RETURN_IF_ERROR(recurrence.takeInputs(kX, std::nullopt, false));
    return runRnn(step, node.activation, recurrence, 1, 0);
}

Status supports(const RnnSequence& node, const Graph& graph, const Node& whole,
                const DeviceFacts& /*facts*/) {
    return supportsLength(graph, whole, node.timeMajor);
}

Status plan(const RnnSequence& node, StepPlan& step) {
    const bool auxIsX = takesAuxForX(node.backward, step.known(kAux), step.known(kAuxWeights));
    Recurrence recurrence(step, {&kRnnGate, 1},
                          sequenceOf(step.input(kX).shape, node.timeMajor, node.backward));
    std::optional<size_t> aux;
    if (step.has(kAuxWeights)) {
        aux = kAux;
    }
    HALYARD_RETURN_IF_ERROR(recurrence.takeInputs(auxIsX ? kAux : kX, aux, false));
    return runRnn(step, node.activation, recurrence, 0, 1);
}

Status supports(const Lstm& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& /*facts*/) {
    // As wide as the model says, or as the parts that are there ask for.
    const Shape& scratch = graph.tensor(whole.outputs[0]).type.shape;
    return scratch.hasKnownRank() && scratch.rank() == 2 && scratch[1] != kUnknownDimension
                   ? Status()
                   : unsupported("has no scratch whose size only a run tells");
}

Status plan(const Lstm& node, StepPlan& step) {
    constexpr size_t kScratch = 0;
    Recurrence recurrence(step, gatesOf(step), {.batch = step.input(lstm::kX).shape[0]});
    const bool normalizes = step.has(lstm::kForgetLayerNormWeights);
    HALYARD_RETURN_IF_ERROR(recurrence.takeInputs(lstm::kX, std::nullopt, normalizes));
    HALYARD_RETURN_IF_ERROR(runLstm(step, node.attributes, recurrence,
                                    {.output = 3, .outputState = 1, .cellState = 2}, normalizes));
    // Undefined, but not whatever lay in memory before.
    return addMap(step, {.extents = {countOf(step.output(kScratch).shape)},
                         .output = {.operand = step.out(kScratch),
                                    .storage = movedStorageOf(step.output(kScratch).type),
                                    .strides = {1}},
                         .body = "r = 0;"});
}

Status supports(const LstmSequence& node, const Graph& graph, const Node& whole,
                const DeviceFacts& /*facts*/) {
    return supportsLength(graph, whole, node.timeMajor);
}

Status plan(const LstmSequence& node, StepPlan& step) {
    const bool auxIsX = takesAuxForX(node.backward, step.known(lstm::kAux),
                                     step.known(lstm::kAuxToForgetWeights));
    Recurrence recurrence(step, gatesOf(step),
                          sequenceOf(step.input(lstm::kX).shape, node.timeMajor, node.backward));
    const bool normalizes = step.has(lstm::kForgetLayerNormWeights);
    std::optional<size_t> aux;
    if (step.has(lstm::kAuxToForgetWeights)) {
        aux = lstm::kAux;
    }
    HALYARD_RETURN_IF_ERROR(recurrence.takeInputs(auxIsX ? lstm::kAux : lstm::kX, aux, normalizes));
    return runLstm(step, node.attributes, recurrence, {}, normalizes);
}

}  // namespace halyard::engine::gpu
