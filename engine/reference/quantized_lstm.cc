// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZED_LSTM, whose contract is fixed-point arithmetic: what goes into a gate's function is
// Q3.12, what comes out of it Q0.15, and every step between them is rounded as NNAPI and TensorFlow
// Lite do it, so that results are theirs bit for bit. Where NNAPI's documentation and its sample
// code disagree (what the projection's clamp and the hidden state's zero point mean, a bias without
// layer normalisation, peepholes that read a cell state not yet written) this follows the
// documentation.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/graph/lstm_gates.h"
#include "engine/numerics/fixed_point.h"
#include "engine/numerics/requantize.h"
#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"

namespace halyard::engine::ref {
namespace {

using fixed_point::Multiplier;
using fixed_point::saturate;

constexpr int16_t kOne = std::numeric_limits<int16_t>::max();  // Q0.15

// Null where the input was left out.
template <typename T>
const T* elementsOf(const KernelCall& call, size_t input) {
    return call.input(input).present() ? call.input(input).as<T>() : nullptr;
}

float scaleOf(const KernelCall& call, size_t input) {
    return call.input(input).type->quantization.scale;
}

int32_t zeroPointOf(const KernelCall& call, size_t input) {
    return call.input(input).type->quantization.zeroPoint;
}

struct Gate {
    const int8_t* weights = nullptr;
    const int8_t* recurrentWeights = nullptr;
    const int16_t* peephole = nullptr;  // null: none
    const int32_t* bias = nullptr;
    const int16_t* layerNorm = nullptr;  // null: not normalised
    // From products to the gate's intermediate result.
    Multiplier weightsScale;
    Multiplier recurrentScale;
    Multiplier peepholeScale;
    Multiplier layerNormScale;  // from the normalised result to Q3.12
};

// `intermediateScale` is the attribute's, which only a gate that is normalised has; the cell
// state's scale is 2^cellLog2.
Result<Gate> gateOf(const KernelCall& call, const lstm::GateInputs& inputs, float intermediateScale,
                    int cellLog2) {
    Gate gate;
    gate.weights = elementsOf<int8_t>(call, inputs.weights);
    gate.recurrentWeights = elementsOf<int8_t>(call, inputs.recurrentWeights);
    gate.bias = elementsOf<int32_t>(call, inputs.bias);
    gate.layerNorm = elementsOf<int16_t>(call, inputs.layerNorm);
    const float sumScale = gate.layerNorm == nullptr ? 0x1p-12F : intermediateScale;
    const auto from = [&](float scale, size_t weights) {
        return fixed_point::quantizeMultiplier(scaleOf(call, weights) * scale / sumScale);
    };
    HALYARD_ASSIGN_OR_RETURN(gate.weightsScale, from(scaleOf(call, lstm::kX), inputs.weights));
    HALYARD_ASSIGN_OR_RETURN(gate.recurrentScale,
                             from(scaleOf(call, lstm::kOutputState), inputs.recurrentWeights));
    if (inputs.peephole.has_value() && call.input(*inputs.peephole).present()) {
        gate.peephole = elementsOf<int16_t>(call, *inputs.peephole);
        HALYARD_ASSIGN_OR_RETURN(gate.peepholeScale,
                                 from(std::ldexp(1.0F, cellLog2), *inputs.peephole));
    }
    if (gate.layerNorm != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(gate.layerNormScale,
                                 fixed_point::quantizeMultiplier(scaleOf(call, inputs.layerNorm)));
        gate.layerNormScale.shift += 12;
    }
    return gate;
}

// One step of the cell. b: batch, k: input size, n: units, m: output size.
class Step {
  public:
    Step(const QuantizedLstm& node, KernelCall& call)
        : mNode(node),
          mCall(call),
          mBatch(call.input(lstm::kX).shape()[0]),
          mInputSize(call.input(lstm::kX).shape()[1]),
          mUnits(call.input(lstm::kCellState).shape()[1]),
          mOutputSize(call.input(lstm::kOutputState).shape()[1]) {}

    Status run();

  private:
    // The argument of the gate's function, [b, n]. `cell` is the state that the peephole sees.
    Status sumUp(const Gate& gate, const int16_t* cell, std::span<int16_t> result);
    Status normalize(const Gate& gate, std::span<int16_t> result);
    Status normalizeRow(const Gate& gate, std::span<int16_t> row);
    // A gate with its function.
    Result<std::span<int16_t>> compute(const lstm::GateInputs& inputs, float intermediateScale,
                                       const int16_t* cell);
    Status updateCell(std::span<const int16_t> inputGate, std::span<const int16_t> forgetGate,
                      std::span<const int16_t> cellGate, int16_t* cell);
    // From hidden [b, n] to the output [b, m].
    Status project(const int8_t* hidden, int8_t* output);

