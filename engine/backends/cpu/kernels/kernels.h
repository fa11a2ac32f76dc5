// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's kernels: for each node kind that has a row in kernels.inc two functions, in the file of
// its family. Results are those of the reference, bit for bit where types are quantised.

#pragma once

#include <memory>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/nodes.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// OK if there is a tuned kernel for this node of this graph; otherwise UNSUPPORTED with the reason,
// as Backend::supports() has it. compile() makes the kernel of a node that is supported.
#define HALYARD_TUNED_KERNEL(Descriptor)                                            \
    Status supports(const Descriptor& node, const Graph& graph, const Node& whole); \
    Result<std::unique_ptr<const StepKernel>> compile(                              \
            const Descriptor& node, const KernelArguments& arguments, const CpuTarget& target);
#include "engine/backends/cpu/kernels/kernels.inc"
#undef HALYARD_TUNED_KERNEL

}  // namespace halyard::engine::cpu
