// SPDX-License-Identifier: Apache-2.0
//
// Inverted residual blocks of floats: a convolution that gives a feature map more channels (the
// expansion, mostly pointwise), a depthwise convolution of them, and a pointwise one that gives
// fewer (the projection), with what may follow it in its store. The expanded feature map is never
// there as a whole: each thread computes some lines of it at a time into a ring that stays in the
// cache.

#pragma once

#include <memory>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of arguments.node and the first two of arguments.others, which are an INVERTED_RESIDUAL
// (choice/fused_choice.h).
Result<std::unique_ptr<const StepKernel>> compileInvertedResidual(const KernelArguments& arguments,
                                                                  const CpuTarget& target);

}  // namespace halyard::engine::cpu
