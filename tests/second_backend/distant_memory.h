// SPDX-License-Identifier: Apache-2.0
//
// Memory that the host can't touch: mapped without access, but inside this memory's own copies and
// while a kernel of the backend has it open. Any other access is fatal.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/device_memory.h"

namespace halyard::engine {

class DistantMemory;

class DistantBuffer : public DeviceBuffer {
  public:
    DistantBuffer(DistantMemory& memory, std::byte* base, size_t bytes)
        : mMemory(memory), mBase(base), mBytes(bytes) {}
    ~DistantBuffer() override;
    DistantBuffer(const DistantBuffer&) = delete;
    DistantBuffer& operator=(const DistantBuffer&) = delete;

    size_t size() const override { return mBytes; }
    // Where its bytes are; to be touched while it is open only.
    std::byte* base() const { return mBase; }

    // Opened as often as closed. Any thread.
    void open();
    void close();

  private:
    DistantMemory& mMemory;
    std::byte* const mBase;
    const size_t mBytes;
    std::mutex mMutex;
    size_t mUsers = 0;
};

// Open for as long as this lives.
class OpenBuffer {
  public:
    explicit OpenBuffer(DistantBuffer& buffer) : mBuffer(&buffer) { buffer.open(); }
    ~OpenBuffer() {
        if (mBuffer != nullptr) {
            mBuffer->close();
        }
    }
    OpenBuffer(OpenBuffer&& other) noexcept : mBuffer(std::exchange(other.mBuffer, nullptr)) {}
    OpenBuffer& operator=(OpenBuffer&&) = delete;

  private:
    DistantBuffer* mBuffer;
};

// The failure of a call that is told to fail.
Status toldToFail();

class DistantMemory : public DeviceMemory {
  public:
    explicit DistantMemory(size_t capacity) : mCapacity(capacity) {}

    std::string_view name() const override { return "Far"; }
    size_t capacity() const override { return mCapacity; }
    size_t alignment() const override { return kAlignment; }
    Result<std::unique_ptr<DeviceBuffer>> allocate(size_t bytes) override;
    // One that has begun copies out there as late as it may.
    Result<std::unique_ptr<DeviceQueue>> makeQueue() override;
    Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                  const Checkpoint& checkpoint) override;
    Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                   const Checkpoint& checkpoint) override;
    Status copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                      const Checkpoint& checkpoint) override;

    // More than the host's arena has.
    static constexpr size_t kAlignment = 256;

    std::atomic<size_t> inUse = 0;  // bytes of all blocks
    std::atomic<size_t> copiesIn = 0;
    std::atomic<size_t> copiesOut = 0;
    std::atomic<uint64_t> copiedBytes = 0;
    // Fail from now on.
    std::atomic<bool> failsToAllocate = false;
    std::atomic<bool> failsToCopyIn = false;
    std::atomic<bool> failsToCopyOut = false;

  private:
    const size_t mCapacity;
};

}  // namespace halyard::engine
