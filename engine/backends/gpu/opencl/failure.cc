// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/opencl/failure.h"

#include <algorithm>
#include <array>
#include <utility>

namespace halyard::engine::gpu {
namespace {

constexpr std::array kNames = {
#define HALYARD_NAMED(code) std::pair<cl_int, std::string_view>(code, #code)
        HALYARD_NAMED(CL_DEVICE_NOT_FOUND),
        HALYARD_NAMED(CL_DEVICE_NOT_AVAILABLE),
        HALYARD_NAMED(CL_COMPILER_NOT_AVAILABLE),
        HALYARD_NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        HALYARD_NAMED(CL_OUT_OF_RESOURCES),
        HALYARD_NAMED(CL_OUT_OF_HOST_MEMORY),
        HALYARD_NAMED(CL_PROFILING_INFO_NOT_AVAILABLE),
        HALYARD_NAMED(CL_MEM_COPY_OVERLAP),
        HALYARD_NAMED(CL_BUILD_PROGRAM_FAILURE),
        HALYARD_NAMED(CL_MAP_FAILURE),
        HALYARD_NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        HALYARD_NAMED(CL_INVALID_VALUE),
        HALYARD_NAMED(CL_INVALID_PLATFORM),
        HALYARD_NAMED(CL_INVALID_DEVICE),
        HALYARD_NAMED(CL_INVALID_CONTEXT),
        HALYARD_NAMED(CL_INVALID_QUEUE_PROPERTIES),
        HALYARD_NAMED(CL_INVALID_COMMAND_QUEUE),
        HALYARD_NAMED(CL_INVALID_MEM_OBJECT),
        HALYARD_NAMED(CL_INVALID_BINARY),
        HALYARD_NAMED(CL_INVALID_BUILD_OPTIONS),
        HALYARD_NAMED(CL_INVALID_PROGRAM),
        HALYARD_NAMED(CL_INVALID_PROGRAM_EXECUTABLE),
        HALYARD_NAMED(CL_INVALID_KERNEL_NAME),
        HALYARD_NAMED(CL_INVALID_KERNEL),
        HALYARD_NAMED(CL_INVALID_ARG_INDEX),
        HALYARD_NAMED(CL_INVALID_ARG_VALUE),
        HALYARD_NAMED(CL_INVALID_ARG_SIZE),
        HALYARD_NAMED(CL_INVALID_KERNEL_ARGS),
        HALYARD_NAMED(CL_INVALID_WORK_DIMENSION),
        HALYARD_NAMED(CL_INVALID_WORK_GROUP_SIZE),
        HALYARD_NAMED(CL_INVALID_WORK_ITEM_SIZE),
        HALYARD_NAMED(CL_INVALID_GLOBAL_OFFSET),
        HALYARD_NAMED(CL_INVALID_EVENT),
        HALYARD_NAMED(CL_INVALID_OPERATION),
        HALYARD_NAMED(CL_INVALID_BUFFER_SIZE),
        HALYARD_NAMED(CL_INVALID_GLOBAL_WORK_SIZE),
#undef HALYARD_NAMED
        // The ICD loader's code where there is no platform.
        std::pair<cl_int, std::string_view>(-1001, "CL_PLATFORM_NOT_FOUND_KHR"),
};

StatusCode codeFor(cl_int code, std::string_view call) {
    switch (code) {
        case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        case CL_OUT_OF_HOST_MEMORY:
            return StatusCode::RESOURCE_EXHAUSTED;
        case CL_OUT_OF_RESOURCES:
            return call == "clFinish" || call == "clWaitForEvents" ||
                                   call == "clEnqueueReadBuffer" || call == "clEnqueueMapBuffer"
                           ? StatusCode::INTERNAL
                           : StatusCode::RESOURCE_EXHAUSTED;
        default:
            return StatusCode::INTERNAL;
    }
}

}  // namespace

std::string nameOf(cl_int code) {
    const auto* const found =
            std::ranges::find(kNames, code, &std::pair<cl_int, std::string_view>::first);
    const std::string number = "(" + std::to_string(code) + ")";
    return found == kNames.end() ? "an error of its own " + number
                                 : std::string(found->second) + " " + number;
}

Status check(cl_int code, std::string_view call, std::source_location place) {
    if (code == CL_SUCCESS) {
        return {};
    }
    return {codeFor(code, call), std::string(call) + "() failed: " + nameOf(code), place};
}

}  // namespace halyard::engine::gpu
