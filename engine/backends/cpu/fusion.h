// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a piece CpuAcc computes together.

#pragma once

#include <vector>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/stepwise_piece.h"

namespace halyard::engine::cpu {

// Inverted residual blocks where that pays, and convolutions and fully connected layers; each with
// the additions and activations after them, where nobody else reads what lies in between.
std::vector<FusedStep> findFusions(const Graph& graph, const Piece& piece, InstructionSet set);

}  // namespace halyard::engine::cpu
