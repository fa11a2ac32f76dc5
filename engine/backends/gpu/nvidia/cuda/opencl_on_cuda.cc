// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/opencl_on_cuda.h"

#include <utility>

#include "engine/backends/gpu/nvidia/cuda/calls.h"
#include "engine/backends/gpu/nvidia/cuda/objects.h"

namespace halyard::engine::gpu {
namespace {

// The functions, with the device that they are for.
struct TableOnCuda {
    OpenCl functions;
    cuda::DeviceOnCuda device;
};

Result<CUdevice> findDevice(const CudaDriver& driver, const PciAddress& address) {
    int count = 0;
    if (driver.cuDeviceGetCount(&count) != kCudaSuccess) {
        count = 0;
    }
    for (int i = 0; i < count; ++i) {
        CUdevice device = 0;
        PciAddress there;
        if (driver.cuDeviceGet(&device, i) == kCudaSuccess &&
            driver.cuDeviceGetAttribute(&there.domain, kCudaPciDomain, device) == kCudaSuccess &&
            driver.cuDeviceGetAttribute(&there.bus, kCudaPciBus, device) == kCudaSuccess &&
            driver.cuDeviceGetAttribute(&there.slot, kCudaPciSlot, device) == kCudaSuccess &&
            there == address) {
            return device;
        }
    }
    return Status(StatusCode::UNAVAILABLE, "none of CUDA's " + std::to_string(count) +
                                                   " devices is where OpenCL has this one");
}

}  // namespace

Result<NativeDriver> openClOnCuda(std::shared_ptr<const CudaDriver> driver,
                                  std::shared_ptr<const OpenCl> compiler, cl_device_id compilerId,
                                  const PciAddress& address) {
    HALYARD_ASSIGN_OR_RETURN(const CUdevice device, findDevice(*driver, address));
    int version = 0;
    if (driver->cuDriverGetVersion(&version) != kCudaSuccess) {
        version = 0;
    }
    auto table = std::make_shared<TableOnCuda>();
    cuda::addCommands(table->functions);
    cuda::addKernels(table->functions);
    table->device = {.driver = std::move(driver),
                     .device = device,
                     .compiler = std::move(compiler),
                     .compilerId = compilerId};
    const auto id = reinterpret_cast<cl_device_id>(&table->device);
    return NativeDriver{.cl = std::shared_ptr<const OpenCl>(table, &table->functions),
                        .id = id,
                        .version = "CUDA " + std::to_string(version / 1000) + "." +
                                   std::to_string(version % 1000 / 10)};
}

}  // namespace halyard::engine::gpu
