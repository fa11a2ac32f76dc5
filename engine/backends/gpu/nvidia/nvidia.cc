// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/nvidia.h"

#include <utility>

#include "engine/backends/gpu/nvidia/cuda/cuda_driver.h"
#include "engine/backends/gpu/nvidia/cuda/opencl_on_cuda.h"
#include "engine/backends/gpu/nvidia/ptx_matrix_unit.h"
#include "engine/backends/gpu/opencl/device_query.h"

namespace halyard::engine::gpu {
namespace {

// Where a device is in the machine, by cl_nv_device_attribute_query.
constexpr cl_device_info kPciBus = 0x4008;
constexpr cl_device_info kPciSlot = 0x4009;
constexpr cl_device_info kPciDomain = 0x400A;

bool ownsPlatform(std::string_view platform) {
    return platform.find("NVIDIA") != std::string_view::npos;
}

// Compute capability 9.0 and later; other names are of earlier devices.
DeviceFamily familyOfDevice(std::string_view device) {
    for (const std::string_view name :
         {"H100", "H200", "H800", "H20", "GH200", "B100", "B200", "GB200", "B300", "GB300"}) {
        if (device.find(name) != std::string_view::npos) {
            return DeviceFamily::NVIDIA_HOPPER;
        }
    }
    return DeviceFamily::NVIDIA_AMPERE;
}

Result<NativeDriver> openCuda(const std::shared_ptr<const OpenCl>& cl, cl_device_id id,
                              const std::string& library) {
    DeviceQuery query(*cl, id);
    const PciAddress address = {.domain = static_cast<int>(query.number<cl_uint>(kPciDomain)),
                                .bus = static_cast<int>(query.number<cl_uint>(kPciBus)),
                                .slot = static_cast<int>(query.number<cl_uint>(kPciSlot))};
    HALYARD_RETURN_IF_ERROR(query.status().withContext("OpenCL does not tell where the device is"));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const CudaDriver> driver, CudaDriver::load(library));
    return openClOnCuda(std::move(driver), cl, id, address);
}

}  // namespace

const Vendor& nvidia() {
    static const Vendor vendor = {.driverName = "CUDA",
                                  .owns = ownsPlatform,
                                  .familyOf = familyOfDevice,
                                  .matrixUnit = &ptxMatrixUnit(),
                                  .openDriver = openCuda};
    return vendor;
}

}  // namespace halyard::engine::gpu
