// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of floats by bf16_split_gemm.h.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/backends/cpu/gemm/bf16_split_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// The parts by which the node is computed; none where vectors are the faster form of it, nobody
// knows yet how many rows there are, weights or biases are not tame, or results may not be as rough
// as those of the parts are.
Result<std::optional<HiLoSplit>> hiLoSplitOf(const ConvGemmDefinition& definition,
                                             const KernelArguments& arguments);

// `set` is what the form is called by. Where `parts` has one of the right matrix, the weights are
// bfloat16.
Result<std::unique_ptr<const StepKernel>> compileBf16SplitConvGemm(ConvGemmDefinition definition,
                                                                   const KernelArguments& arguments,
                                                                   const Bf16SplitGemm& form,
                                                                   HiLoSplit parts,
                                                                   std::string_view set);

}  // namespace halyard::engine::cpu
