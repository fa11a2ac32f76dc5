// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL library of the machine, found when it is wanted: no build has it, and a machine need
// not.

#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <memory>
#include <string>

#include "engine/base/status.h"

namespace halyard::engine::gpu {

// One library, which stays loaded once it is. Immutable.
struct OpenCl {
#define HALYARD_OPENCL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    // Of cl_khr_command_buffer, for devices of one platform; null: series of launches are not kept.
    clCreateCommandBufferKHR_fn clCreateCommandBufferKHR = nullptr;
    clCommandNDRangeKernelKHR_fn clCommandNDRangeKernelKHR = nullptr;
    clFinalizeCommandBufferKHR_fn clFinalizeCommandBufferKHR = nullptr;
    clEnqueueCommandBufferKHR_fn clEnqueueCommandBufferKHR = nullptr;
    clReleaseCommandBufferKHR_fn clReleaseCommandBufferKHR = nullptr;

    // `path` empty: the first of the usual names that loads. UNAVAILABLE says what was tried: in a
    // program that is linked statically, that nothing can be.
    static Result<std::shared_ptr<const OpenCl>> load(const std::string& path);
    // The same functions with those of cl_khr_command_buffer, for the devices of a platform that
    // has it. UNAVAILABLE where it lacks one.
    static Result<std::shared_ptr<const OpenCl>> withCommandBuffers(const OpenCl& cl,
                                                                    cl_platform_id platform);
    // Whether this process has it already, with whatever threads it has started.
    static bool isLoaded(const std::string& path);
};

}  // namespace halyard::engine::gpu
