// SPDX-License-Identifier: Apache-2.0
//
// The probe of a matrix unit: a device that lacks an instruction may do anything with a kernel that
// has it. Therefore each is tried first, in the compiler's process, with a check of what it
// computes.

#pragma once

#include "engine/backends/gpu/device/device_facts.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/plan/blobs.h"

namespace halyard::engine::gpu {

// The types of a model's GEMM.
struct GemmTypes {
    bool bytes = false;
    bool halves = false;
    bool tf32 = false;
    bool exactFloats = false;
};

// Features of the device's matrix unit for these types: as this process has found, or as one that
// kept them in `blobs`. None without a unit.
MatrixFeatures probeMatrixUnit(const GemmTypes& types, const DeviceFacts& facts, Programs& programs,
                               const Blobs& blobs);

}  // namespace halyard::engine::gpu
