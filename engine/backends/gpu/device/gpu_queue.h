// SPDX-License-Identifier: Apache-2.0
//
// GpuQueue: copies and kernels of one execution, in order. Copies go through staging memory: a
// client's pages, which may vanish under a copy, are touched by the processor alone, whose faults
// are caught. The processor fills a part of that memory while the device takes the one before; only
// a reader of results waits for the device. On a device that shares its memory with the host, the
// processor copies to and from where the block is.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/staging.h"
#include "engine/plan/device_memory.h"

namespace halyard::engine::gpu {

// One thread at a time. Outlived by the pool.
class GpuQueue final : public DeviceQueue {
  public:
    GpuQueue(std::shared_ptr<const Device> device, StagingPool& pool)
        : mDevice(std::move(device)), mPool(pool) {}
    ~GpuQueue() override { static_cast<void>(finish()); }
    Status create();

    Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                  const Checkpoint& checkpoint) override;
    Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                   const Checkpoint& checkpoint) override;
    Status beginCopyOut(std::span<std::byte> to, const DevicePlace& from,
                        const Checkpoint& checkpoint) override;
    Status copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes);
    Status finish() override;

    // One launch of a kernel, or a part of one.
    struct Range {
        std::array<size_t, 3> offset = {};  // in work-items
        std::array<size_t, 3> workItems = {};
        std::array<size_t, 3> local = {};
        uint64_t work = 0;  // operations, roughly
    };
    // Waits, and asks the checkpoint, where so much is in the queue that it takes a while.
    Status enqueue(cl_kernel kernel, const Range& range, const Checkpoint& checkpoint);
    // Submits all that is enqueued, without waiting for it.
    Status flush();

    // Launches that the device is told of once and begins together, in their order, with the
    // arguments that the kernels have now.
    struct RecordedLaunch {
        cl_kernel kernel = nullptr;
        const Range* range = nullptr;
    };
    bool canRecord() const { return mDevice->cl().clCreateCommandBufferKHR != nullptr; }
    Result<RecordingHandle> record(std::span<const RecordedLaunch> launches) const;
    // `work`: of all its launches. One use of a recording at a time.
    Status enqueueRecording(cl_command_buffer_khr recording, uint64_t work,
                            const Checkpoint& checkpoint);

    // As enqueue(), with nothing else in the queue, and finishTraced() tells its time.
    Status enqueueTraced(cl_kernel kernel, const Range& range, const Checkpoint& checkpoint);
    // Waits for what was traced. The time that it took on the device.
    Result<std::chrono::nanoseconds> finishTraced();

    // Operations that are in a queue before somebody waits for them.
    static uint64_t mostWork(const DeviceFacts& facts);

  private:
    // The staging memory is filled round and round. A quarter is filled again once what it held
    // has been copied.
    static constexpr size_t kQuarters = 4;
    static constexpr size_t kQuarter = Staging::kBytes / kQuarters;

    // Of a call that waits.
    Status waited(cl_int code, std::string_view call) const;
    // Calls copy(mapped) with the bytes of a place of a device that shares its memory, once all
    // that was begun before is done.
    template <typename Copy>
    Status whereItIs(const DevicePlace& place, size_t bytes, cl_map_flags flags, const Copy& copy);
    Status takeStaging();
    Status waitForQuarter();
    Status wait(const EventHandle& event);
    // Where reading makes them small enough to wait for each other.
    bool readsLate(size_t bytes) const;
    // Of some that wait, behind them.
    Status read(std::span<std::byte> to, const DevicePlace& from, bool waits);
    // Copies finished reads from staging memory to where they belong; the queue is empty.
    void settleReads();
    Status readInParts(std::span<std::byte> to, const DevicePlace& from,
                       const Checkpoint& checkpoint);
    Status pace(uint64_t work, cl_command_queue queue, const Checkpoint& checkpoint);
    // Nothing is in the queue.
    void drained();

    const std::shared_ptr<const Device> mDevice;
    StagingPool& mPool;
    QueueHandle mQueue;
    bool mIsBusy = false;
    Staging mStaging;
    size_t mNext = 0;                                // in it
    std::array<EventHandle, kQuarters> mLastWrites;  // of each quarter
    // Reads that are under way, to staging memory.
    struct LateRead {
        std::span<std::byte> to;
        const std::byte* staged = nullptr;
    };
    std::vector<LateRead> mLateReads;
    size_t mNextRead = 0;              // in the staging memory
    uint64_t mEnqueued = 0;            // operations since somebody waited
    QueueHandle mTraced;               // made when somebody first asks
    std::vector<EventHandle> mEvents;  // of what was traced
};

}  // namespace halyard::engine::gpu
