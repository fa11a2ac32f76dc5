// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/gemm/bf16_split_gemm.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// The products by tiles, the same source, with TileUnit in place of the processor's instructions;
// its vectors are those of the instruction set.
const AmxInt8Gemm& emulatedAmxInt8Gemm(InstructionSet set);
const Bf16SplitGemm& emulatedBf16SplitGemm(InstructionSet set);

}  // namespace halyard::engine::cpu