    const QuantizedLstm& mNode;
    KernelCall& mCall;
    int64_t mBatch;
    int64_t mInputSize;
    int64_t mUnits;
    int64_t mOutputSize;
    int mCellLog2 = 0;
};

Status Step::sumUp(const Gate& gate, const int16_t* cell, std::span<int16_t> result) {
    const auto* const x = mCall.input(lstm::kX).as<int8_t>();
    const auto* const state = mCall.input(lstm::kOutputState).as<int8_t>();
    const int32_t xZero = zeroPointOf(mCall, lstm::kX);
    const int32_t stateZero = zeroPointOf(mCall, lstm::kOutputState);
    return mCall.forEach(mBatch * mUnits, 1, [&](int64_t i) -> Status {
        const int64_t row = i / mUnits;
        const int64_t unit = i % mUnits;
        // A gate that is normalised adds its bias afterwards.
        uint32_t products = gate.layerNorm == nullptr ? static_cast<uint32_t>(gate.bias[unit]) : 0U;
        HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, products, x + row * mInputSize, xZero,
                                               gate.weights + unit * mInputSize, 0, mInputSize));
        uint32_t recurrent = 0;
        HALYARD_RETURN_IF_ERROR(
                addAllProducts(mCall, recurrent, state + row * mOutputSize, stateZero,
                               gate.recurrentWeights + unit * mOutputSize, 0, mOutputSize));
        const auto add = [](int64_t sum, int32_t value, Multiplier factor) {
            return saturate<int16_t>(sum + fixed_point::scale(value, factor));
        };
        int16_t sum = add(0, static_cast<int32_t>(products), gate.weightsScale);
        sum = add(sum, static_cast<int32_t>(recurrent), gate.recurrentScale);
        if (gate.peephole != nullptr) {
            sum = add(sum, int32_t{cell[i]} * int32_t{gate.peephole[unit]}, gate.peepholeScale);
        }
        result[static_cast<size_t>(i)] = sum;
        return {};
    });
}

Status Step::normalize(const Gate& gate, std::span<int16_t> result) {
    const auto units = static_cast<size_t>(mUnits);
    for (size_t begin = 0; begin < result.size(); begin += units) {
        HALYARD_RETURN_IF_ERROR(normalizeRow(gate, result.subspan(begin, units)));
    }
    return {};
}

// Mean and normalised elements have 10 bits behind the point; the variance is an integer, at
// least 1.
Status Step::normalizeRow(const Gate& gate, std::span<int16_t> row) {
    constexpr int64_t kFraction = int64_t{1} << 10;
    constexpr int64_t kVarianceFraction = kFraction * kFraction;
    int64_t sum = 0;
    int64_t sumOfSquares = 0;
    HALYARD_RETURN_IF_ERROR(mCall.forEach(mUnits, 1, [&](int64_t i) {
        const int64_t value = row[static_cast<size_t>(i)];
        sum += value;
        sumOfSquares += value * value;
    }));
    const int64_t mean = sum * kFraction / mUnits;
    const int64_t variance =
            (sumOfSquares * (kVarianceFraction / mUnits) - mean * mean) / kVarianceFraction;
    const Multiplier inverse = fixed_point::inverseSquareRoot(saturate<int32_t>(variance));
    return mCall.forEach(mUnits, 1, [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        const auto centred = static_cast<int32_t>(kFraction * row[at] - mean);
        const int64_t weighted =
                int64_t{fixed_point::scale(centred, inverse)} * gate.layerNorm[i] + gate.bias[i];
        const int64_t half = weighted > 0 ? kFraction / 2 : -kFraction / 2;
        const auto normalized = saturate<int32_t>((weighted + half) / kFraction);
        row[at] = saturate<int16_t>(fixed_point::scale(normalized, gate.layerNormScale));
    });
}

Result<std::span<int16_t>> Step::compute(const lstm::GateInputs& inputs, float intermediateScale,
                                         const int16_t* cell) {
    HALYARD_ASSIGN_OR_RETURN(const Gate gate, gateOf(mCall, inputs, intermediateScale, mCellLog2));
    HALYARD_ASSIGN_OR_RETURN(const std::span<int16_t> result,
                             mCall.scratch<int16_t>(static_cast<size_t>(mBatch * mUnits)));
    HALYARD_RETURN_IF_ERROR(sumUp(gate, cell, result));
    if (gate.layerNorm != nullptr) {
        HALYARD_RETURN_IF_ERROR(normalize(gate, result));
    }
    const bool isCellGate = inputs.weights == lstm::kCellGate.weights;
    HALYARD_RETURN_IF_ERROR(mCall.inSlices(mBatch * mUnits, 16, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
            result[i] =
                    isCellGate ? fixed_point::tanh(result[i], 3) : fixed_point::logistic(result[i]);
        }
    }));
    return result;
}

Status Step::updateCell(std::span<const int16_t> inputGate, std::span<const int16_t> forgetGate,
                        std::span<const int16_t> cellGate, int16_t* cell) {
    const auto* const previous = mCall.input(lstm::kCellState).as<int16_t>();
    const float scale = scaleOf(mCall, lstm::kCellState);
    const auto clip = static_cast<int16_t>(
            mNode.cellClip > 0.0F ? std::min(mNode.cellClip / scale, 32767.0F) : 32767.0F);
    return mCall.forEach(mBatch * mUnits, 1, [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        // Without its weights the input gate is what the forget gate leaves.
        const int32_t input = inputGate.empty() ? kOne - forgetGate[at] : inputGate[at];
        const int32_t kept =
                fixed_point::roundingShiftRight(int32_t{forgetGate[at]} * previous[i], 15);
        const int32_t added = fixed_point::roundingShiftRight(input * cellGate[at], 30 + mCellLog2);
        const auto sum = saturate<int16_t>(int64_t{kept} + added);
        cell[i] = mNode.cellClip > 0.0F ? std::clamp(sum, static_cast<int16_t>(-clip), clip) : sum;
    });
}

