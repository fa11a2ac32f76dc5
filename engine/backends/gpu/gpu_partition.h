// SPDX-License-Identifier: Apache-2.0
//
// Partitions of GpuAcc: constants go into the program's store and from there to the device;
// launches are planned, and their programs built, when shapes are known; each execution keeps their
// kernels.

#pragma once

#include <memory>

#include "engine/backends/gpu/gpu_resources.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::engine::gpu {

// Of nodes that the backend supports.
Result<std::unique_ptr<CompiledPartition>> compilePartition(const GpuResources& resources,
                                                            const CompileArguments& arguments);

}  // namespace halyard::engine::gpu
