// SPDX-License-Identifier: Apache-2.0
//
// The 16-bit floating point formats as storage: IEEE 754 binary16 and bfloat16 (the upper half of a
// binary32). Arithmetic on them is done in float.

#pragma once

#include <cstdint>

namespace halyard {

// 1 sign bit, 5 exponent bits, 10 fraction bits.
struct Half {
    uint16_t bits = 0;
};

// 1 sign bit, 8 exponent bits, 7 fraction bits.
struct BFloat16 {
    uint16_t bits = 0;
};

// To the nearest value, ties to the even fraction, whatever the thread's rounding mode. What is too
// large becomes infinity; a NaN stays a NaN, quiet, with the upper bits of its payload.
Half toHalf(float value);
BFloat16 toBFloat16(float value);

// Exact.
float toFloat(Half value);
float toFloat(BFloat16 value);

}  // namespace halyard
