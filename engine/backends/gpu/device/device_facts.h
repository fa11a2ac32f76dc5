// SPDX-License-Identifier: Apache-2.0
//
// DeviceFacts: what kernels, memory and choices depend on of a device, which may be described
// without being there.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/backends/gpu/opencl/headers.h"
#include "engine/backends/gpu/vendor/device_family.h"
#include "engine/backends/gpu/vendor/vendor.h"

namespace halyard::engine::gpu {

// Facts of a device that kernels and memory depend on.
struct DeviceFacts {
    std::string platform;  // name and version
    std::string name;
    std::string driver;  // version
    cl_device_type type = CL_DEVICE_TYPE_DEFAULT;
    uint64_t speed = 0;  // compute units times MHz: tells devices of one kind apart, roughly
    uint32_t computeUnits = 1;
    uint64_t memoryBytes = 0;
    uint64_t largestBuffer = 0;
    size_t alignment = 64;        // of what starts inside a buffer, in bytes
    size_t maxWorkGroupSize = 1;  // the most work-items of a work-group
    uint64_t localBytes = 0;      // that a work-group has
    bool hasDoubles = false;
    bool sharesMemory = false;  // with the host, which can look into its buffers as they are
    // GEMM is tiled through local memory, which processors have no use for.
    bool prefersTiles = false;
    DeviceFamily family = DeviceFamily::UNKNOWN;
    const Vendor* vendor = nullptr;          // null: none that is built in
    const MatrixUnit* matrixUnit = nullptr;  // that kernels may use once a probe has passed
    bool dividesExactly = false;  // float32 is divided and its roots are taken as IEEE says

    std::string through = {};  // what OpenCL's functions are done by, where that is not OpenCL

    // Whether a quotient of float32 can be had as IEEE rounds it.
    bool canDivide() const { return dividesExactly || hasDoubles; }
    // All that a compiled program depends on.
    std::string identity() const {
        return platform + "; " + name + "; " + driver + (through.empty() ? "" : "; " + through);
    }
};

}  // namespace halyard::engine::gpu
