// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of floats by bf16_split_gemm.h.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/backends/cpu/gemm/bf16_split_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Whether weights and biases of floats are such that products by parts are those of the floats:
// within the safe range of bf16_split_block.h. Reads them.
Result<bool> areInSafeRange(const ConvGemmDefinition& definition, const KernelArguments& arguments);

// `set` is what the form is called by. Where `parts` has one of the right matrix, the weights are
// bfloat16.
Result<std::unique_ptr<const StepKernel>> compileBf16SplitConvGemm(ConvGemmDefinition definition,
                                                                   const KernelArguments& arguments,
                                                                   const Bf16SplitGemm& form,
                                                                   HiLoSplit parts,
                                                                   std::string_view set);

}  // namespace halyard::engine::cpu
