// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <memory>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/tuning/tuning.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

struct GpuSettings {
    gpu::DeviceChoice choice = {};
    // Programs are compiled in a process of its own, which may hang or die. False: in this one.
    bool compilesApart = true;
    // Of those; 0: as many as the processors are good for.
    unsigned compilers = 0;
    // Time limit for compiling one program there.
    std::chrono::milliseconds longestBuild = std::chrono::minutes(1);
    gpu::TuningSettings tuning = {};
    // Where runs are traced, the device tells what each node took there.
    bool profiles = false;
};

// The backend "GpuAcc": OpenCL, on a device of its own. UNAVAILABLE where the machine has none;
// INVALID_ARGUMENT where the choice names one that is not there.
Result<std::unique_ptr<const Backend>> makeGpuAcc(const GpuSettings& settings = {});

}  // namespace halyard::engine
