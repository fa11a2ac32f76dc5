// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/opencl/open_cl.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "engine/backends/gpu/opencl/failure.h"
#include "engine/backends/gpu/opencl/vendor_library.h"
#include "engine/backends/loaded/library.h"

namespace halyard::engine::gpu {
namespace {

Status unavailable(std::string why) {
    return {StatusCode::UNAVAILABLE, std::move(why)};
}

// As a loader has it: the functions of the library's first platform, which all of its platforms
// share.
Result<std::shared_ptr<const OpenCl>> asLoader(VendorLibrary& file) {
    void* (*extensions)(const char* name) = nullptr;
    file.find(extensions, "clGetExtensionFunctionAddress");
    HALYARD_RETURN_IF_ERROR(file.finish());
    const auto list =
            reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(extensions("clIcdGetPlatformIDsKHR"));
    if (list == nullptr) {
        return unavailable("it has no clIcdGetPlatformIDsKHR()");
    }
    cl_platform_id platform = nullptr;
    cl_uint count = 0;
    if (const Status listed = check(list(1, &platform, &count), "clIcdGetPlatformIDsKHR");
        !listed.ok()) {
        return unavailable(std::string(listed.message()));
    }
    if (count == 0 || platform == nullptr) {
        return unavailable("it has no platform");
    }
    const cl_icd_dispatch* const table = *reinterpret_cast<cl_icd_dispatch* const*>(platform);
    if (table == nullptr) {
        return unavailable("its platform has no table of functions");
    }
    auto library = std::make_shared<OpenCl>();
    const char* missing = nullptr;
#define HALYARD_OPENCL_FUNCTION(name) \
    library->name = table->name;      \
    missing = library->name == nullptr ? #name : missing;
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    // Only those of the library itself are to be listed.
    library->clGetPlatformIDs = list;
    if (missing != nullptr) {
        return unavailable("its table of functions has no " + std::string(missing) + "()");
    }
    return std::shared_ptr<const OpenCl>(std::move(library));
}

}  // namespace

OpenClPaths OpenClPaths::usual() {
    return {// Where vendors' images and Linux distributions have it. Those with a path are for
            // processes of Android, whose loader shows them no vendor library by its name alone.
            .loaders = {"libOpenCL.so", "libOpenCL.so.1", "/vendor/lib64/libOpenCL.so",
                        "/system/vendor/lib64/libOpenCL.so", "/vendor/lib64/egl/libGLES_mali.so",
                        "/system/vendor/lib64/egl/libGLES_mali.so", "/vendor/lib64/libPVROCL.so",
                        "/system/vendor/lib64/libPVROCL.so", "/system/lib64/libOpenCL.so"},
            // NVIDIA, Arm, Qualcomm, Imagination, Intel, AMD.
            .vendors = {"libnvidia-opencl.so.1", "libmali.so.1", "libmali.so", "libGLES_mali.so",
                        "/vendor/lib64/egl/libGLES_mali.so", "/vendor/lib64/libGLES_mali.so",
                        "libOpenCL_adreno.so", "/vendor/lib64/libOpenCL_adreno.so", "libPVROCL.so",
                        "/vendor/lib64/libPVROCL.so", "libigdrcl.so",
                        "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so",
                        "/usr/lib64/intel-opencl/libigdrcl.so", "libamdocl64.so",
                        "/opt/rocm/lib/libamdocl64.so"}};
}

bool OpenCl::canLoad() {
    return Library::canOpenAny();
}

Result<std::shared_ptr<const OpenCl>> OpenCl::load(const std::string& path) {
    if (!canLoad()) {
        return unavailable(
                "this program is linked statically, and can't load OpenCL: GpuAcc needs the build "
                "with an NDK (make android)");
    }
    HALYARD_ASSIGN_OR_RETURN(VendorLibrary file, VendorLibrary::open(path.c_str()));
    auto library = std::make_shared<OpenCl>();
#define HALYARD_OPENCL_FUNCTION(name) file.find(library->name, #name);
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    // Kept open meanwhile: no vendor's library likes to be closed.
    HALYARD_ASSIGN_OR_RETURN(VendorLibrary again, VendorLibrary::open(path.c_str()));
    if (const Status complete = file.finish(); !complete.ok()) {
        Result<std::shared_ptr<const OpenCl>> other = asLoader(again);
        // Which functions are not there says more of what is no OpenCL library at all.
        return other.ok() || again.isComplete() ? other : complete;
    }
    return std::shared_ptr<const OpenCl>(std::move(library));
}

bool OpenCl::loadsAny(const OpenClPaths& paths) {
    const auto loads = [](const std::string& path) { return load(path).ok(); };
    return std::ranges::any_of(paths.loaders, loads) || std::ranges::any_of(paths.vendors, loads);
}

Result<std::shared_ptr<const OpenCl>> OpenCl::withCommandBuffers(const OpenCl& cl,
                                                                 cl_platform_id platform) {
    auto extended = std::make_shared<OpenCl>(cl);
    const char* missing = nullptr;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
                cl.clGetExtensionFunctionAddressForPlatform(platform, name));
        if (function == nullptr) {
            missing = name;
        }
    };
    find(extended->clCreateCommandBufferKHR, "clCreateCommandBufferKHR");
    find(extended->clCommandNDRangeKernelKHR, "clCommandNDRangeKernelKHR");
    find(extended->clFinalizeCommandBufferKHR, "clFinalizeCommandBufferKHR");
    find(extended->clEnqueueCommandBufferKHR, "clEnqueueCommandBufferKHR");
    find(extended->clReleaseCommandBufferKHR, "clReleaseCommandBufferKHR");
    if (missing != nullptr) {
        return unavailable("the platform has no " + std::string(missing) + "()");
    }
    return std::shared_ptr<const OpenCl>(std::move(extended));
}

bool OpenCl::isLoaded(const OpenClPaths& paths) {
    const auto isThere = [](const std::string& name) {
        void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
        if (handle != nullptr) {
            dlclose(handle);
        }
        return handle != nullptr;
    };
    return std::ranges::any_of(paths.loaders, isThere) ||
           std::ranges::any_of(paths.vendors, isThere);
}

}  // namespace halyard::engine::gpu
