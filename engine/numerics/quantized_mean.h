// SPDX-License-Identifier: Apache-2.0
//
// The mean of quantised elements. XNNPACK's rule, each step one IEEE operation in float32:
//
//     q = clamp(roundHalfEven(float32(sum of stored integers) * m + bias))
//
// with m = (s_x / s_out) * (1 / count) and bias = zero_out - (count * zero_x) * m. Means of
// integers often lie halfway between two steps, where the last bit of this decides; taking the zero
// points out before the product gives another byte for one element in a hundred.

#pragma once

#include <cstdint>

#include "engine/graph/tensor.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine {

class QuantizedMean {
  public:
    // Of `count` elements. The mean of nothing is the zero point.
    QuantizedMean(const Quantization& x, const Quantization& output, int64_t count)
        : mBias(static_cast<float>(output.zeroPoint)),
          mIsFar(isBeyondOutput(x.scale, output.scale)),
          mZeroPoint(output.zeroPoint),
          mZeroSum(count * x.zeroPoint) {
        if (count > 0) {
            mMultiplier = x.scale / output.scale * (1.0F / static_cast<float>(count));
            mBias -= static_cast<float>(mZeroSum) * mMultiplier;
            mRatio = static_cast<double>(x.scale) / static_cast<double>(output.scale) /
                     static_cast<double>(count);
        }
    }

    // `sum` is that of the stored integers.
    int32_t operator()(int64_t sum, QuantizedRange range) const {
        return mIsFar ? roundAndClampDouble(static_cast<double>(sum - mZeroSum) * mRatio,
                                            mZeroPoint, range)
                      : roundAndClamp(static_cast<float>(sum) * mMultiplier + mBias, 0, range);
    }

    // For kernels that take the steps themselves, where isBeyondOutput() does not hold.
    float multiplier() const { return mMultiplier; }
    float bias() const { return mBias; }

  private:
    float mMultiplier = 0.0F;
    float mBias;
    bool mIsFar;
    int32_t mZeroPoint;
    int64_t mZeroSum;
    double mRatio = 0.0;
};

}  // namespace halyard::engine
