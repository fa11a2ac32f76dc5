// SPDX-License-Identifier: Apache-2.0
//
// Partitions of GpuAcc: constants go into the program's store and from there to the device;
// launches are planned, and their programs built, when shapes are known; each execution keeps their
// kernels.

#pragma once

#include <memory>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/backends/gpu/tuning/tuning.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::engine::gpu {

// What all partitions of a backend share; outlives them.
struct GpuResources {
    std::shared_ptr<const Device> device;
    GpuMemory& memory;
    Programs& programs;
    Tuning& tuning;
    bool profiles = false;  // a traced run tells the device's times, and its kernels' names
};

// Of nodes that the backend supports.
Result<std::unique_ptr<CompiledPartition>> compilePartition(const GpuResources& resources,
                                                            const CompileArguments& arguments);

}  // namespace halyard::engine::gpu
