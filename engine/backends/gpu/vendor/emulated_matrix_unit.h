// SPDX-License-Identifier: Apache-2.0
//
// A matrix unit in plain OpenCL C, for tests: its work-items hand each other words through local
// memory.

#pragma once

#include "engine/backends/gpu/vendor/matrix_unit.h"

namespace halyard::engine::gpu {

const MatrixUnit& emulatedMatrixUnit();

}  // namespace halyard::engine::gpu
