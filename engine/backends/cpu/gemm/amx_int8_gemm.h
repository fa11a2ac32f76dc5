// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/cpu/gemm/amx_int8_block.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// Null where the instruction set has no tiles.
const AmxInt8Gemm* amxInt8Gemm(InstructionSet set);

}  // namespace halyard::engine::cpu
