// SPDX-License-Identifier: Apache-2.0
//
// The requantisation of BATCH_MATMUL, in fixed point and rounded twice:
//
//     q = clamp(roundingShiftRight(multiply(sum, fraction), -shift) + zero)
//
// (fixed_point.h), the rule of TensorFlow Lite, which NNAPI's own driver takes over: for this
// operation XNNPACK has no kernel of 8 bits that would round otherwise. Rounded once, as
// requantize.h has it for convolutions, one element in some hundred is another byte.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/numerics/fixed_point.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine {

class FixedRequantization {
  public:
    FixedRequantization(const Quantization& a, const Quantization& b, const Quantization& output)
        : mZeroPoint(output.zeroPoint) {
        const double product = scaleProduct(a.scale, b.scale);
        const Result<fixed_point::Multiplier> factor =
                fixed_point::quantizeMultiplier(product / static_cast<double>(output.scale));
        // A larger factor takes every sum but 0 beyond the range, as the largest one does.
        mFactor = factor.ok()
                          ? *factor
                          : fixed_point::Multiplier{.fraction = std::numeric_limits<int32_t>::max(),
                                                    .shift = 31};
    }

    int32_t operator()(int32_t sum, QuantizedRange range) const {
        const int64_t value = int64_t{fixed_point::scale(sum, mFactor)} + mZeroPoint;
        return static_cast<int32_t>(std::clamp<int64_t>(value, range.low, range.high));
    }

    // For kernels that take the steps themselves.
    fixed_point::Multiplier factor() const { return mFactor; }

  private:
    fixed_point::Multiplier mFactor;
    int32_t mZeroPoint;
};

}  // namespace halyard::engine
