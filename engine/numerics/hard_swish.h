// SPDX-License-Identifier: Apache-2.0
//
// HARD_SWISH of 8-bit elements in fixed point of 16 bits: the algorithm that TensorFlow Lite
// publishes and NNAPI's own driver for the processor takes over, so that networks of many such
// layers agree with both byte for byte. The real function rounded once, from which it is up to a
// step apart, has another byte for about one of 50 elements.

#pragma once

#include <cstdint>
#include <optional>

#include "engine/numerics/fixed_point.h"

namespace halyard::engine {

class FixedHardSwish {
  public:
    // Nothing where the scales are out of its range: an output's step that is not even 1/128 of
    // the input's, or one of the input's that is 2^24 or more.
    static std::optional<FixedHardSwish> of(float inputScale, float outputScale);

    // Of the difference from the input's zero point, up to 255 either way; to be added to the
    // output's.
    int32_t operator()(int32_t x) const;

  private:
    fixed_point::Multiplier mOutput;   // from 1/128 steps of the input to steps of the output
    fixed_point::Multiplier mReluish;  // the same to 2^-15ths of 3
};

}  // namespace halyard::engine
