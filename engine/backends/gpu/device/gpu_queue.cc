// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/gpu_queue.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/backends/gpu/device/gpu_buffer.h"
#include "engine/backends/gpu/opencl/failure.h"

namespace halyard::engine::gpu {
namespace {

// Bytes that the processor fills before the device begins to take them: with more the device waits,
// with fewer the calls cost more than the copies.
constexpr size_t kWritePart = size_t{128} << 10;
// The same for what the device brings.
constexpr size_t kReadPart = size_t{512} << 10;
constexpr size_t kReadsAtOnce = Staging::kBytes / kReadPart;
constexpr size_t kStagingAlignment = 64;
// Work that a compute unit does in about a tenth of a second, or less.
constexpr uint64_t kWorkPerUnit = uint64_t{1} << 26;
constexpr std::string_view kCopying = "while it was copied";

Status checkPlace(const DevicePlace& place, size_t bytes) {
    if (place.buffer == nullptr || place.offset > place.buffer->size() ||
        bytes > place.buffer->size() - place.offset) {
        return internalError("was asked to copy beyond a block's end");
    }
    return {};
}

}  // namespace

uint64_t GpuQueue::mostWork(const DeviceFacts& facts) {
    return kWorkPerUnit * facts.computeUnits;
}

Status GpuQueue::create() {
    HALYARD_ASSIGN_OR_RETURN(mQueue, mDevice->makeQueue());
    return {};
}

void GpuQueue::drained() {
    settleReads();
    mIsBusy = false;
    mEnqueued = 0;
    mNext = 0;
    for (EventHandle& event : mLastWrites) {
        event = EventHandle();
    }
}

Status GpuQueue::waited(cl_int code, std::string_view call) const {
    const Status status = check(code, call);
    if (!status.ok()) {
        mDevice->suspect(status);
    }
    return status;
}

Status GpuQueue::finish() {
    const Status traced = mEvents.empty() ? Status() : finishTraced().status();
    if (mIsBusy) {
        const Status finished = waited(mDevice->cl().clFinish(mQueue.get()), "clFinish");
        if (!finished.ok()) {
            mLateReads.clear();
        }
        drained();
        if (!finished.ok()) {
            // The device may still use it: OpenCL lets go of it when it may.
            mStaging = Staging();
            return finished;
        }
    }
    HALYARD_RETURN_IF_ERROR(traced);
    if (mStaging.mapped != nullptr) {
        mPool.giveBack(std::exchange(mStaging, Staging()));
    }
    return {};
}

// ---- Copies -------------------------------------------------------------------------------------

Status GpuQueue::takeStaging() {
    HALYARD_RETURN_IF_ERROR(mDevice->usable());
    if (mStaging.mapped == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(mStaging, mPool.take(mQueue.get()));
    }
    return {};
}

template <typename Copy>
Status GpuQueue::whereItIs(const DevicePlace& place, size_t bytes, cl_map_flags flags,
                           const Copy& copy) {
    HALYARD_RETURN_IF_ERROR(mDevice->usable());
    const OpenCl& cl = mDevice->cl();
    cl_int code = CL_SUCCESS;
    mIsBusy = true;
    void* const mapped = cl.clEnqueueMapBuffer(mQueue.get(), memoryOf(place.buffer), CL_TRUE, flags,
                                               place.offset, bytes, 0, nullptr, nullptr, &code);
    HALYARD_RETURN_IF_ERROR(waited(code, "clEnqueueMapBuffer"));
    const Status copied = copy(static_cast<std::byte*>(mapped));
    const Status unmapped = check(cl.clEnqueueUnmapMemObject(mQueue.get(), memoryOf(place.buffer),
                                                             mapped, 0, nullptr, nullptr),
                                  "clEnqueueUnmapMemObject");
    return copied.ok() ? unmapped : copied;
}

Status GpuQueue::wait(const EventHandle& event) {
    const cl_event one = event.get();
    return waited(mDevice->cl().clWaitForEvents(1, &one), "clWaitForEvents");
}

// Until the one that is filled next may be.
Status GpuQueue::waitForQuarter() {
    EventHandle& last = mLastWrites[mNext / kQuarter];
    if (last.get() == nullptr) {
        return {};
    }
    HALYARD_RETURN_IF_ERROR(wait(last));
    last = EventHandle();
    return {};
}

Status GpuQueue::copyIn(const DevicePlace& to, std::span<const std::byte> from,
                        const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkPlace(to, from.size()));
    if (from.empty()) {
        return {};
    }
    if (mDevice->facts().sharesMemory) {
        return whereItIs(to, from.size(), CL_MAP_WRITE_INVALIDATE_REGION, [&](std::byte* mapped) {
            return copyInChunks(mapped, from.data(), from.size(), checkpoint, kCopying);
        });
    }
    const OpenCl& cl = mDevice->cl();
    if (!mLateReads.empty()) {
        HALYARD_RETURN_IF_ERROR(finish());  // they have the staging memory
    }
    HALYARD_RETURN_IF_ERROR(takeStaging());
    size_t size = 0;
    for (size_t begin = 0; begin < from.size(); begin += size) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
        HALYARD_RETURN_IF_ERROR(waitForQuarter());
        const size_t left = kQuarter - mNext % kQuarter;
        size = std::min({kWritePart, from.size() - begin, left});
        std::byte* const staged = mStaging.mapped + mNext;
        std::memcpy(staged, from.data() + begin, size);
        const size_t taken = (size + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
        const bool endsQuarter = taken == left;
        cl_event event = nullptr;
        mIsBusy = true;
        const cl_int code = cl.clEnqueueWriteBuffer(mQueue.get(), memoryOf(to.buffer), CL_FALSE,
                                                    to.offset + begin, size, staged, 0, nullptr,
                                                    endsQuarter ? &event : nullptr);
        HALYARD_RETURN_IF_ERROR(check(code, "clEnqueueWriteBuffer"));
        if (endsQuarter) {
            mLastWrites[mNext / kQuarter] = EventHandle(mDevice->library(), event);
        }
        mNext = (mNext + taken) % Staging::kBytes;
        HALYARD_RETURN_IF_ERROR(flush());
    }
    return {};
}

