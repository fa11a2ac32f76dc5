// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's error codes as a Status.

#pragma once

#include <string>
#include <string_view>

#include "engine/backends/gpu/opencl/headers.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// "CL_OUT_OF_RESOURCES (-5)".
std::string nameOf(cl_int code);

// OK for CL_SUCCESS. Otherwise "clFinish() failed: CL_OUT_OF_RESOURCES (-5)": RESOURCE_EXHAUSTED
// where memory is short, INTERNAL for all else. CL_OUT_OF_RESOURCES is both, and the call tells
// which: waiting for what runs, and reading what it has left, takes nothing, so there it is a
// device that has failed.
Status check(cl_int code, std::string_view call,
             std::source_location place = std::source_location::current());

}  // namespace halyard::engine::gpu
