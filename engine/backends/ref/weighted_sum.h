// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that Conv2d, DepthwiseConv2d and FullyConnected share: a bias plus products of
// inputs and weights, activated and stored. The families themselves are only loops over indices.
// Inputs of the node: x, weights, bias.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/backends/ref/elements.h"
#include "engine/backends/ref/fused_activation.h"
#include "engine/backends/ref/requantize.h"
#include "engine/backends/ref/type_support.h"

namespace halyard::engine::ref {

// `sum` plus `count` products, added one after the other.
inline float addProducts(float sum, const float* xs, const float* ws, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        sum += xs[i] * ws[i];
    }
    return sum;
}

// The same for halves, a block at a time: conversions vectorise, and a sum in order does not.
inline float addProducts(float sum, const Half* xs, const Half* ws, int64_t count) {
    constexpr int64_t kBlock = 64;
    float xBlock[kBlock];
    float wBlock[kBlock];
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t size = std::min(kBlock, count - begin);
        for (int64_t i = 0; i < size; ++i) {
            xBlock[i] = toFloat(xs[begin + i]);
            wBlock[i] = toFloat(ws[begin + i]);
        }
        sum = addProducts(sum, xBlock, wBlock, size);
    }
    return sum;
}

// Sums in float32. In and Out are float or Half: what inputs and output are stored as. Half inputs
// that are worth it come widened (widening.h).
template <typename In, typename Out>
class FloatSum {
  public:
    using Sum = float;

    FloatSum(std::span<const ConstTensorView> inputs, const TensorView& output,
             Activation activation)
        : mX(inputs[0].as<In>()),
          mWeights(inputs[1].as<In>()),
          mBias(inputs[2].as<In>()),
          mOutput(output.as<Out>()),
          mRange(rangeOf(activation)) {}

    Sum start(int64_t channel) const { return toReal(mBias[channel]); }

    // Adds `count` products of neighbours, from x[x] and weights[w] on.
    Sum add(Sum sum, int64_t x, int64_t w, int64_t count) const {
        return addProducts(sum, mX + x, mWeights + w, count);
    }

    void store(int64_t index, int64_t /*channel*/, Sum sum) const {
        mOutput[index] = fromReal<Out>(activate(sum, mRange));
    }

  private:
    const In* mX;
    const In* mWeights;
    const In* mBias;
    Out* mOutput;
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
    if (xType == DataType::FLOAT16) {
        return body(FloatSum<Half, Half>(inputs, output, activation));
    }
    if (xType == DataType::FLOAT32 && output.type->type == DataType::FLOAT16) {
        return body(FloatSum<float, Half>(inputs, output, activation));
    }
    if (xType == DataType::FLOAT32) {
        return body(FloatSum<float, float>(inputs, output, activation));
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
