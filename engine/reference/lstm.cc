// SPDX-License-Identifier: Apache-2.0
//
// LSTM and its sequences.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "engine/graph/lstm_gates.h"
#include "engine/graph/recurrence.h"
#include "engine/numerics/reals.h"
#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"
#include "engine/reference/recurrent.h"

namespace halyard::engine::ref {
namespace {

using Function = LstmAttributes::Function;

float apply(Function function, float value) {
    switch (function) {
        case Function::NONE:
            return value;
        case Function::RELU:
            return std::max(value, 0.0F);
        case Function::RELU1:
            return std::clamp(value, -1.0F, 1.0F);
        case Function::RELU6:
            return std::clamp(value, 0.0F, 6.0F);
        case Function::TANH:
            return std::tanh(value);
        case Function::LOGISTIC:
            return 1.0F / (1.0F + std::exp(-value));
    }
    return value;
}

float clip(float value, float limit) {
    return limit > 0.0F ? std::clamp(value, -limit, limit) : value;
}

struct Gate {
    const float* weights = nullptr;
    const float* recurrentWeights = nullptr;
    const float* auxWeights = nullptr;  // null: none, as are the next
    const float* peephole = nullptr;
    const float* bias = nullptr;
    const float* layerNorm = nullptr;
};

Result<Gate> gateOf(KernelCall& call, const lstm::GateInputs& inputs) {
    Gate gate;
    HALYARD_ASSIGN_OR_RETURN(gate.weights, floatsOf(call, inputs.weights));
    HALYARD_ASSIGN_OR_RETURN(gate.recurrentWeights, floatsOf(call, inputs.recurrentWeights));
    if (inputs.peephole.has_value()) {
        HALYARD_ASSIGN_OR_RETURN(gate.peephole, floatsOf(call, *inputs.peephole));
    }
    HALYARD_ASSIGN_OR_RETURN(gate.bias, floatsOf(call, inputs.bias));
    HALYARD_ASSIGN_OR_RETURN(gate.layerNorm, floatsOf(call, inputs.layerNorm));
    if (call.inputCount() > inputs.auxWeights) {
        HALYARD_ASSIGN_OR_RETURN(gate.auxWeights, floatsOf(call, inputs.auxWeights));
    }
    return gate;
}

// The weights and the states, which every step replaces. b: batch, k: input size, l: size of the
// auxiliary input, n: units, m: output size.
class Cell {
  public:
    Cell(const LstmAttributes& attributes, KernelCall& call, int64_t batch)
        : mAttributes(attributes),
          mCall(call),
          mBatch(batch),
          mInputSize(call.input(lstm::kForgetGate.weights).shape()[1]),
          mUnits(call.input(lstm::kForgetGate.weights).shape()[0]),
          mOutputSize(call.input(lstm::kForgetGate.recurrentWeights).shape()[1]) {}

    Status prepare();
    Status step(Rows x, Rows aux);

    std::span<const float> outputState() const { return mOutputState; }  // [b, m]
    std::span<const float> cellState() const { return mCellState; }      // [b, n]

  private:
    Result<std::span<float>> roomForGate() {
        return mCall.scratch<float>(static_cast<size_t>(mBatch * mUnits));
    }
    // A gate from its products to its function, [b, n].
    Status compute(const Gate& gate, Function function, Rows x, Rows aux, std::span<float> result);
    Status normalize(const Gate& gate, std::span<float> row);
    // The output state from what the output gate lets through of the cell, [b, n].
    Status project(std::span<const float> hidden);

