// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/cpu/gemm/bf16_split_block.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// Null where the instruction set has no tiles.
const Bf16SplitGemm* bf16SplitGemm(InstructionSet set);

}  // namespace halyard::engine::cpu
