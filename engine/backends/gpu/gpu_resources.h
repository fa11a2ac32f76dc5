// SPDX-License-Identifier: Apache-2.0
//
// GpuResources: what all partitions of GpuAcc share.

#pragma once

#include <memory>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/backends/gpu/tuning/tuning.h"

namespace halyard::engine::gpu {

// Of one backend; outlives the partitions.
struct GpuResources {
    std::shared_ptr<const Device> device;
    GpuMemory& memory;
    Programs& programs;
    Tuning& tuning;
    bool profiles = false;  // a traced run tells the device's times, and its kernels' names
};

}  // namespace halyard::engine::gpu
