// SPDX-License-Identifier: Apache-2.0
//
// Maps: each element of an output from one element of each input, wherever these lie by strides.
// Functions of elements are maps, and so is all that moves elements.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/numerics/index_walk.h"

namespace halyard::engine::gpu {

// The kernels' name for how elements are stored (prelude.h).
std::string_view storageOf(DataType type);
// That of an integer as large, for elements that are only moved.
std::string_view movedStorageOf(DataType type);

// Per axis of a map, of which there may be more than a tensor has.
using Extents = std::vector<int64_t>;
Extents extentsOf(const Shape& shape);
// As stridesOf() and broadcastStrides() (index_walk.h).
Extents denseStrides(const Extents& extents);
Extents stridesAlong(const Strides& strides, size_t rank);

struct MapOperand {
    Operand operand = {};
    std::string_view storage = {};
    Extents strides = {};  // per axis of the map, in elements; may be 0 or negative
};

// The type of n in a body.
inline constexpr std::string_view kMapNumbersText = R"(
typedef struct {
    float scale[4];
    int zero[4];
    float low;
    float high;
    int least;
    int most;
    float factor;
    int a;
    int b;
    int shift;
} MapNumbers;
)";

// The numbers that a body may use, as n. A copy of the kernel's struct.
struct MapNumbers {
    float scale[4] = {1, 1, 1, 1};   // of the inputs, and of the output as the last
    int32_t zero[4] = {0, 0, 0, 0};  // the same
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    int32_t least = 0;
    int32_t most = 0;
    float factor = 1;
    int32_t a = 0;
    int32_t b = 0;
    int32_t shift = 0;

    void take(size_t operand, const Quantization& quantization) {
        scale[operand] = quantization.scale;
        zero[operand] = quantization.zeroPoint;
    }
};

struct Map {
    Extents extents = {};
    std::vector<MapOperand> inputs = {};  // a, b and c in the body; three at most
    MapOperand output = {};
    // Statements of OpenCL C that set r, the element to be stored, from a, b and c, `at` (its
    // number in the map's order), n and table.
    std::string body = "r = a;";
    MapNumbers numbers = {};
    std::optional<Operand> table = {};
    std::string_view tableStorage = "U8";
};

// Nothing for a map without elements.
Status addMap(StepPlan& step, const Map& map);

}  // namespace halyard::engine::gpu
