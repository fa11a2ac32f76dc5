// SPDX-License-Identifier: Apache-2.0
//
// Weights in the parts that bf16_split_block.h says.

#pragma once

#include <cstddef>

#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// Writes what a panel has of the columns, at most kTileColumns, behind its biases: in one part or
// two, and with all instruction sets, of those that are available, the same.
void splitColumns(const PanelColumns<float>& columns, int parts, InstructionSet set, std::byte* to);

}  // namespace halyard::engine::cpu
