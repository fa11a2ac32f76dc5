// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolution of IEEE binary16 with sums of binary16 (FEAT_FP16), eight channels at a
// time: for results that may be as rough as that.
//
// Weights are packed as [channel block][bias, then each tap][lane], as depthwise_line.h has them.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/half.h"

namespace halyard::engine::cpu {

struct HalfDepthwiseLine {
    DepthwiseWindow window;
    const Half* x = nullptr;  // the line that the filter's row 0 reads, or would read
    const Half* panels = nullptr;
    Half* y = nullptr;
    Half low;
    Half high;
};

struct HalfDepthwise {
    int64_t lanes = 1;  // channels of a block
    void (*compute)(const HalfDepthwiseLine& line) = nullptr;
};

// Null where the instruction set has no arithmetic of binary16.
const HalfDepthwise* halfDepthwise(InstructionSet set);

}  // namespace halyard::engine::cpu
