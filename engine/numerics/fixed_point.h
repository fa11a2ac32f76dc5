// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic on fixed-point numbers, for the operations whose contract names it:
// QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM. The algorithms are those that gemmlowp and TensorFlow
// Lite publish, and the results are theirs bit for bit; what overflows there (undefined behaviour)
// saturates here.
//
// Qm.f is an integer that stands for value * 2^-f, with m bits in front of the point: m + f is 15
// for int16_t and 31 for int32_t. Q0.f has no 1; its largest value stands in for it.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>

#include "engine/base/status.h"

namespace halyard::engine::fixed_point {

template <typename T>
T saturate(int64_t value) {
    return static_cast<T>(std::clamp<int64_t>(value, std::numeric_limits<T>::min(),
                                              std::numeric_limits<T>::max()));
}

// x * 2^bits. bits in [0, 31].
template <typename T>
T shiftLeft(T x, int bits) {
    return saturate<T>(int64_t{x} * (int64_t{1} << bits));
}

// x / 2^bits to nearest, halves away from zero. bits in [0, 31].
template <typename T>
T roundingShiftRight(T x, int bits) {
    const int64_t half = bits == 0 ? 0 : int64_t{1} << (bits - 1);
    const int64_t magnitude = (std::abs(int64_t{x}) + half) >> bits;
    return static_cast<T>(x < 0 ? -magnitude : magnitude);
}

// The product of Qm and Qn as Q(m + n), to nearest, halves up.
template <typename T>
T multiply(T a, T b) {
    static_assert(std::is_same_v<T, int16_t> || std::is_same_v<T, int32_t>);
    constexpr int kFraction = std::numeric_limits<T>::digits;
    constexpr int64_t kHalf = int64_t{1} << (kFraction - 1);
    return saturate<T>((int64_t{a} * int64_t{b} + kHalf) >> kFraction);
}

// ---- Multipliers --------------------------------------------------------------------------------

// A real factor >= 0: fraction * 2^(shift - 31), the fraction being 0 or in [2^30, 2^31).
struct Multiplier {
    int32_t fraction = 0;
    int shift = 0;  // at least -31
};

// INVALID_ARGUMENT if `factor` is negative, not finite, or 2^31 or more. Below 2^-32 it counts as
// 0.
inline Result<Multiplier> quantizeMultiplier(double factor) {
    if (!(factor >= 0.0 && factor < 0x1p31)) {
        return invalidArgument("a factor of " + std::to_string(factor) +
                               " between scales is out of range");
    }
    int shift = 0;
    const double fraction = std::frexp(factor, &shift);
    auto rounded = static_cast<int64_t>(std::round(std::ldexp(fraction, 31)));
    if (rounded == int64_t{1} << 31) {
        rounded /= 2;
        ++shift;
    }
    if (shift < -31) {
        return Multiplier();
    }
    return Multiplier{.fraction = static_cast<int32_t>(rounded), .shift = shift};
}

// x * factor, rounded twice: to an integer before the right shift, and after it.
inline int32_t scale(int32_t x, Multiplier factor) {
    const int left = std::clamp(factor.shift, 0, 31);
    const int right = std::clamp(-factor.shift, 0, 31);
    return roundingShiftRight(multiply(shiftLeft(x, left), factor.fraction), right);
}

// 1 / sqrt(x); 0 counts as 1, as do negative numbers. Five Newton-Raphson steps from 1, in Q3.28.
inline Multiplier inverseSquareRoot(int32_t x) {
    if (x <= 1) {
        return {.fraction = std::numeric_limits<int32_t>::max(), .shift = 0};
    }
    // By an even number of bits to [2^27, 2^29).
    int shift = -11;
    while (x >= 1 << 29) {
        x /= 4;
        --shift;
    }
    const int pairs = (std::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
    shift += pairs;
    x <<= 2 * pairs;

    constexpr int32_t kOne = 1 << 28;
    constexpr int32_t kThreeHalves = kOne + kOne / 2;
    constexpr int32_t kRootOfHalf = 1518500250;  // Q0.31
    const int32_t half = roundingShiftRight(x >> 1, 1);
    int32_t root = kOne;
    for (int i = 0; i < 5; ++i) {
        const int32_t cube = shiftLeft(multiply(multiply(root, root), root), 6);
        const int32_t next = multiply(kThreeHalves, root) - multiply(half, cube);
        root = shiftLeft(next, 3);
    }
    root = multiply(root, kRootOfHalf);
    if (shift > 0) {
        return {.fraction = shiftLeft(root, shift), .shift = 0};
    }
    return {.fraction = root, .shift = shift};
}

// ---- Functions of 16 bits -----------------------------------------------------------------------

// Stores a sum that stays in range.
inline int16_t narrow(int32_t value) {
    return static_cast<int16_t>(value);
}

// A constant as Q0.15, or as Q2.13 with `fraction` 13.
constexpr int16_t constant(double value, int fraction = 15) {
    const double scaled = value * static_cast<double>(1 << fraction);
    return static_cast<int16_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

inline constexpr int16_t kExpOfMinusEighth = constant(0.88249690258459546);
// Each the square of the one before, but for the rounding.
inline constexpr int16_t kExpOfPowers[] = {
        constant(0.77880078307140487),     // exp(-1/4)
        constant(0.60653065971263342),     // exp(-1/2)
        constant(0.36787944117144233),     // exp(-1)
        constant(0.13533528323661269),     // exp(-2)
        constant(0.018315638888734179),    // exp(-4)
        constant(0.00033546262790251185),  // exp(-8)
        constant(1.1253517471925911e-07),  // exp(-16)
};

// exp(x) for x in [-1/4, 0), Q0.15 both: four terms of the series around -1/8.
inline int16_t expOfQuarter(int16_t x) {
    constexpr int16_t kCentre = kExpOfMinusEighth;
    constexpr int16_t kThird = constant(1.0 / 3.0);
    const int16_t d = narrow(x + constant(1.0 / 8.0));
    const int16_t d2 = multiply(d, d);
    const int16_t d3 = multiply(d2, d);
    const int16_t d4 = multiply(d2, d2);
    // d^4 / 24 + d^3 / 6 + d^2 / 2
    const int16_t inner = multiply(narrow(roundingShiftRight(d4, 2) + d3), kThird);
    const int16_t terms = roundingShiftRight(narrow(inner + d2), 1);
    return saturate<int16_t>(kCentre + multiply(kCentre, narrow(d + terms)));
}

// exp(x) in Q0.15, for x <= 0 in Q(integerBits).(15 - integerBits). integerBits in [0, 7].
inline int16_t expOfNegative(int16_t x, int integerBits) {
    if (x == 0) {
        return std::numeric_limits<int16_t>::max();
    }
    const int fraction = 15 - integerBits;
    if (x < -(32 << fraction)) {
        return 0;
    }
    // x = rest - quarters / 4, where the rest is in [-1/4, 0).
    const int quarter = 1 << (fraction - 2);
    const int rest = (x & (quarter - 1)) - quarter;
    const int quarters = rest - x;
    int16_t result = expOfQuarter(shiftLeft(narrow(rest), integerBits));
    // Each bit of the number of quarters multiplies by a constant.
    for (int bit = 0; bit < std::min<int>(integerBits + 2, std::size(kExpOfPowers)); ++bit) {
        if ((quarters & (quarter << bit)) != 0) {
            result = multiply(result, kExpOfPowers[bit]);
        }
    }
    return result;
}

// 2 / (1 + x) in Q2.13, for x in [0, 1) in Q0.15: Newton-Raphson division in three steps, from the
// line that has the smallest error over the interval.
inline int16_t twoOverOnePlus(int16_t x) {
    constexpr int16_t kOffset = constant(48.0 / 17.0, 13);
    constexpr int16_t kSlope = constant(-32.0 / 17.0, 13);
    constexpr int32_t kOne = 1 << 13;
    const int32_t largest = std::numeric_limits<int16_t>::max();
    const int16_t half = narrow((x + largest + 1) / 2);  // (1 + x) / 2
    int16_t quotient = narrow(kOffset + multiply(half, kSlope));
    for (int i = 0; i < 3; ++i) {
        const int16_t error = narrow(kOne - multiply(half, quotient));
        quotient = narrow(quotient + shiftLeft(multiply(quotient, error), 2));
    }
    return quotient;
}

// 1 / (1 + exp(-x)) in Q0.15, of x in Q3.12.
inline int16_t logistic(int16_t x) {
    constexpr int16_t kHalf = 1 << 14;
    constexpr int32_t kOne = std::numeric_limits<int16_t>::max();
    if (x == 0) {
        return kHalf;
    }
    const int16_t power = expOfNegative(x < 0 ? x : narrow(-x), 3);
    // As Q1.14 the quotient is half as large, as it should be.
    const int16_t result = shiftLeft(twoOverOnePlus(power), 1);
    return x > 0 ? result : narrow(kOne - result);
}

// tanh(x) = 2 / (1 + exp(-2 x)) - 1 in Q0.15, of x in Q(integerBits). integerBits in [0, 6].
inline int16_t tanh(int16_t x, int integerBits) {
    if (x == 0) {
        return 0;
    }
    constexpr int32_t kOne = 1 << 13;
    // One more bit in front of the point doubles the argument.
    const int16_t power = expOfNegative(x < 0 ? x : narrow(-x), integerBits + 1);
    const int16_t result = shiftLeft(narrow(twoOverOnePlus(power) - kOne), 2);
    return x < 0 ? narrow(-result) : result;
}

}  // namespace halyard::engine::fixed_point
