// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/depthwise/half_depthwise.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// A depthwise convolution of FLOAT16, computed as FLOAT16: for results that may be as rough as sums
// of binary16 are.
Result<std::unique_ptr<const StepKernel>> compileHalfDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        const HalfDepthwise& form);

}  // namespace halyard::engine::cpu
