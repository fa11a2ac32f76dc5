// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string_view>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// The tuned backend, "CpuAcc": vectorised kernels on all threads of an execution, with constants
// packed beforehand. It takes the nodes that it has tuned kernels for.
std::unique_ptr<const Backend> makeCpuAcc();
// With kernels of this instruction set and no better; one of availableInstructionSets().
// `withheld`: what Backend::withheld() says.
std::unique_ptr<const Backend> makeCpuAcc(cpu::InstructionSet set, std::string_view withheld = {});
// The same with kernels that are chosen for a described processor, whichever this one is.
std::unique_ptr<const Backend> makeCpuAcc(cpu::CpuTarget target, std::string_view withheld = {});

}  // namespace halyard::engine
