// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's handles, which are pointers to what it does not show.

#pragma once

#include <memory>

#include "engine/backends/gpu/nvidia/cuda/objects.h"
#include "engine/backends/gpu/opencl/open_cl.h"

namespace halyard::engine::gpu::cuda {

template <typename Object, typename Handle>
Object& at(Handle handle) {
    return *reinterpret_cast<Object*>(handle);
}

template <typename Handle, typename Object>
Handle asHandle(std::unique_ptr<Object> object) {
    return reinterpret_cast<Handle>(object.release());
}

template <typename Object, typename Handle>
cl_int release(Handle handle) {
    delete &at<Object>(handle);
    return CL_SUCCESS;
}

template <typename Handle>
Handle answer(Handle handle, cl_int code, cl_int* where) {
    if (where != nullptr) {
        *where = code;
    }
    return code == CL_SUCCESS ? handle : nullptr;
}

// A cl_context's one reference; its other holders keep theirs.
struct OwnedContext {
    std::shared_ptr<Context> context;
};

inline const std::shared_ptr<Context>& contextOf(cl_context context) {
    return at<OwnedContext>(context).context;
}

}  // namespace halyard::engine::gpu::cuda
