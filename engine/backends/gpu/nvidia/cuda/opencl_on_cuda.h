// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's functions, as far as GpuAcc calls them, done by CUDA's driver on the same device. On
// NVIDIA's a kernel behind another takes OpenCL about 7 us and a command buffer that CUDA has
// recorded about 1.5 us, and machine code is loaded in a tenth of a millisecond. NVIDIA's OpenCL
// remains what compiles: its PTX becomes CUDA's.

#pragma once

#include <memory>
#include <string>

#include "engine/backends/gpu/nvidia/cuda/cuda_driver.h"
#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/backends/gpu/vendor/vendor.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// Where a device is in the machine.
struct PciAddress {
    int domain = 0;
    int bus = 0;
    int slot = 0;

    bool operator==(const PciAddress&) const = default;
};

// Programs are binaries that only these functions take. Kernels have no local memory and no images
// among their arguments; queues are in order; host memory is mapped where it was allocated for the
// host. UNAVAILABLE where CUDA has no such device.
//
// `compiler`: NVIDIA's OpenCL, with its name of the device at `address`.
Result<NativeDriver> openClOnCuda(std::shared_ptr<const CudaDriver> driver,
                                  std::shared_ptr<const OpenCl> compiler, cl_device_id compilerId,
                                  const PciAddress& address);

}  // namespace halyard::engine::gpu
