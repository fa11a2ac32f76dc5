// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic mean of floats, as the MEAN reduction and average pooling take it. The mean of
// nothing is NaN.

#pragma once

#include <cstdint>

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

}  // namespace halyard::engine::ref
