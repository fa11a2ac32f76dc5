// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that the convolutions and FullyConnected share: a bias plus products of
// inputs and weights, activated and stored. The families themselves are only loops over indices.
// Inputs of the node: x, weights, bias.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"
#include "engine/plan/kernel_call.h"
#include "engine/reference/inner_loops.h"

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

// `sum` plus `count` products of differences from the zero points, modulo 2^32.
template <typename X, typename W>
uint32_t addProducts(uint32_t sum, const X* xs, int32_t xZero, const W* ws, int32_t wZero,
                     int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        sum += static_cast<uint32_t>((static_cast<int32_t>(xs[i]) - xZero) *
                                     (static_cast<int32_t>(ws[i]) - wZero));
    }
    return sum;
}

// Adds products as addProducts(sum, xs, ws, count) does, however many they are, and counts them.
inline Status addAllProducts(KernelCall& call, float& sum, const float* xs, const float* ws,
                             int64_t count) {
    return inParts(call, count, [&](int64_t begin, int64_t end) {
        sum = addProducts(sum, xs + begin, ws + begin, end - begin);
    });
}
template <typename X, typename W>
Status addAllProducts(KernelCall& call, uint32_t& sum, const X* xs, int32_t xZero, const W* ws,
                      int32_t wZero, int64_t count) {
    return inParts(call, count, [&](int64_t begin, int64_t end) {
        sum = addProducts(sum, xs + begin, xZero, ws + begin, wZero, end - begin);
    });
}

// Sums in float32. In and Out are float or Half: what inputs and output are stored as.
template <typename In, typename Out>
class FloatSum {
  public:
    using Sum = float;

    FloatSum(const In* x, const In* weights, const In* bias, const TensorView& output,
             Activation activation)
        : mX(x),
          mWeights(weights),
          mBias(bias),
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

    QuantizedSum(const KernelCall& call, Activation activation)
        : mX(call.input(0).as<X>()),
          mWeights(call.input(1).as<W>()),
          mBias(call.input(2).as<int32_t>()),
          mOutput(call.output(0).as<X>()),
          mXQuantization(call.input(0).type->quantization),
          mWeightQuantization(call.input(1).type->quantization),
          mPerChannel(call.input(1).type->type == DataType::QUANT8_SYMM_PER_CHANNEL),
          mOutputQuantization(call.output(0).type->quantization),
          mXZero(mXQuantization.zeroPoint),
          mWeightZero(mPerChannel ? 0 : mWeightQuantization.zeroPoint),
          mRange(rangeOf(activation, *call.output(0).type)) {}

    Sum start(int64_t channel) const { return static_cast<uint32_t>(mBias[channel]); }

    Sum add(Sum sum, int64_t x, int64_t w, int64_t count) const {
        return addProducts(sum, mX + x, mXZero, mWeights + w, mWeightZero, count);
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

// How often a weight has to be read before a copy of the weights, twice their size, pays.
inline constexpr int64_t kFewestReadsToWiden = 16;

// A FLOAT16 input as floats, in scratch memory: converting an element at every read takes longer
// than the arithmetic.
inline Result<const float*> widened(KernelCall& call, size_t input) {
    const ConstTensorView& narrow = call.input(input);
    const int64_t count = countOf(narrow.shape());
    HALYARD_ASSIGN_OR_RETURN(const std::span<float> wide,
                             call.scratch<float>(static_cast<size_t>(count)));
    HALYARD_RETURN_IF_ERROR(call.forEach(count, 1, [&](int64_t i) {
        wide[static_cast<size_t>(i)] = toFloat(narrow.as<Half>()[i]);
    }));
    return static_cast<const float*>(wide.data());
}

// An input's elements as floats; null where it was left out.
inline Result<const float*> floatsOf(KernelCall& call, size_t input) {
    const ConstTensorView& view = call.input(input);
    if (!view.present()) {
        return static_cast<const float*>(nullptr);
    }
    if (view.type->type == DataType::FLOAT16) {
        return widened(call, input);
    }
    return view.as<float>();
}

// Calls body(arithmetic) with the arithmetic for the node's types, and returns its status. Each
// weight belongs to one channel of the output, its last dimension, and is read for all the others'
// elements.
template <typename Body>
Status withMultiplyAccumulate(KernelCall& call, Activation activation, Body body) {
    const DataType xType = call.input(0).type->type;
    const TensorView& output = call.output(0);
    if (xType == DataType::FLOAT32) {
        return body(FloatSum<float, float>(call.input(0).as<float>(), call.input(1).as<float>(),
                                           call.input(2).as<float>(), output, activation));
    }
    if (xType == DataType::FLOAT16) {
        const int32_t channels = output.shape()[output.shape().rank() - 1];
        if (channels == 0 || countOf(output.shape()) / channels < kFewestReadsToWiden) {
            return body(FloatSum<Half, Half>(call.input(0).as<Half>(), call.input(1).as<Half>(),
                                             call.input(2).as<Half>(), output, activation));
        }
        HALYARD_ASSIGN_OR_RETURN(const float* const x, widened(call, 0));
        HALYARD_ASSIGN_OR_RETURN(const float* const weights, widened(call, 1));
        HALYARD_ASSIGN_OR_RETURN(const float* const bias, widened(call, 2));
        return body(FloatSum<float, Half>(x, weights, bias, output, activation));
    }
    const bool unsignedWeights = call.input(1).type->type == DataType::QUANT8_ASYMM;
    if (xType == DataType::QUANT8_ASYMM && unsignedWeights) {
        return body(QuantizedSum<uint8_t, uint8_t>(call, activation));
    }
    if (xType == DataType::QUANT8_ASYMM) {
        return body(QuantizedSum<uint8_t, int8_t>(call, activation));
    }
    if (unsignedWeights) {
        return body(QuantizedSum<int8_t, uint8_t>(call, activation));
    }
    return body(QuantizedSum<int8_t, int8_t>(call, activation));
}

}  // namespace halyard::engine::ref