Status GpuQueue::copyOut(std::span<std::byte> to, const DevicePlace& from,
                         const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkPlace(from, to.size()));
    HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
    if (to.empty()) {
        return {};
    }
    if (mDevice->facts().sharesMemory) {
        return whereItIs(from, to.size(), CL_MAP_READ, [&](const std::byte* mapped) {
            return copyInChunks(to.data(), mapped, to.size(), checkpoint, kCopying);
        });
    }
    if (readsLate(to.size())) {
        HALYARD_RETURN_IF_ERROR(read(to, from, true));
        return checkpoint.check(kCopying);
    }
    if (!mLateReads.empty()) {
        HALYARD_RETURN_IF_ERROR(finish());  // they have the staging memory
    }
    HALYARD_RETURN_IF_ERROR(takeStaging());
    return readInParts(to, from, checkpoint);
}

Status GpuQueue::beginCopyOut(std::span<std::byte> to, const DevicePlace& from,
                              const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkPlace(from, to.size()));
    if (to.empty() || mDevice->facts().sharesMemory || !readsLate(to.size())) {
        return copyOut(to, from, checkpoint);
    }
    HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
    return read(to, from, false);
}

bool GpuQueue::readsLate(size_t bytes) const {
    return bytes <= kReadPart && mNextRead + bytes <= Staging::kBytes;
}

Status GpuQueue::read(std::span<std::byte> to, const DevicePlace& from, bool waits) {
    HALYARD_RETURN_IF_ERROR(takeStaging());
    std::byte* const staged = mStaging.mapped + mNextRead;
    mIsBusy = true;
    const cl_int code = mDevice->cl().clEnqueueReadBuffer(mQueue.get(), memoryOf(from.buffer),
                                                          waits ? CL_TRUE : CL_FALSE, from.offset,
                                                          to.size(), staged, 0, nullptr, nullptr);
    HALYARD_RETURN_IF_ERROR(check(code, "clEnqueueReadBuffer"));
    mLateReads.push_back({.to = to, .staged = staged});
    mNextRead += (to.size() + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
    if (waits) {
        drained();
    }
    return {};
}

void GpuQueue::settleReads() {
    for (const LateRead& read : mLateReads) {
        std::memcpy(read.to.data(), read.staged, read.to.size());
    }
    mLateReads.clear();
    mNextRead = 0;
}

// As many as there is room for are on their way while the processor takes the first of them.
Status GpuQueue::readInParts(std::span<std::byte> to, const DevicePlace& from,
                             const Checkpoint& checkpoint) {
    const size_t parts = (to.size() + kReadPart - 1) / kReadPart;
    std::array<EventHandle, kReadsAtOnce> events;
    const auto sizeOf = [&](size_t part) {
        return std::min(kReadPart, to.size() - part * kReadPart);
    };
    const auto stagedOf = [&](size_t part) {
        return mStaging.mapped + part % kReadsAtOnce * kReadPart;
    };
    const auto begin = [&](size_t part) -> Status {
        cl_event event = nullptr;
        mIsBusy = true;
        const cl_int code = mDevice->cl().clEnqueueReadBuffer(
                mQueue.get(), memoryOf(from.buffer), CL_FALSE, from.offset + part * kReadPart,
                sizeOf(part), stagedOf(part), 0, nullptr, &event);
        HALYARD_RETURN_IF_ERROR(check(code, "clEnqueueReadBuffer"));
        events[part % kReadsAtOnce] = EventHandle(mDevice->library(), event);
        return {};
    };
    size_t begun = 0;
    for (size_t part = 0; part < parts; ++part) {
        for (; begun < std::min(parts, part + kReadsAtOnce); ++begun) {
            HALYARD_RETURN_IF_ERROR(begin(begun));
        }
        HALYARD_RETURN_IF_ERROR(wait(events[part % kReadsAtOnce]));
        HALYARD_RETURN_IF_ERROR(checkpoint.check(kCopying));
        std::memcpy(to.data() + part * kReadPart, stagedOf(part), sizeOf(part));
    }
    drained();
    return {};
}

Status GpuQueue::copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes) {
    HALYARD_RETURN_IF_ERROR(checkPlace(to, bytes));
    HALYARD_RETURN_IF_ERROR(checkPlace(from, bytes));
    if (bytes == 0) {
        return {};
    }
    mIsBusy = true;
    return check(mDevice->cl().clEnqueueCopyBuffer(mQueue.get(), memoryOf(from.buffer),
                                                   memoryOf(to.buffer), from.offset, to.offset,
                                                   bytes, 0, nullptr, nullptr),
                 "clEnqueueCopyBuffer");
}

