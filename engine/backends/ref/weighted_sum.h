// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that Conv2d, DepthwiseConv2d and FullyConnected share: a bias plus products of
// inputs and weights, activated and stored. The families themselves are only loops over indices.
// Inputs of the node: x, weights, bias.

#pragma once

#include <cstdint>
#include <span>

#include "engine/backends/ref/elements.h"
#include "engine/backends/ref/fused_activation.h"
#include "engine/backends/ref/requantize.h"
#include "engine/backends/ref/type_support.h"

namespace halyard::engine::ref {

// Sums in float32; T is float or Half.
template <typename T>
class FloatSum {
  public:
    using Sum = float;

    FloatSum(std::span<const ConstTensorView> inputs, const TensorView& output,
             Activation activation)
        : mX(inputs[0].as<T>()),
          mWeights(inputs[1].as<T>()),
          mBias(inputs[2].as<T>()),
          mOutput(output.as<T>()),
          mRange(rangeOf(activation)) {}

    Sum start(int64_t channel) const { return toReal(mBias[channel]); }

    // Adds `count` products of neighbours, from x[x] and weights[w] on.
    Sum add(Sum sum, int64_t x, int64_t w, int64_t count) const {
        const T* xs = mX + x;
        const T* ws = mWeights + w;
        for (int64_t i = 0; i < count; ++i) {
            sum += toReal(xs[i]) * toReal(ws[i]);
        }
        return sum;
    }

    void store(int64_t index, int64_t /*channel*/, Sum sum) const {
        mOutput[index] = fromReal<T>(activate(sum, mRange));
    }

  private:
    const T* mX;
    const T* mWeights;
    const T* mBias;
    T* mOutput;
    RealRange mRange;
};

// Sums exactly in 32 bits, modulo 2^32 (requantize.h); X and W are the bytes of x and the weights.
template <typename X, typename W>
class QuantizedSum {
  public:
    using Sum = uint32_t;

    QuantizedSum(std::span<const ConstTensorView> inputs, const TensorView& output,
                 Activation activation)
        : mX(inputs[0].as<X>()),
          mWeights(inputs[1].as<W>()),
          mBias(inputs[2].as<int32_t>()),
          mOutput(output.as<X>()),
          mXQuantization(inputs[0].type->quantization),
          mWeightQuantization(inputs[1].type->quantization),
          mPerChannel(inputs[1].type->type == DataType::QUANT8_SYMM_PER_CHANNEL),
          mOutputQuantization(output.type->quantization),
          mXZero(mXQuantization.zeroPoint),
          mWeightZero(mPerChannel ? 0 : mWeightQuantization.zeroPoint),
          mRange(rangeOf(activation, *output.type)) {}

    Sum start(int64_t channel) const { return static_cast<uint32_t>(mBias[channel]); }

    Sum add(Sum sum, int64_t x, int64_t w, int64_t count) const {
        const X* xs = mX + x;
        const W* ws = mWeights + w;
        for (int64_t i = 0; i < count; ++i) {
            sum += static_cast<uint32_t>((static_cast<int32_t>(xs[i]) - mXZero) *
                                         (static_cast<int32_t>(ws[i]) - mWeightZero));
        }
        return sum;
    }

    void store(int64_t index, int64_t channel, Sum sum) const {
        const float weightScale = mPerChannel ? mWeightQuantization.channelScales[channel]
                                              : mWeightQuantization.scale;
        const float m = multiplier(mXQuantization.scale, weightScale, mOutputQuantization.scale);
        const auto exact = static_cast<float>(static_cast<int32_t>(sum));
        mOutput[index] =
                static_cast<X>(roundAndClamp(exact * m, mOutputQuantization.zeroPoint, mRange));
    }

  private:
    const X* mX;
    const W* mWeights;
    const int32_t* mBias;
    X* mOutput;
    const Quantization& mXQuantization;
    const Quantization& mWeightQuantization;
    bool mPerChannel;
    const Quantization& mOutputQuantization;
    int32_t mXZero;
    int32_t mWeightZero;
    QuantizedRange mRange;
};

// What body(arithmetic) returns, with the arithmetic for the node's types.
template <typename Body>
Status withWeightedSum(std::span<const ConstTensorView> inputs, const TensorView& output,
                       Activation activation, Body body) {
    const DataType xType = inputs[0].type->type;
    if (isFloat(xType)) {
        return withFloatElements(xType, [&]<typename T>() -> Status {
            return body(FloatSum<T>(inputs, output, activation));
        });
    }
    const bool unsignedWeights = inputs[1].type->type == DataType::QUANT8_ASYMM;
    if (xType == DataType::QUANT8_ASYMM && unsignedWeights) {
        return body(QuantizedSum<uint8_t, uint8_t>(inputs, output, activation));
    }
    if (xType == DataType::QUANT8_ASYMM) {
        return body(QuantizedSum<uint8_t, int8_t>(inputs, output, activation));
    }
    if (unsignedWeights) {
        return body(QuantizedSum<int8_t, uint8_t>(inputs, output, activation));
    }
    return body(QuantizedSum<int8_t, int8_t>(inputs, output, activation));
}

// Whether the types are among those above, given that they agree as inference asks.
inline Status supportWeightedSum(TypeList inputs, TypeList outputs) {
    HALYARD_RETURN_IF_ERROR(supportType(inputs, 0, isComputable, "input"));
    HALYARD_RETURN_IF_ERROR(supportType(outputs, 0, isComputable, "output"));
    const auto isWeight = [](DataType type) {
        return isComputable(type) || type == DataType::QUANT8_SYMM ||
               type == DataType::QUANT8_SYMM_PER_CHANNEL;
    };
    return supportType(inputs, 1, isWeight, "input");
}

}  // namespace halyard::engine::ref
