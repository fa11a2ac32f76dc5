// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/cpu/gemm/split_matmul.h"
#include "engine/backends/cpu/gemm/tile_matmul.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// The products by tiles, the same source, with TileUnit in place of the processor's instructions;
// its vectors are those of the instruction set.
const TileMatmul& emulatedTileMatmul(InstructionSet set);
const SplitMatmul& emulatedSplitMatmul(InstructionSet set);

}  // namespace halyard::engine::cpu
