// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic mean, as the MEAN reduction takes it, and average pooling of floats or into
// another scale. The mean of nothing is NaN, and so the zero point of a quantised output.

#pragma once

#include <cstdint>

#include "engine/graph/tensor.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::ref {

// Sums and divides in float32.
class FloatMean {
  public:
    void add(float value) {
        mSum += value;
        ++mCount;
    }
    float value() const { return mSum / static_cast<float>(mCount); }

  private:
    float mSum = 0.0F;
    int64_t mCount = 0;
};

// Sums exactly and requantises once: float32(sum of (q - zeroPoint)) * m with m = s_x / (count *
// s_out), rounded once to float32. LiteRT and NNAPI divide in integers and round halves away from
// zero, or multiply in fixed point; all stay within half a step of the real mean, so within one
// step of each other.
class QuantizedMean {
  public:
    QuantizedMean(const TensorType& input, const TensorType& output)
        : mInput(input), mOutput(output) {}
    void add(int32_t value) {
        mSum += value - mInput.quantization.zeroPoint;
        ++mCount;
    }
    int32_t value(QuantizedRange range) const {
        const auto m = static_cast<float>(
                static_cast<double>(mInput.quantization.scale) /
                (static_cast<double>(mCount) * static_cast<double>(mOutput.quantization.scale)));
        return roundAndClamp(static_cast<float>(mSum) * m, mOutput.quantization.zeroPoint, range);
    }

  private:
    const TensorType& mInput;
    const TensorType& mOutput;
    int64_t mSum = 0;
    int64_t mCount = 0;
};

}  // namespace halyard::engine::ref
