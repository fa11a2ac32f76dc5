// SPDX-License-Identifier: Apache-2.0
//
// Rows of elements that are only moved, last element first.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// to[i] = last[-i] for i below `count`, of elements of 1, 2, 4 or 8 bytes. The two places don't
// overlap. Thread-safe, no heap.
using ReverseRow = void (*)(const std::byte* last, std::byte* to, int64_t count);
ReverseRow reverseRow(size_t elementBytes, InstructionSet set);

}  // namespace halyard::engine::cpu
