// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/cuda_driver.h"

#include <array>
#include <utility>

#include "engine/backends/gpu/opencl/vendor_library.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::array<const char*, 2> kUsualNames = {"libcuda.so.1", "libcuda.so"};

Status unavailable(std::string why) {
    return {StatusCode::UNAVAILABLE, std::move(why)};
}

Result<std::shared_ptr<const CudaDriver>> loadOne(const char* path) {
    HALYARD_ASSIGN_OR_RETURN(VendorLibrary file, VendorLibrary::open(path));
    auto driver = std::make_shared<CudaDriver>();
#define HALYARD_CUDA_FUNCTION(name, parameters) file.find(driver->name, #name);
#include "engine/backends/gpu/nvidia/cuda/functions.inc"
#undef HALYARD_CUDA_FUNCTION
    HALYARD_RETURN_IF_ERROR(file.finish());
    if (const CUresult started = driver->cuInit(0); started != kCudaSuccess) {
        return unavailable("cuInit() failed: " + driver->nameOf(started));
    }
    return std::shared_ptr<const CudaDriver>(std::move(driver));
}

}  // namespace

Result<std::shared_ptr<const CudaDriver>> CudaDriver::load(const std::string& path) {
    if (!path.empty()) {
        return loadOne(path.c_str());
    }
    Status last;
    for (const char* const name : kUsualNames) {
        Result<std::shared_ptr<const CudaDriver>> driver = loadOne(name);
        if (driver.ok()) {
            return driver;
        }
        last = driver.status();
    }
    return last;
}

std::string CudaDriver::nameOf(CUresult result) const {
    const char* name = nullptr;
    const bool isKnown = cuGetErrorName(result, &name) == kCudaSuccess && name != nullptr;
    return (isKnown ? std::string(name) : "CUDA error") + " (" + std::to_string(result) + ")";
}

}  // namespace halyard::engine::gpu