    const LstmAttributes& mAttributes;
    KernelCall& mCall;
    int64_t mBatch;
    int64_t mInputSize;
    int64_t mUnits;
    int64_t mOutputSize;
    int64_t mAuxSize = 0;
    Gate mInputGate;  // without weights: 1 minus the forget gate
    Gate mForgetGate;
    Gate mCellGate;
    Gate mOutputGate;
    const float* mProjectionWeights = nullptr;
    const float* mProjectionBias = nullptr;
    std::span<float> mOutputState;
    std::span<float> mCellState;
    // Results of the gates of one step.
    std::span<float> mIn;
    std::span<float> mForget;
    std::span<float> mModulation;
    std::span<float> mOut;
};

Status Cell::prepare() {
    HALYARD_ASSIGN_OR_RETURN(mInputGate, gateOf(mCall, lstm::kInputGate));
    HALYARD_ASSIGN_OR_RETURN(mForgetGate, gateOf(mCall, lstm::kForgetGate));
    HALYARD_ASSIGN_OR_RETURN(mCellGate, gateOf(mCall, lstm::kCellGate));
    HALYARD_ASSIGN_OR_RETURN(mOutputGate, gateOf(mCall, lstm::kOutputGate));
    if (mForgetGate.auxWeights != nullptr) {
        mAuxSize = mCall.input(lstm::kForgetGate.auxWeights).shape()[1];
    }
    HALYARD_ASSIGN_OR_RETURN(mProjectionWeights, floatsOf(mCall, lstm::kProjectionWeights));
    HALYARD_ASSIGN_OR_RETURN(mProjectionBias, floatsOf(mCall, lstm::kProjectionBias));
    HALYARD_ASSIGN_OR_RETURN(mOutputState, stateOf(mCall, lstm::kOutputState));
    HALYARD_ASSIGN_OR_RETURN(mCellState, stateOf(mCall, lstm::kCellState));
    HALYARD_ASSIGN_OR_RETURN(mIn, roomForGate());
    HALYARD_ASSIGN_OR_RETURN(mForget, roomForGate());
    HALYARD_ASSIGN_OR_RETURN(mModulation, roomForGate());
    HALYARD_ASSIGN_OR_RETURN(mOut, roomForGate());
    return {};
}

Status Cell::compute(const Gate& gate, Function function, Rows x, Rows aux,
                     std::span<float> result) {
    const auto sumUp = [&](int64_t i) -> Status {
        const int64_t row = i / mUnits;
        const int64_t unit = i % mUnits;
        // A gate that is normalised adds its bias afterwards.
        float sum = gate.layerNorm == nullptr ? gate.bias[unit] : 0.0F;
        HALYARD_RETURN_IF_ERROR(
                addAllProducts(mCall, sum, x[row], gate.weights + unit * mInputSize, mInputSize));
        if (gate.auxWeights != nullptr) {
            HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, aux[row],
                                                   gate.auxWeights + unit * mAuxSize, mAuxSize));
        }
        HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, mOutputState.data() + row * mOutputSize,
                                               gate.recurrentWeights + unit * mOutputSize,
                                               mOutputSize));
        if (gate.peephole != nullptr) {
            sum += mCellState[static_cast<size_t>(i)] * gate.peephole[unit];
        }
        result[static_cast<size_t>(i)] = sum;
        return {};
    };
    HALYARD_RETURN_IF_ERROR(mCall.forEach(mBatch * mUnits, 1, sumUp));
    const auto units = static_cast<size_t>(mUnits);
    if (gate.layerNorm != nullptr) {
        for (size_t begin = 0; begin < result.size(); begin += units) {
            HALYARD_RETURN_IF_ERROR(normalize(gate, result.subspan(begin, units)));
        }
    }
    return mCall.inSlices(mBatch * mUnits, 8, [&](int64_t begin, int64_t end) {
        for (float& element :
             result.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))) {
            element = apply(function, element);
        }
    });
}

Status Cell::normalize(const Gate& gate, std::span<float> row) {
    float sum = 0.0F;
    HALYARD_RETURN_IF_ERROR(
            mCall.forEach(mUnits, 1, [&](int64_t i) { sum += row[static_cast<size_t>(i)]; }));
    const float mean = sum / static_cast<float>(mUnits);
    float squares = 0.0F;
    HALYARD_RETURN_IF_ERROR(mCall.forEach(mUnits, 1, [&](int64_t i) {
        const float difference = row[static_cast<size_t>(i)] - mean;
        squares += difference * difference;
    }));
    const float variance = squares / static_cast<float>(mUnits);
    const float inverse = 1.0F / std::sqrt(variance + lstm::kLayerNormEpsilon);
    return mCall.forEach(mUnits, 1, [&](int64_t i) {
        float& element = row[static_cast<size_t>(i)];
        element = (element - mean) * inverse * gate.layerNorm[i] + gate.bias[i];
    });
}

Status Cell::project(std::span<const float> hidden) {
    if (mProjectionWeights == nullptr) {
        return mCall.forEach(mBatch * mUnits, 1, [&](int64_t i) {
            mOutputState[static_cast<size_t>(i)] = hidden[static_cast<size_t>(i)];
        });
    }
    return mCall.forEach(mBatch * mOutputSize, 1, [&](int64_t i) -> Status {
        const int64_t row = i / mOutputSize;
        const int64_t column = i % mOutputSize;
        float sum = mProjectionBias == nullptr ? 0.0F : mProjectionBias[column];
        HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, hidden.data() + row * mUnits,
                                               mProjectionWeights + column * mUnits, mUnits));
        mOutputState[static_cast<size_t>(i)] = clip(sum, mAttributes.projectionClip);
        return {};
    });
}

