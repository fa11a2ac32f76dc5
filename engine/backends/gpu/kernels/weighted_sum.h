// SPDX-License-Identifier: Apache-2.0
//
// What the convolutions and FullyConnected share: how products are summed, and how a sum becomes an
// element of the output. Inputs of the node: x, weights, bias.

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "engine/backends/gpu/step_plan.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// A copy of the kernels' struct.
struct SumNumbers {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    int32_t xZero = 0;
    int32_t weightZero = 0;
    int32_t zero = 0;
    int32_t least = 0;
    int32_t most = 0;
    int32_t multiplierStride = 0;  // from one channel's multiplier to the next one's
};

// The arguments behind a kernel's own.
struct WeightedSum {
    std::string defines;
    Operand multipliers;  // float32, of the channels or of all of them; unused where not quantised
    SumNumbers numbers;
};

WeightedSum weightedSumOf(StepPlan& step, Activation activation);

}  // namespace halyard::engine::gpu
