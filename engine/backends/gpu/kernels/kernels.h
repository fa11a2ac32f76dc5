// SPDX-License-Identifier: Apache-2.0
//
// GpuAcc's kernels: for each node kind that has a row in kernels.inc two functions, in the file of
// its family. Results are those of the reference, bit for bit where types are quantised.

#pragma once

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// supports(): OK if a device with these facts runs the node; otherwise UNSUPPORTED with the reason,
// as Backend::supports() has it. Control inputs are constants, or readsOnDevice() holds, and no
// output is found by running: supportsNode() has looked. plan(): adds the launches of a step whose
// leader is of this kind.
#define HALYARD_GPU_KERNEL(Descriptor)                                             \
    Status supports(const Descriptor& node, const Graph& graph, const Node& whole, \
                    const DeviceFacts& facts);                                     \
    Status plan(const Descriptor& node, StepPlan& step);
#include "engine/backends/gpu/kernels/kernels.inc"
#undef HALYARD_GPU_KERNEL

Status supportsNode(const Graph& graph, const Node& node, const DeviceFacts& facts);
Status planStep(StepPlan& step);

// Whether a node's kernels check its control inputs, which then only a run has to know.
bool checksOnDevice(const Node& node);
// Whether an input is a control input of such a node.
bool readsOnDevice(const Node& node, size_t input);

// Whether a node needs an input's elements where it is planned, though it is not a control input.
bool readsOnHost(const Node& node, size_t input);

}  // namespace halyard::engine::gpu
