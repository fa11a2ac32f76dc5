// SPDX-License-Identifier: Apache-2.0
//
// Bilinear interpolation of 8-bit pixels. XNNPACK's rule, in integers of 32 bits whatever the
// backend: shares are rounded to 11 bits, and the result once, halves up. Weighting in float32
// instead gives another byte for one element in twenty.

#pragma once

#include <cmath>
#include <cstdint>

namespace halyard::engine {

inline constexpr int kShareBits = 11;

// A share in [0, 1] as a number of 2^-11ths.
inline int32_t fixedShare(float share) {
    return static_cast<int32_t>(std::nearbyint(share * static_cast<float>(1 << kShareBits)));
}

// Between the least and the greatest of the four. `right` and `bottom` are fixed shares.
inline int32_t interpolate(int32_t topLeft, int32_t topRight, int32_t bottomLeft,
                           int32_t bottomRight, int32_t right, int32_t bottom) {
    constexpr int32_t kOne = 1 << kShareBits;
    constexpr int32_t kHalf = 1 << (2 * kShareBits - 1);
    const int32_t top = topLeft * kOne + (topRight - topLeft) * right;
    const int32_t down = bottomLeft * kOne + (bottomRight - bottomLeft) * right - top;
    return (top * kOne + down * bottom + kHalf) >> (2 * kShareBits);
}

}  // namespace halyard::engine
