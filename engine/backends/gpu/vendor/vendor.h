// SPDX-License-Identifier: Apache-2.0
//
// Vendor: what the devices of one vendor have beyond OpenCL. GpuAcc knows vendors by this interface
// alone; device/vendors.h lists those that are built in.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/backends/gpu/vendor/device_family.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// OpenCL's functions as the vendor's native driver does them.
struct NativeDriver {
    std::shared_ptr<const OpenCl> cl;
    cl_device_id id = nullptr;  // for its functions; lives as long as they do
    std::string version;        // "CUDA 13.0"
};

// Immutable, and lives as long as the process.
struct Vendor {
    std::string_view driverName;  // "CUDA"
    // Whether it makes the devices of a platform, by the platform's name and version.
    bool (*owns)(std::string_view platform) = nullptr;
    // Of a device, by its name.
    DeviceFamily (*familyOf)(std::string_view device) = nullptr;
    // Null: its devices have none.
    const MatrixUnit* matrixUnit = nullptr;
    // A device of OpenCL by way of the native driver. `library`: a path or name; empty: the usual
    // ones. UNAVAILABLE where the driver, or the device in it, can't be had.
    Result<NativeDriver> (*openDriver)(const std::shared_ptr<const OpenCl>& cl, cl_device_id id,
                                       const std::string& library) = nullptr;
};

}  // namespace halyard::engine::gpu
