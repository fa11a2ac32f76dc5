// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's devices: CUDA in place of OpenCL's functions, and PTX in kernels.

#pragma once

#include "engine/backends/gpu/vendor/vendor.h"

namespace halyard::engine::gpu {

const Vendor& nvidia();

}  // namespace halyard::engine::gpu
