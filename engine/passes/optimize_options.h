// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/graph/graph.h"

namespace halyard::engine {

// Called after each pass that changed the graph, with the graph before and after it.
using PassObserver =
        std::function<void(std::string_view pass, const Graph& before, const Graph& after)>;

// The precision that FLOAT32 is computed in.
enum class FloatPrecision : uint8_t {
    FLOAT32,
    FLOAT16,   // tensors inside the graph are FLOAT16, arithmetic is the backends'
    BFLOAT16,  // weights are rounded to bfloat16, which backends may pack in two bytes
};

struct OptimizeOptions {
    // Leaves out the passes that change how float results are rounded.
    bool keepRounding = false;
    FloatPrecision precision = FloatPrecision::FLOAT32;
    // Whether FLOAT32 of graphs whose floats are relaxed is computed as FLOAT16 all the same.
    bool relaxedAsFloat16 = false;
    PassObserver observer = nullptr;
};

}  // namespace halyard::engine
