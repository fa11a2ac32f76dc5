// SPDX-License-Identifier: Apache-2.0
//
// Weights in the parts that split_matmul.h says.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/products/split_matmul.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// The columns of a panel, which lie one behind the other.
struct SplitColumns {
    const float* first = nullptr;
    int64_t count = 0;  // at most kTileColumns
    int64_t depth = 0;
    int parts = 2;  // or 1
};

// Writes what a panel has behind its biases: with all instruction sets the same.
void splitColumns(const SplitColumns& columns, InstructionSet set, std::byte* to);

}  // namespace halyard::engine::cpu
