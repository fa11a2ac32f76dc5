// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/opencl/open_cl.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/backends/gpu/vendor_library.h"
#include "engine/backends/loaded/library.h"

namespace halyard::engine::gpu {
namespace {

// Where vendors' images and Linux distributions have it. Those with a path are for processes of
// Android, whose loader shows them no vendor library by its name alone.
constexpr std::array<const char*, 9> kUsualNames = {
        "libOpenCL.so",
        "libOpenCL.so.1",
        "/vendor/lib64/libOpenCL.so",
        "/system/vendor/lib64/libOpenCL.so",
        "/vendor/lib64/egl/libGLES_mali.so",
        "/system/vendor/lib64/egl/libGLES_mali.so",
        "/vendor/lib64/libPVROCL.so",
        "/system/vendor/lib64/libPVROCL.so",
        "/system/lib64/libOpenCL.so",
};

Status unavailable(std::string why) {
    return {StatusCode::UNAVAILABLE, std::move(why)};
}

Result<std::shared_ptr<const OpenCl>> loadOne(const char* path) {
    HALYARD_ASSIGN_OR_RETURN(VendorLibrary file, VendorLibrary::open(path));
    auto library = std::make_shared<OpenCl>();
#define HALYARD_OPENCL_FUNCTION(name) file.find(library->name, #name);
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    HALYARD_RETURN_IF_ERROR(file.finish());
    return std::shared_ptr<const OpenCl>(std::move(library));
}

}  // namespace

Result<std::shared_ptr<const OpenCl>> OpenCl::load(const std::string& path) {
    if (!Library::canOpenAny()) {
        return unavailable("this program is linked statically, and can't load OpenCL");
    }
    if (!path.empty()) {
        return loadOne(path.c_str());
    }
    std::string tried;
    for (const char* const name : kUsualNames) {
        Result<std::shared_ptr<const OpenCl>> library = loadOne(name);
        if (library.ok()) {
            return library;
        }
        tried.append(tried.empty() ? "" : ", ").append(name);
    }
    return unavailable("there is no OpenCL: none of " + tried + " loads");
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

bool OpenCl::isLoaded(const std::string& path) {
    const auto isThere = [](const char* name) {
        void* const handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
        if (handle != nullptr) {
            dlclose(handle);
        }
        return handle != nullptr;
    };
    return path.empty() ? std::ranges::any_of(kUsualNames, isThere) : isThere(path.c_str());
}

}  // namespace halyard::engine::gpu
