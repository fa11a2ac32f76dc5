// SPDX-License-Identifier: Apache-2.0
//
// The device's memory, as the planner uses it. What is copied goes through staging memory that the
// driver has pinned: a client's pages, which may vanish under a copy, are touched by the processor
// alone, whose faults are caught, and the device copies at full speed.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/device.h"
#include "engine/plan/device_memory.h"

namespace halyard::engine::gpu {

class GpuBuffer final : public DeviceBuffer {
  public:
    GpuBuffer(MemoryHandle memory, size_t bytes) : mMemory(std::move(memory)), mBytes(bytes) {}
    size_t size() const override { return mBytes; }
    cl_mem get() const { return mMemory.get(); }

  private:
    const MemoryHandle mMemory;
    const size_t mBytes;
};

// Of a place's buffer, which is a GpuBuffer: every block of a home comes from its memory.
inline cl_mem memoryOf(const DeviceBuffer* buffer) {
    return static_cast<const GpuBuffer*>(buffer)->get();
}

class GpuMemory final : public DeviceMemory {
  public:
    explicit GpuMemory(std::shared_ptr<const Device> device) : mDevice(std::move(device)) {}

    std::string_view name() const override { return mDevice->facts().name; }
    size_t capacity() const override { return mDevice->facts().memoryBytes; }
    size_t alignment() const override { return mDevice->facts().alignment; }
    Result<std::unique_ptr<DeviceBuffer>> allocate(size_t bytes) override;
    Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                  const Checkpoint& checkpoint) override;
    Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                   const Checkpoint& checkpoint) override;
    Status copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                      const Checkpoint& checkpoint) override;

  private:
    // A queue with staging memory of its own. As many as ever copied at once.
    struct Lane {
        QueueHandle queue;
        MemoryHandle staging;
        std::byte* mapped = nullptr;
    };

    Result<Lane> takeLane();
    Result<Lane> makeLane() const;
    // Calls copy(lane), and keeps the lane for the next copy unless it has failed.
    template <typename Copy>
    Status withLane(Copy copy);

    const std::shared_ptr<const Device> mDevice;
    std::mutex mMutex;
    std::vector<Lane> mIdle;
};

}  // namespace halyard::engine::gpu