// ---- Kernels ------------------------------------------------------------------------------------

Status GpuQueue::pace(uint64_t work, cl_command_queue queue, const Checkpoint& checkpoint) {
    mEnqueued += work;
    if (mEnqueued <= mostWork(mDevice->facts())) {
        return {};
    }
    mEnqueued = 0;
    HALYARD_RETURN_IF_ERROR(waited(mDevice->cl().clFinish(queue), "clFinish"));
    return checkpoint.check("while it ran");
}

Status GpuQueue::enqueue(cl_kernel kernel, const Range& range, const Checkpoint& checkpoint) {
    mIsBusy = true;
    const cl_int code = mDevice->cl().clEnqueueNDRangeKernel(
            mQueue.get(), kernel, 3, range.offset.data(), range.workItems.data(),
            range.local.data(), 0, nullptr, nullptr);
    if (code != CL_SUCCESS) {
        return check(code, "clEnqueueNDRangeKernel");
    }
    return pace(range.work, mQueue.get(), checkpoint);
}

Result<RecordingHandle> GpuQueue::record(std::span<const RecordedLaunch> launches) const {
    const OpenCl& cl = mDevice->cl();
    cl_int code = CL_SUCCESS;
    const cl_command_queue queue = mQueue.get();
    RecordingHandle recording(mDevice->library(),
                              cl.clCreateCommandBufferKHR(1, &queue, nullptr, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateCommandBufferKHR"));
    for (const RecordedLaunch& launch : launches) {
        HALYARD_RETURN_IF_ERROR(
                check(cl.clCommandNDRangeKernelKHR(
                              recording.get(), nullptr, nullptr, launch.kernel, 3,
                              launch.range->offset.data(), launch.range->workItems.data(),
                              launch.range->local.data(), 0, nullptr, nullptr, nullptr),
                      "clCommandNDRangeKernelKHR"));
    }
    HALYARD_RETURN_IF_ERROR(
            check(cl.clFinalizeCommandBufferKHR(recording.get()), "clFinalizeCommandBufferKHR"));
    return recording;
}

Status GpuQueue::enqueueRecording(cl_command_buffer_khr recording, uint64_t work,
                                  const Checkpoint& checkpoint) {
    mIsBusy = true;
    cl_command_queue queue = mQueue.get();
    HALYARD_RETURN_IF_ERROR(check(
            mDevice->cl().clEnqueueCommandBufferKHR(1, &queue, recording, 0, nullptr, nullptr),
            "clEnqueueCommandBufferKHR"));
    return pace(work, queue, checkpoint);
}

Status GpuQueue::flush() {
    return check(mDevice->cl().clFlush(mQueue.get()), "clFlush");
}

Status GpuQueue::enqueueTraced(cl_kernel kernel, const Range& range, const Checkpoint& checkpoint) {
    if (mTraced.get() == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(mTraced, mDevice->makeQueue(true));
    }
    if (mIsBusy) {
        HALYARD_RETURN_IF_ERROR(waited(mDevice->cl().clFinish(mQueue.get()), "clFinish"));
        drained();
    }
    cl_event event = nullptr;
    const cl_int code = mDevice->cl().clEnqueueNDRangeKernel(
            mTraced.get(), kernel, 3, range.offset.data(), range.workItems.data(),
            range.local.data(), 0, nullptr, &event);
    HALYARD_RETURN_IF_ERROR(check(code, "clEnqueueNDRangeKernel"));
    mEvents.emplace_back(mDevice->library(), event);
    return pace(range.work, mTraced.get(), checkpoint);
}

Result<std::chrono::nanoseconds> GpuQueue::finishTraced() {
    const OpenCl& cl = mDevice->cl();
    const std::vector<EventHandle> events = std::exchange(mEvents, {});
    mEnqueued = 0;
    if (mTraced.get() != nullptr) {
        HALYARD_RETURN_IF_ERROR(waited(cl.clFinish(mTraced.get()), "clFinish"));
    }
    std::chrono::nanoseconds time{0};
    for (const EventHandle& event : events) {
        cl_ulong begin = 0;
        cl_ulong end = 0;
        // A device that tells no time leaves it at none.
        if (cl.clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_START, sizeof begin,
                                       &begin, nullptr) == CL_SUCCESS &&
            cl.clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof end, &end,
                                       nullptr) == CL_SUCCESS &&
            end > begin) {
            time += std::chrono::nanoseconds(end - begin);
        }
    }
    return time;
}

}  // namespace halyard::engine::gpu
