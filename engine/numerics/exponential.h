// SPDX-License-Identifier: Apache-2.0
//
// e^x and what is made of it, from additions, multiplications and divisions alone: IEEE says how
// each of them rounds, so the results are the same with every compiler and C library. Those of
// std::exp are not: libraries differ in the last bit, and with it a byte could differ between two
// backends, or two devices. Relative errors stay below 2^-48.

#pragma once

#include <cmath>
#include <limits>

namespace halyard::engine {

namespace exponential_detail {

// x = doublings * ln 2 + rest, with |rest| <= ln 2 / 2.
struct Reduced {
    double rest = 0.0;
    int doublings = 0;
};

// |x| <= 1024. ln 2 is split, so that the product with its upper half is exact (Cody and Waite).
inline Reduced reduce(double x) {
    constexpr double kUpper = 0x1.62e42fee00000p-1;
    constexpr double kLower = 0x1.a39ef35793c76p-33;
    constexpr double kInverse = 0x1.71547652b82fep+0;
    const double doublings = std::nearbyint(x * kInverse);
    return {.rest = (x - doublings * kUpper) - doublings * kLower,
            .doublings = static_cast<int>(doublings)};
}

// e^x - 1 for |x| <= ln 2 / 2: the series up to x^14 / 14!.
inline double minusOneNear0(double x) {
    double sum = 1.0;
    for (int i = 14; i > 1; --i) {
        sum = 1.0 + sum * x / i;
    }
    return sum * x;
}

}  // namespace exponential_detail

// e^x. NaN gives NaN.
inline double exponential(double x) {
    if (std::isnan(x)) {
        return x;
    }
    if (x > 710.0) {
        return std::numeric_limits<double>::infinity();
    }
    if (x < -746.0) {
        return 0.0;
    }
    const exponential_detail::Reduced reduced = exponential_detail::reduce(x);
    return std::ldexp(1.0 + exponential_detail::minusOneNear0(reduced.rest), reduced.doublings);
}

// e^x - 1, near 0 as well.
inline double exponentialMinusOne(double x) {
    if (std::fabs(x) < 0.34) {
        return exponential_detail::minusOneNear0(x);
    }
    return exponential(x) - 1.0;
}

inline double logistic(double x) {
    return 1.0 / (1.0 + exponential(-x));
}

inline double hyperbolicTangent(double x) {
    const double power = exponentialMinusOne(-2.0 * std::fabs(x));
    return std::copysign(power / (power + 2.0), x);
}

}  // namespace halyard::engine
