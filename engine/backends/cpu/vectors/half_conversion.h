// SPDX-License-Identifier: Apache-2.0
//
// Elements of binary16 as floats, and back, by vectors: for kernels that compute FLOAT16 in
// float32.

#pragma once

#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/half.h"

namespace halyard::engine::cpu {

// `count` elements, which don't overlap; nothing else is read or written. Results are those of
// half.h bit for bit while the thread rounds to nearest, but that a signalling NaN becomes a quiet
// float, as in any arithmetic.
struct HalfConversion {
    void (*toFloats)(const Half* from, int64_t count, float* to) = nullptr;
    void (*toHalves)(const float* from, int64_t count, Half* to) = nullptr;
};

const HalfConversion& halfConversion(InstructionSet set);

}  // namespace halyard::engine::cpu
