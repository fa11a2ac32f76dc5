// SPDX-License-Identifier: Apache-2.0
//
// The device's memory, as the planner uses it. Copies go through queues (gpu_queue.h): one that an
// execution has, or one of the memory's own.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_buffer.h"
#include "engine/backends/gpu/device/gpu_queue.h"
#include "engine/backends/gpu/device/staging.h"
#include "engine/plan/device_memory.h"

namespace halyard::engine::gpu {

class GpuMemory final : public DeviceMemory {
  public:
    explicit GpuMemory(std::shared_ptr<const Device> device)
        : mDevice(std::move(device)), mStaging(mDevice) {}

    std::string_view name() const override { return mDevice->facts().name; }
    size_t capacity() const override { return mDevice->facts().memoryBytes; }
    size_t alignment() const override { return mDevice->facts().alignment; }
    Result<std::unique_ptr<DeviceBuffer>> allocate(size_t bytes) override;
    Result<std::unique_ptr<DeviceQueue>> makeQueue() override;
    Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                  const Checkpoint& checkpoint) override;
    Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                   const Checkpoint& checkpoint) override;
    Status copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                      const Checkpoint& checkpoint) override;

    // Calls work(queue) with one of the memory's own, and waits for what that has begun.
    template <typename Work>
    Status withQueue(const Work& work) {
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<GpuQueue> queue, takeQueue());
        const Status status = work(*queue);
        const Status finished = queue->finish();
        if (finished.ok()) {
            const std::lock_guard lock(mMutex);
            mIdle.push_back(std::move(queue));
        }
        return status.ok() ? finished : status;
    }

  private:
    Result<std::unique_ptr<GpuQueue>> takeQueue();
    Result<std::unique_ptr<GpuQueue>> newQueue();

    const std::shared_ptr<const Device> mDevice;
    StagingPool mStaging;
    std::mutex mMutex;
    std::vector<std::unique_ptr<GpuQueue>> mIdle;  // as many as were ever used at once
};

}  // namespace halyard::engine::gpu
