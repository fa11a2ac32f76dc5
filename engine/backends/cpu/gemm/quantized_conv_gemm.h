// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of bytes by quantized_gemm.h.

#pragma once

#include <memory>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// The constants are inputs 1 and 2 of the node.
Result<std::unique_ptr<const StepKernel>> compileQuantizedConvGemm(ConvGemmDefinition definition,
                                                                   const KernelArguments& arguments,
                                                                   InstructionSet set);

}  // namespace halyard::engine::cpu
