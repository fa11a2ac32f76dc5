// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/staging.h"

#include <utility>

#include "engine/backends/gpu/opencl/failure.h"

namespace halyard::engine::gpu {

Result<Staging> StagingPool::take(cl_command_queue queue) {
    {
        const std::lock_guard lock(mMutex);
        if (!mIdle.empty()) {
            Staging staging = std::move(mIdle.back());
            mIdle.pop_back();
            return staging;
        }
    }
    const OpenCl& cl = mDevice->cl();
    Staging staging;
    cl_int code = CL_SUCCESS;
    staging.memory = MemoryHandle(
            mDevice->library(),
            cl.clCreateBuffer(mDevice->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                              Staging::kBytes, nullptr, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateBuffer"));
    // Stays mapped: unmapping happens with the release.
    void* const mapped =
            cl.clEnqueueMapBuffer(queue, staging.memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                  0, Staging::kBytes, 0, nullptr, nullptr, &code);
    HALYARD_RETURN_IF_ERROR(check(code, "clEnqueueMapBuffer"));
    staging.mapped = static_cast<std::byte*>(mapped);
    return staging;
}

void StagingPool::giveBack(Staging staging) {
    const std::lock_guard lock(mMutex);
    mIdle.push_back(std::move(staging));
}

}  // namespace halyard::engine::gpu
