// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's own headers, of the version that GpuAcc calls.

#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
