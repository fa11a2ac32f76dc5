// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL library of the machine, found when it is wanted: no build has it, and a machine need
// not.

#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <string>

#include "engine/base/status.h"

namespace halyard::engine::gpu {

// One library. It stays loaded once it is: those of vendors have threads of their own, which none
// of them ends. Immutable.
struct OpenCl {
#define HALYARD_OPENCL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION

    // `path` empty: the first of the usual names that loads. UNAVAILABLE says what was tried: in a
    // program that is linked statically, that nothing can be.
    static Result<std::shared_ptr<const OpenCl>> load(const std::string& path);
    // Whether this process has it already, with whatever threads it has started.
    static bool isLoaded(const std::string& path);
};

}  // namespace halyard::engine::gpu
