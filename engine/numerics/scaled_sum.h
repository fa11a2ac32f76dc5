// SPDX-License-Identifier: Apache-2.0
//
// Sums of two 8-bit elements of different scales, for ADD and SUB. XNNPACK's rule, in integers of
// 32 bits whatever the backend:
//
//     q = clamp(((a - zeroA) * multiplierA + (b - zeroB) * multiplierB + half) >> shift) + zero)
//
// where the multipliers are the ratios of the scales times 2^shift, the larger one in
// [2^20, 2^21]. Halves go up. Rounding one float32 sum to even instead gives another byte for one
// pair of bytes in 30,000, which a network of fifty layers makes several steps of.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "engine/numerics/requantize.h"

namespace halyard::engine {

struct ScaledSum {
    int32_t multiplierA = 0;
    int32_t multiplierB = 0;
    int32_t shift = 0;  // in [13, 30]

    // A ratio is an input's scale over the output's, in float32. Nothing where one is 2^8 or more,
    // which overflows: one step of such an input is more than the output can hold.
    static std::optional<ScaledSum> of(float ratioA, float ratioB) {
        const float largest = std::max(ratioA, ratioB);
        if (!(largest < 0x1p8F)) {
            return std::nullopt;
        }
        // Ratios below 2^-10 leave nothing of any byte.
        const int32_t exponent = largest < 0x1p-10F ? -10 : std::ilogb(largest);
        const int32_t shift = 20 - exponent;
        const auto times = [shift](float ratio) {
            return static_cast<int32_t>(std::nearbyint(std::ldexp(ratio, shift)));
        };
        return ScaledSum{
                .multiplierA = times(ratioA), .multiplierB = times(ratioB), .shift = shift};
    }

    // Of the differences from the zero points, up to 255 either way; less the output's zero point.
    int32_t operator()(int32_t a, int32_t b) const {
        return (a * multiplierA + b * multiplierB + (1 << (shift - 1))) >> shift;
    }
};

// The whole rule, from stored element to stored element.
struct ByteAddition {
    ScaledSum sum = {.shift = 13};  // of nothing, but one that can be computed
    int32_t zeroA = 0;
    int32_t zeroB = 0;
    int32_t zero = 0;  // of the output
    QuantizedRange bounds;

    int32_t operator()(int32_t a, int32_t b) const {
        return std::clamp(sum(a - zeroA, b - zeroB) + zero, bounds.low, bounds.high);
    }
};

// The same where a ratio is too large for that: as real numbers in double precision, which holds
// every ratio of two scales and what 255 steps of it are. In float32 the ratio may be infinite, and
// nothing times infinity no number.
struct FarScaledSum {
    double ratioA = 0.0;
    double ratioB = 0.0;

    static FarScaledSum of(float scaleA, float scaleB, float outputScale) {
        return {.ratioA = static_cast<double>(scaleA) / static_cast<double>(outputScale),
                .ratioB = static_cast<double>(scaleB) / static_cast<double>(outputScale)};
    }

    int32_t operator()(int32_t a, int32_t b, int32_t zeroPoint, QuantizedRange range) const {
        return roundAndClampDouble(a * ratioA + b * ratioB, zeroPoint, range);
    }
};

}  // namespace halyard::engine
