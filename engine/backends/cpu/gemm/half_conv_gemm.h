// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/half_gemm.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// A convolution or a fully connected layer of FLOAT16, computed as FLOAT16: for results that may be
// as rough as sums of binary16 are.
Result<std::unique_ptr<const StepKernel>> compileHalfConvGemm(ConvGemmDefinition definition,
                                                              const KernelArguments& arguments,
                                                              const HalfGemm& form);

}  // namespace halyard::engine::cpu
