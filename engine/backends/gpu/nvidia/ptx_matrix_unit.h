// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's tensor cores, cp.async and dp4a, as inline PTX in OpenCL C.

#pragma once

#include "engine/backends/gpu/vendor/matrix_unit.h"

namespace halyard::engine::gpu {

// For compute capability 8.0 and later; a device that lacks an instruction fails its probe.
const MatrixUnit& ptxMatrixUnit();

}  // namespace halyard::engine::gpu
