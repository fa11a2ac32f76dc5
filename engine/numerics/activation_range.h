// SPDX-License-Identifier: Apache-2.0
//
// A fused activation as a range that results are clamped to.

#pragma once

#include <algorithm>
#include <limits>

#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine {

struct RealRange {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
};

inline RealRange rangeOf(Activation activation) {
    switch (activation) {
        case Activation::NONE:
            return {};
        case Activation::RELU:
            return {.low = 0.0F};
        case Activation::RELU1:
            return {.low = -1.0F, .high = 1.0F};
        case Activation::RELU6:
            return {.low = 0.0F, .high = 6.0F};
    }
    return {};
}

// NaN passes through.
inline float activate(float value, RealRange range) {
    return std::clamp(value, range.low, range.high);
}

// The same range in the output's quantised values, each bound rounded as a result would be.
inline QuantizedRange rangeOf(Activation activation, const TensorType& output) {
    const RealRange real = rangeOf(activation);
    return {.low = quantize(real.low, output), .high = quantize(real.high, output)};
}

}  // namespace halyard::engine
