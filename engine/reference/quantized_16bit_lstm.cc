// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZED_16BIT_LSTM, whose contract is fixed-point arithmetic: gates are Q3.12 before their
// functions and Q0.15 after them, the cell state is Q4.11, and results are NNAPI's bit for bit.
//
// NNAPI puts the row of a gate's recurrent weights in front of that of its input weights, but x in
// front of the output state, and multiplies the one with the other. So the first weights that x
// meets are recurrent ones. Its golden results and TensorFlow Lite's delegate agree with that.

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/numerics/fixed_point.h"
#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"

namespace halyard::engine::ref {
namespace {

using fixed_point::Multiplier;
using fixed_point::saturate;

constexpr int kGateIntegerBits = 3;
constexpr int kCellIntegerBits = 4;

// The gates in the order in which their weights, recurrent weights and biases stand.
enum Gate : size_t { kInputGate, kForgetGate, kCellGate, kOutputGate };
constexpr size_t kX = 0;
constexpr size_t kWeights = 1;
constexpr size_t kRecurrentWeights = 5;
constexpr size_t kBias = 9;
constexpr size_t kCellState = 13;
constexpr size_t kOutputState = 14;
constexpr int32_t kActivationZeroPoint = 128;

// One unit of one gate, for one row of the batch, in Q3.12.
class GateSum {
  public:
    GateSum(KernelCall& call, Gate gate, Multiplier multiplier)
        : mCall(call),
          mRecurrentWeights(call.input(kRecurrentWeights + gate).as<uint8_t>()),
          mWeights(call.input(kWeights + gate).as<uint8_t>()),
          mZeroPoint(call.input(kWeights).type->quantization.zeroPoint),
          mBias(call.input(kBias + gate).as<int32_t>()),
          mUnits(call.input(kOutputState).shape()[1]),
          mInputSize(call.input(kX).shape()[1]),
          mMultiplier(multiplier) {}

    // `row` is x, then the output state.
    Result<int16_t> operator()(const uint8_t* row, int64_t unit) const {
        auto sum = static_cast<uint32_t>(mBias[unit]);
        HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, row, kActivationZeroPoint,
                                               mRecurrentWeights + unit * mUnits, mZeroPoint,
                                               mUnits));
        HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, row + mUnits, kActivationZeroPoint,
                                               mWeights + unit * mInputSize, mZeroPoint,
                                               mInputSize));
        return saturate<int16_t>(fixed_point::scale(static_cast<int32_t>(sum), mMultiplier));
    }

  private:
    KernelCall& mCall;
    const uint8_t* mRecurrentWeights;
    const uint8_t* mWeights;
    int32_t mZeroPoint;
    const int32_t* mBias;
    int64_t mUnits;
    int64_t mInputSize;
    Multiplier mMultiplier;
};

// Rows of x and the output state, one after the other.
Result<std::span<const uint8_t>> concatenated(KernelCall& call) {
    const auto* const x = call.input(kX).as<uint8_t>();
    const auto* const state = call.input(kOutputState).as<uint8_t>();
    const int64_t batch = call.input(kX).shape()[0];
    const int64_t inputSize = call.input(kX).shape()[1];
    const int64_t units = call.input(kOutputState).shape()[1];
    const int64_t length = inputSize + units;
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> rows,
                             call.scratch<uint8_t>(static_cast<size_t>(batch * length)));
    HALYARD_RETURN_IF_ERROR(call.forEach(batch * length, 1, [&](int64_t i) {
        const int64_t row = i / length;
        const int64_t column = i % length;
        rows[static_cast<size_t>(i)] = column < inputSize ? x[row * inputSize + column]
                                                          : state[row * units + column - inputSize];
    }));
    return std::span<const uint8_t>(rows);
}

}  // namespace

Status run(const Quantized16BitLstm& /*node*/, KernelCall& call) {
    const ConstTensorView& state = call.input(kOutputState);
    const int64_t batch = state.shape()[0];
    const int64_t units = state.shape()[1];
    const auto* const previousCell = call.input(kCellState).as<int16_t>();
    auto* const cell = call.output(0).as<int16_t>();
    auto* const output = call.output(1).as<uint8_t>();

    const float productScale =
            call.input(kWeights).type->quantization.scale * call.input(kX).type->quantization.scale;
    HALYARD_ASSIGN_OR_RETURN(
            const Multiplier multiplier,
            fixed_point::quantizeMultiplier(static_cast<double>(productScale) * 0x1p12));
    const GateSum inputGate(call, kInputGate, multiplier);
    const GateSum forgetGate(call, kForgetGate, multiplier);
    const GateSum cellGate(call, kCellGate, multiplier);
    const GateSum outputGate(call, kOutputGate, multiplier);

    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> rows, concatenated(call));
    const int64_t length = int64_t{call.input(kX).shape()[1]} + units;
    return call.forEach(batch * units, 64, [&](int64_t i) -> Status {
        const uint8_t* const row = rows.data() + i / units * length;
        const int64_t unit = i % units;
        HALYARD_ASSIGN_OR_RETURN(const int16_t in, inputGate(row, unit));
        HALYARD_ASSIGN_OR_RETURN(const int16_t forget, forgetGate(row, unit));
        HALYARD_ASSIGN_OR_RETURN(const int16_t modulation, cellGate(row, unit));
        HALYARD_ASSIGN_OR_RETURN(const int16_t out, outputGate(row, unit));
        const int16_t added = fixed_point::multiply(
                fixed_point::logistic(in), fixed_point::tanh(modulation, kGateIntegerBits));
        const int16_t kept = fixed_point::multiply(fixed_point::logistic(forget), previousCell[i]);
        const auto next = saturate<int16_t>(
                int64_t{fixed_point::roundingShiftRight(added, kCellIntegerBits)} + kept);
        // The function takes the cell state clamped to three bits in front of the point.
        const int16_t clamped = fixed_point::shiftLeft(next, kCellIntegerBits - kGateIntegerBits);
        const int16_t activated = fixed_point::multiply(
                fixed_point::logistic(out), fixed_point::tanh(clamped, kGateIntegerBits));
        const int32_t rounded = fixed_point::roundingShiftRight(activated, 8);
        cell[i] = next;
        output[i] = static_cast<uint8_t>(std::clamp(rounded, -128, 127) + kActivationZeroPoint);
        return {};
    });
}

}  // namespace halyard::engine::ref
