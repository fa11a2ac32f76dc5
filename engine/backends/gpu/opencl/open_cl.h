// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL library of the machine, found when it is wanted: no build has it, and a machine need
// not.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backends/gpu/opencl/headers.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// Where OpenCL is looked for, by paths and names.
struct OpenClPaths {
    std::vector<std::string> loaders;  // of which the first that loads is taken
    // Of vendors, which are tried one after the other where the loader has no device to take: it
    // knows but those that a file of the system names, and containers lack such files.
    std::vector<std::string> vendors;

    static OpenClPaths usual();
};

// One library, which stays loaded once it is. Immutable.
struct OpenCl {
#define HALYARD_OPENCL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    // Of cl_khr_command_buffer, for devices of one platform; null: command buffer of launches are
    // not kept.
    clCreateCommandBufferKHR_fn clCreateCommandBufferKHR = nullptr;
    clCommandNDRangeKernelKHR_fn clCommandNDRangeKernelKHR = nullptr;
    clFinalizeCommandBufferKHR_fn clFinalizeCommandBufferKHR = nullptr;
    clEnqueueCommandBufferKHR_fn clEnqueueCommandBufferKHR = nullptr;
    clReleaseCommandBufferKHR_fn clReleaseCommandBufferKHR = nullptr;

    // A loader, or a vendor's library, which may be one for loaders alone (cl_khr_icd). UNAVAILABLE
    // says why it can't be had: in a program that is linked statically, that nothing can be.
    static Result<std::shared_ptr<const OpenCl>> load(const std::string& path);
    // Whether this program has what it takes to load libraries.
    static bool canLoad();
    // Whether any of them loads.
    static bool loadsAny(const OpenClPaths& paths);
    // The same functions with those of cl_khr_command_buffer, for the devices of a platform that
    // has it. UNAVAILABLE where it lacks one.
    static Result<std::shared_ptr<const OpenCl>> withCommandBuffers(const OpenCl& cl,
                                                                    cl_platform_id platform);
    // Whether this process has one already, with whatever threads it has started.
    static bool isLoaded(const OpenClPaths& paths);
};

}  // namespace halyard::engine::gpu
