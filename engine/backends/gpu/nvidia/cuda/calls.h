// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's calls, each done by CUDA's driver, put into a table of its functions.

#pragma once

#include "engine/backends/gpu/opencl/open_cl.h"

namespace halyard::engine::gpu::cuda {

// Contexts, queues, memory, copies and events.
void addCommands(OpenCl& cl);
// Programs, kernels and command buffer of their launches.
void addKernels(OpenCl& cl);

}  // namespace halyard::engine::gpu::cuda
