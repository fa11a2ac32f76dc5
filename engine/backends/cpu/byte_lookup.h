// SPDX-License-Identifier: Apache-2.0
//
// Bytes through a table of all their results (numerics/byte_tables.h).

#pragma once

#include <cstdint>

#include "engine/backends/cpu/instruction_set.h"
#include "engine/numerics/byte_tables.h"

namespace halyard::engine::cpu {

// to[i] = table[from[i]] for i below `count`.
using LookUpBytes = void (*)(const ByteTable& table, const uint8_t* from, uint8_t* to,
                             int64_t count);
LookUpBytes lookUpBytes(InstructionSet set);

}  // namespace halyard::engine::cpu
