// SPDX-License-Identifier: Apache-2.0
//
// A transposed convolution of floats as one GEMM and col2im: each spatial position of the input is
// multiplied with all taps of the filter, and the products are added where they belong. Where
// outputs have few channels, stride phases would leave most of a vector empty; here taps fill it.

#pragma once

#include <memory>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of FLOAT32. The constants are inputs 1 and 2.
Result<std::unique_ptr<const StepKernel>> compileCol2imConv(const TransposeConv2d& node,
                                                            const KernelArguments& arguments,
                                                            const CpuTarget& target);

}  // namespace halyard::engine::cpu