Status Step::project(const int8_t* hidden, int8_t* output) {
    const TensorType& state = *mCall.input(lstm::kOutputState).type;
    const int32_t zeroPoint = state.quantization.zeroPoint;
    const float factor =
            scaleOf(mCall, lstm::kProjectionWeights) * mNode.hiddenScale / state.quantization.scale;
    HALYARD_ASSIGN_OR_RETURN(const Multiplier multiplier, fixed_point::quantizeMultiplier(factor));
    QuantizedRange range = rangeOf(state.type);
    if (mNode.projectionClip > 0.0F) {
        const auto clip = static_cast<int32_t>(
                std::min(mNode.projectionClip / state.quantization.scale, 512.0F));
        range.low = std::clamp(zeroPoint - clip, range.low, range.high);
        range.high = std::clamp(zeroPoint + clip, range.low, range.high);
    }
    const auto* const weights = mCall.input(lstm::kProjectionWeights).as<int8_t>();
    const auto* const bias = elementsOf<int32_t>(mCall, lstm::kProjectionBias);
    return mCall.forEach(mBatch * mOutputSize, 1, [&](int64_t i) -> Status {
        const int64_t row = i / mOutputSize;
        const int64_t column = i % mOutputSize;
        uint32_t sum = bias == nullptr ? 0U : static_cast<uint32_t>(bias[column]);
        HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, hidden + row * mUnits,
                                               mNode.hiddenZeroPoint, weights + column * mUnits, 0,
                                               mUnits));
        const int64_t value =
                int64_t{fixed_point::scale(static_cast<int32_t>(sum), multiplier)} + zeroPoint;
        output[i] = static_cast<int8_t>(std::clamp<int64_t>(value, range.low, range.high));
        return {};
    });
}

Status Step::run() {
    HALYARD_ASSIGN_OR_RETURN(mCellLog2, lstm::cellScaleLog2(scaleOf(mCall, lstm::kCellState)));
    const auto* const previousCell = mCall.input(lstm::kCellState).as<int16_t>();
    auto* const outputState = mCall.output(0).as<int8_t>();
    auto* const cell = mCall.output(1).as<int16_t>();
    auto* const output = mCall.output(2).as<int8_t>();

    std::span<int16_t> inputGate;
    if (mCall.input(lstm::kInputGate.weights).present()) {
        HALYARD_ASSIGN_OR_RETURN(
                inputGate, compute(lstm::kInputGate, mNode.inputIntermediateScale, previousCell));
    }
    HALYARD_ASSIGN_OR_RETURN(
            const std::span<int16_t> forgetGate,
            compute(lstm::kForgetGate, mNode.forgetIntermediateScale, previousCell));
    HALYARD_ASSIGN_OR_RETURN(const std::span<int16_t> cellGate,
                             compute(lstm::kCellGate, mNode.cellIntermediateScale, nullptr));
    HALYARD_RETURN_IF_ERROR(updateCell(inputGate, forgetGate, cellGate, cell));
    HALYARD_ASSIGN_OR_RETURN(const std::span<int16_t> outputGate,
                             compute(lstm::kOutputGate, mNode.outputIntermediateScale, cell));

    HALYARD_ASSIGN_OR_RETURN(
            const Multiplier hiddenScale,
            fixed_point::quantizeMultiplier(0x1p-15F / mNode.hiddenScale * 0x1p-15F));
    const bool projects = mCall.input(lstm::kProjectionWeights).present();
    std::span<int8_t> hidden(output, projects ? 0 : static_cast<size_t>(mBatch * mUnits));
    if (projects) {
        HALYARD_ASSIGN_OR_RETURN(hidden,
                                 mCall.scratch<int8_t>(static_cast<size_t>(mBatch * mUnits)));
    }
    HALYARD_RETURN_IF_ERROR(mCall.forEach(mBatch * mUnits, 16, [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        const int32_t product =
                int32_t{outputGate[at]} * fixed_point::tanh(cell[i], mCellLog2 + 15);
        hidden[at] = saturate<int8_t>(int64_t{fixed_point::scale(product, hiddenScale)} +
                                      mNode.hiddenZeroPoint);
    }));
    if (projects) {
        HALYARD_RETURN_IF_ERROR(project(hidden.data(), output));
    }
    return mCall.forEach(mBatch * mOutputSize, 1, [&](int64_t i) { outputState[i] = output[i]; });
}

}  // namespace

Status run(const QuantizedLstm& node, KernelCall& call) {
    return Step(node, call).run();
}

}  // namespace halyard::engine::ref
