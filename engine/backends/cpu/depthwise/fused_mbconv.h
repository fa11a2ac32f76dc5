// SPDX-License-Identifier: Apache-2.0
//
// Inverted residual blocks of floats whose feature map is small, on several threads: each computes
// some channels of the expanded and filtered feature map, which stay in its core's cache, and what
// they add to the projection. The parts are added up at the end. A feature map that goes from core
// to core is then a part of the projection instead of the filtered one, which has some times as
// many channels. Sums depend on the number of threads that the block is compiled for, not on those
// that come.

#pragma once

#include <cstddef>
#include <memory>

#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of arguments.node and the first two or three of arguments.others, which are a FUSED_MBCONV
// (choice/fused_choice.h).
Result<std::unique_ptr<const StepKernel>> compileFusedMbconv(const KernelArguments& arguments,
                                                             const CpuTarget& target);

}  // namespace halyard::engine::cpu
