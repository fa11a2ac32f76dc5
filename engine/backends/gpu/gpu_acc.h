// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "engine/backends/gpu/device.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// The backend "GpuAcc": OpenCL, on a device of its own. UNAVAILABLE where the machine has none;
// INVALID_ARGUMENT where the choice names one that is not there.
Result<std::unique_ptr<const Backend>> makeGpuAcc(const gpu::DeviceChoice& choice = {});

}  // namespace halyard::engine
