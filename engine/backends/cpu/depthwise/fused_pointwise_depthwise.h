// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions, each fused with the pointwise convolution that gives it its feature map
// (the expansion) and an activation between them. A thread computes some channels of
// the one and then of the other, in memory of its own: the expanded feature map is never there as a
// whole, and what the depthwise convolution reads comes from no other core. For feature maps that
// are small next to a cache; large ones are cut into lines (inverted_residual.h).

#pragma once

#include <memory>

#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of arguments.node and the first one or two of arguments.others, which are a
// FUSED_POINTWISE_DEPTHWISE (choice/fused_choice.h).
Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwise(
        const KernelArguments& arguments, const CpuTarget& target);

// The same of floats.
Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwiseFloats(
        const KernelArguments& arguments, const CpuTarget& target);

// And of bytes, where tiles multiply them: `form` is one that there is.
Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwiseBytes(
        const KernelArguments& arguments, const AmxInt8Gemm& form, const CpuTarget& target);

}  // namespace halyard::engine::cpu
