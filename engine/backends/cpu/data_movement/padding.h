// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

// Runs a Pad of any mode on the threads of the call. Output 0 has elements.
Status padRows(const Pad& node, KernelCall& call, InstructionSet set);

}  // namespace halyard::engine::cpu