Status Cell::step(Rows x, Rows aux) {
    const bool hasInputGate = mInputGate.weights != nullptr;
    if (hasInputGate) {
        HALYARD_RETURN_IF_ERROR(compute(mInputGate, Function::LOGISTIC, x, aux, mIn));
    }
    HALYARD_RETURN_IF_ERROR(compute(mForgetGate, Function::LOGISTIC, x, aux, mForget));
    HALYARD_RETURN_IF_ERROR(compute(mCellGate, mAttributes.activation, x, aux, mModulation));
    HALYARD_RETURN_IF_ERROR(mCall.forEach(mBatch * mUnits, 1, [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        const float in = hasInputGate ? mIn[at] : 1.0F - mForget[at];
        const float next = mForget[at] * mCellState[at] + in * mModulation[at];
        mCellState[at] = clip(next, mAttributes.cellClip);
    }));
    // The output gate's peephole sees the new cell state.
    HALYARD_RETURN_IF_ERROR(compute(mOutputGate, Function::LOGISTIC, x, aux, mOut));
    HALYARD_RETURN_IF_ERROR(mCall.forEach(mBatch * mUnits, 8, [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        mOut[at] *= apply(mAttributes.activation, mCellState[at]);
    }));
    return project(mOut);
}

}  // namespace

Status run(const Lstm& node, KernelCall& call) {
    const Shape& shape = call.input(lstm::kX).shape();
    HALYARD_ASSIGN_OR_RETURN(const float* const x, floatsOf(call, lstm::kX));
    Cell cell(node.attributes, call, shape[0]);
    HALYARD_RETURN_IF_ERROR(cell.prepare());
    HALYARD_RETURN_IF_ERROR(cell.step({.first = x, .stride = shape[1]}, {}));
    if (!call.output(0).shape().isFullyKnown()) {
        const int32_t gates = call.input(lstm::kInputToInputWeights).present() ? 4 : 3;
        const Shape& bias = call.input(lstm::kForgetGateBias).shape();
        HALYARD_RETURN_IF_ERROR(call.allocate(0, {shape[0], gates * bias[0]}).status());
    }
    // Undefined, but not whatever lay in memory before.
    const RealWriter scratch(call.output(0));
    HALYARD_RETURN_IF_ERROR(call.forEach(countOf(call.output(0).shape()), 1,
                                         [&](int64_t i) { scratch.set(i, 0.0F); }));
    HALYARD_RETURN_IF_ERROR(store(call, cell.outputState(), 1));
    HALYARD_RETURN_IF_ERROR(store(call, cell.cellState(), 2));
    return store(call, cell.outputState(), 3);
}

Status run(const LstmSequence& node, KernelCall& call) {
    const SequenceRows sequence(call.input(lstm::kX).shape(), node.timeMajor, node.backward);
    HALYARD_ASSIGN_OR_RETURN(const float* const aux, floatsOf(call, lstm::kAux));
    const int64_t auxSize = aux == nullptr ? 0 : call.input(lstm::kAux).shape()[2];
    const bool auxIsX = takesAuxForX(node.backward, call.input(lstm::kAux),
                                     call.input(lstm::kAuxToForgetWeights));
    const size_t xInput = auxIsX ? lstm::kAux : lstm::kX;
    HALYARD_ASSIGN_OR_RETURN(const float* const x, floatsOf(call, xInput));
    const int64_t size = call.input(xInput).shape()[2];
    const int64_t outputSize = call.output(0).shape()[2];

    Cell cell(node.attributes, call, sequence.batch());
    HALYARD_RETURN_IF_ERROR(cell.prepare());
    for (int64_t step = 0; step < sequence.steps(); ++step) {
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));  // a step may be of no elements
        HALYARD_RETURN_IF_ERROR(
                cell.step(sequence.rows(x, size, step), sequence.rows(aux, auxSize, step)));
        HALYARD_RETURN_IF_ERROR(sequence.store(call, cell.outputState(), outputSize, step, 0));
    }
    HALYARD_RETURN_IF_ERROR(store(call, cell.outputState(), 1));
    return store(call, cell.cellState(), 2);
}

}  // namespace halyard::engine::ref
