// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of bytes by amx_int8_gemm.h.

#pragma once

#include <memory>
#include <string_view>

#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of a node that is INT8_GEMM_AMX (choice/gemm_choice.h), or could be. `set` is what the form is
// called by.
Result<std::unique_ptr<const StepKernel>> compileAmxConvGemm(ConvGemmDefinition definition,
                                                             const KernelArguments& arguments,
                                                             const AmxInt8Gemm& form,
                                                             std::string_view set);

}  // namespace halyard::engine::cpu
