// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/gpu_memory.h"

#include <atomic>
#include <string>
#include <utility>

#include "engine/backends/gpu/opencl/failure.h"

namespace halyard::engine::gpu {
namespace {

uint64_t nextNumber() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

}  // namespace

Result<std::unique_ptr<DeviceBuffer>> GpuMemory::allocate(size_t bytes) {
    HALYARD_RETURN_IF_ERROR(mDevice->usable());
    const DeviceFacts& facts = mDevice->facts();
    if (bytes > facts.largestBuffer) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "a block of " + std::to_string(bytes) +
                                                              " bytes is larger than any of " +
                                                              std::to_string(facts.largestBuffer))
                .asPersistent();
    }
    // Where the host maps a block, it is to be where both can reach it.
    const cl_mem_flags flags =
            CL_MEM_READ_WRITE | (facts.sharesMemory ? CL_MEM_ALLOC_HOST_PTR : cl_mem_flags{0});
    cl_int code = CL_SUCCESS;
    MemoryHandle memory(mDevice->library(), mDevice->cl().clCreateBuffer(mDevice->context(), flags,
                                                                         bytes, nullptr, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateBuffer"));
    return std::unique_ptr<DeviceBuffer>(
            std::make_unique<GpuBuffer>(std::move(memory), bytes, nextNumber()));
}

Result<std::unique_ptr<GpuQueue>> GpuMemory::newQueue() {
    HALYARD_RETURN_IF_ERROR(mDevice->usable());
    auto queue = std::make_unique<GpuQueue>(mDevice, mStaging);
    HALYARD_RETURN_IF_ERROR(queue->create());
    return queue;
}

Result<std::unique_ptr<DeviceQueue>> GpuMemory::makeQueue() {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<GpuQueue> queue, newQueue());
    return std::unique_ptr<DeviceQueue>(std::move(queue));
}

Result<std::unique_ptr<GpuQueue>> GpuMemory::takeQueue() {
    {
        const std::lock_guard lock(mMutex);
        if (!mIdle.empty()) {
            std::unique_ptr<GpuQueue> queue = std::move(mIdle.back());
            mIdle.pop_back();
            return queue;
        }
    }
    return newQueue();
}

Status GpuMemory::copyIn(const DevicePlace& to, std::span<const std::byte> from,
                         const Checkpoint& checkpoint) {
    return withQueue([&](GpuQueue& queue) { return queue.copyIn(to, from, checkpoint); });
}

Status GpuMemory::copyOut(std::span<std::byte> to, const DevicePlace& from,
                          const Checkpoint& checkpoint) {
    return withQueue([&](GpuQueue& queue) { return queue.copyOut(to, from, checkpoint); });
}

Status GpuMemory::copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                             const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkpoint.check("while it was copied"));
    return withQueue([&](GpuQueue& queue) { return queue.copyWithin(to, from, bytes); });
}

}  // namespace halyard::engine::gpu
