// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/gpu_memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "engine/backends/gpu/opencl/failure.h"

namespace halyard::engine::gpu {
namespace {

// What is copied at once, and how many of those lie in a lane's staging memory: the processor
// fills one while the device takes the one before.
constexpr size_t kPart = size_t{1} << 20;
constexpr size_t kParts = 4;
constexpr std::string_view kCopying = "while it was copied";

Status checkPlace(const DevicePlace& place, size_t bytes) {
    if (place.buffer == nullptr || place.offset > place.buffer->size() ||
        bytes > place.buffer->size() - place.offset) {
        return internalError("was asked to copy beyond a block's end");
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<DeviceBuffer>> GpuMemory::allocate(size_t bytes) {
    const DeviceFacts& facts = mDevice->facts();
    if (bytes > facts.largestBuffer) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "a block of " + std::to_string(bytes) +
                                                              " bytes is larger than any of " +
                                                              std::to_string(facts.largestBuffer))
                .asPersistent();
    }
    cl_int code = CL_SUCCESS;
    MemoryHandle memory(mDevice->library(),
                        mDevice->cl().clCreateBuffer(mDevice->context(), CL_MEM_READ_WRITE, bytes,
                                                     nullptr, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateBuffer"));
    return std::unique_ptr<DeviceBuffer>(std::make_unique<GpuBuffer>(std::move(memory), bytes));
}

Result<GpuMemory::Lane> GpuMemory::makeLane() const {
    const OpenCl& cl = mDevice->cl();
    Lane lane;
    HALYARD_ASSIGN_OR_RETURN(lane.queue, mDevice->makeQueue());
    cl_int code = CL_SUCCESS;
    lane.staging = MemoryHandle(
            mDevice->library(),
            cl.clCreateBuffer(mDevice->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                              kPart * kParts, nullptr, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateBuffer"));
    // Stays mapped: unmapping happens with the release.
    void* const mapped = cl.clEnqueueMapBuffer(lane.queue.get(), lane.staging.get(), CL_TRUE,
                                               CL_MAP_READ | CL_MAP_WRITE, 0, kPart * kParts, 0,
                                               nullptr, nullptr, &code);
    HALYARD_RETURN_IF_ERROR(check(code, "clEnqueueMapBuffer"));
    lane.mapped = static_cast<std::byte*>(mapped);
    return lane;
}

Result<GpuMemory::Lane> GpuMemory::takeLane() {
    {
        const std::lock_guard lock(mMutex);
        if (!mIdle.empty()) {
            Lane lane = std::move(mIdle.back());
            mIdle.pop_back();
            return lane;
        }
    }
    return makeLane();
}

template <typename Copy>
Status GpuMemory::withLane(Copy copy) {
    HALYARD_ASSIGN_OR_RETURN(Lane lane, takeLane());
    const Status status = copy(lane);
    // Whatever was begun reads or writes the staging memory.
    const Status finished = check(mDevice->cl().clFinish(lane.queue.get()), "clFinish");
    if (finished.ok()) {
        const std::lock_guard lock(mMutex);
        mIdle.push_back(std::move(lane));
    }
    return status.ok() ? finished : status;
}

Status GpuMemory::copyIn(const DevicePlace& to, std::span<const std::byte> from,
                         const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkPlace(to, from.size()));
    const OpenCl& cl = mDevice->cl();
    return withLane([&](const Lane& lane) -> Status {
        size_t part = 0;
        for (size_t begin = 0; begin < from.size(); begin += kPart, ++part) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
            if (part >= kParts && part % kParts == 0) {
                HALYARD_RETURN_IF_ERROR(check(cl.clFinish(lane.queue.get()), "clFinish"));
            }
            const size_t size = std::min(kPart, from.size() - begin);
            std::byte* const staged = lane.mapped + part % kParts * kPart;
            std::memcpy(staged, from.data() + begin, size);
            HALYARD_RETURN_IF_ERROR(check(
                    cl.clEnqueueWriteBuffer(lane.queue.get(), memoryOf(to.buffer), CL_FALSE,
                                            to.offset + begin, size, staged, 0, nullptr, nullptr),
                    "clEnqueueWriteBuffer"));
        }
        return {};
    });
}

Status GpuMemory::copyOut(std::span<std::byte> to, const DevicePlace& from,
                          const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkPlace(from, to.size()));
    const OpenCl& cl = mDevice->cl();
    return withLane([&](const Lane& lane) -> Status {
        for (size_t begin = 0; begin < to.size(); begin += kPart * kParts) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
            const size_t size = std::min(kPart * kParts, to.size() - begin);
            HALYARD_RETURN_IF_ERROR(
                    check(cl.clEnqueueReadBuffer(lane.queue.get(), memoryOf(from.buffer), CL_TRUE,
                                                 from.offset + begin, size, lane.mapped, 0, nullptr,
                                                 nullptr),
                          "clEnqueueReadBuffer"));
            std::memcpy(to.data() + begin, lane.mapped, size);
        }
        return {};
    });
}

Status GpuMemory::copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                             const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkPlace(to, bytes));
    HALYARD_RETURN_IF_ERROR(checkPlace(from, bytes));
    HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
    return bytes == 0 ? Status() : withLane([&](const Lane& lane) {
        return check(mDevice->cl().clEnqueueCopyBuffer(lane.queue.get(), memoryOf(from.buffer),
                                                       memoryOf(to.buffer), from.offset, to.offset,
                                                       bytes, 0, nullptr, nullptr),
                     "clEnqueueCopyBuffer");
    });
}

}  // namespace halyard::engine::gpu
