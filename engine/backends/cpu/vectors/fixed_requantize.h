// SPDX-License-Identifier: Apache-2.0
//
// Sums as bytes, by a factor in fixed point: FixedRequantization of numerics/fixed_requantize.h.

#pragma once

#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/numerics/fixed_point.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {

struct FixedFactor {
    fixed_point::Multiplier factor;
    int32_t zeroPoint = 0;
    QuantizedRange range;
};

// to[i] = clamp(scale(sums[i], factor) + zeroPoint)
using FixedRequantize = void (*)(const FixedFactor& factor, const int32_t* sums, uint8_t* to,
                                 int64_t count);
FixedRequantize fixedRequantize(InstructionSet set);

}  // namespace halyard::engine::cpu
