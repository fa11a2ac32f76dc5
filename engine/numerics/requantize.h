// SPDX-License-Identifier: Apache-2.0
//
// The numerics of quantised types, the same in every backend bit for bit. A real value is
// scale * (q - zeroPoint). Going back to q takes one rule everywhere:
//
//     q = clamp(roundHalfEven(value) + zeroPoint)
//
// where `value` is the real value over the output's scale in float32. For a sum of products it is
// float32(sum) * m with m = float32(float32(s_x * s_w) / s_out), each step one IEEE operation in
// float32, as XNNPACK has it: with a multiplier that is rounded once, up to half of a layer's
// elements come out a step apart from XNNPACK's. Sums are exact: 32-bit integers that wrap modulo
// 2^32, as integer SIMD does, which takes more than 33,000 products of extreme bytes.
//
// Where XNNPACK or, for what XNNPACK has no kernel for, TensorFlow Lite and NNAPI's own driver
// round otherwise, so does every backend, byte for byte: scaled_sum.h (ADD, SUB), quantized_mean.h
// (MEAN), interpolation.h (RESIZE_BILINEAR), hard_swish.h and fixed_requantize.h (BATCH_MATMUL). A
// network of many layers makes several steps of one that differs early on.
//
// NaN becomes the zero point (the real 0), infinity the end of the range. No number of bytes comes
// to NaN: scales whose product float32 can't hold, and those so far apart that it loses what lies
// between them, are taken into account in double precision.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

// Bounds of the quantised result, both included.
struct QuantizedRange {
    int32_t low = 0;
    int32_t high = 0;
};

// In float32 where that holds it.
inline double scaleProduct(float a, float b) {
    const float product = a * b;
    return std::isnormal(product) ? static_cast<double>(product)
                                  : static_cast<double>(a) * static_cast<double>(b);
}

inline float multiplier(float inputScale, float weightScale, float outputScale) {
    const float product = inputScale * weightScale;
    return std::isnormal(product) ? product / outputScale
                                  : static_cast<float>(scaleProduct(inputScale, weightScale) /
                                                       static_cast<double>(outputScale));
}

// Whether one step of an input is more than an 8-bit output can hold.
inline bool isBeyondOutput(float inputScale, float outputScale) {
    return !(inputScale / outputScale < 0x1p8F);
}

// `value` is the real value divided by the scale. The result is meant for storing: it fits the type
// that `range` was made for.
inline int32_t roundAndClamp(float value, int32_t zeroPoint, QuantizedRange range) {
    if (std::isnan(value)) {
        return std::clamp(zeroPoint, range.low, range.high);
    }
    // The bounds are integers, so clamping first gives the same result and keeps the conversion to
    // an integer in range.
    const float low = static_cast<float>(range.low - zeroPoint);
    const float high = static_cast<float>(range.high - zeroPoint);
    return static_cast<int32_t>(std::nearbyint(std::clamp(value, low, high))) + zeroPoint;
}

// The same of a number that no float32 has to hold; never NaN.
inline int32_t roundAndClampDouble(double value, int32_t zeroPoint, QuantizedRange range) {
    const double low = range.low - zeroPoint;
    const double high = range.high - zeroPoint;
    return static_cast<int32_t>(std::nearbyint(std::clamp(value, low, high))) + zeroPoint;
}

inline QuantizedRange rangeOf(DataType type) {
    return {.low = minValue(type), .high = maxValue(type)};
}

inline float dequantize(int32_t value, const Quantization& quantization) {
    return quantization.scale * static_cast<float>(value - quantization.zeroPoint);
}

inline int32_t quantize(float value, const TensorType& type) {
    return roundAndClamp(value / type.quantization.scale, type.quantization.zeroPoint,
                         rangeOf(type.type));
}

}  // namespace halyard::engine
