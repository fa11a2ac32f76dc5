// SPDX-License-Identifier: Apache-2.0
//
// The kernel that Conv2d and FullyConnected are compiled to: products of the input's windows with
// weights that were packed when it was made, added to a bias, activated and stored.

#pragma once

#include <memory>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

Result<std::unique_ptr<const StepKernel>> compileConvGemm(const ConvGemmNode& node,
                                                          const KernelArguments& arguments,
                                                          const CpuTarget& target);

}  // namespace halyard::engine::cpu
