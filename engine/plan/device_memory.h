// SPDX-License-Identifier: Apache-2.0
//
// DeviceMemory: memory that the processor can't read or write as it is. A backend that has some
// (Backend::memory) gets the tensors of its partitions there: the planner allocates them and copies
// what comes from elsewhere or goes there, once for all that read it.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::engine {

// A block of it; gone at the end of its life, which comes when nothing that was begun with it is
// left to do.
class DeviceBuffer {
  public:
    virtual ~DeviceBuffer() = default;
    virtual size_t size() const = 0;
};

// Bytes of a block.
struct DevicePlace {
    DeviceBuffer* buffer = nullptr;  // null: none
    size_t offset = 0;
};

// An in-order command queue of one execution: a command begins when the one before it is done.
// Callers that begin a command need not wait for it: only copyOut() and finish() do, and one of
// these two returns its failure. One thread at a time; ends when it is finished.
class DeviceQueue {
  public:
    virtual ~DeviceQueue() = default;
    // As DeviceMemory has them. `from` has been read when this returns, the bytes may be on their
    // way.
    virtual Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                          const Checkpoint& checkpoint) = 0;
    // Returns when the bytes are there. The checkpoint is asked once more then, as it may have
    // taken a while.
    virtual Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                           const Checkpoint& checkpoint) = 0;
    // For several copies in a row: the bytes may not be there before the next copyOut() or finish()
    // returns, until when they have to have their place.
    virtual Status beginCopyOut(std::span<std::byte> to, const DevicePlace& from,
                                const Checkpoint& checkpoint) {
        return copyOut(to, from, checkpoint);
    }
    // Waits for all commands, also where one has failed: buffers that they used may be freed
    // afterwards. Costs nothing where nothing is left to do.
    virtual Status finish() = 0;
};

// Of one device; outlives its blocks and queues. Thread-safe. Copies return when they are done;
// nothing of a queue that has to do with the same blocks is under way meanwhile.
class DeviceMemory {
  public:
    virtual ~DeviceMemory() = default;
    virtual std::string_view name() const = 0;  // "Mali-G78": for people
    virtual size_t capacity() const = 0;        // how many bytes there are in all
    // Tensors start at multiples of it in their block. A power of two.
    virtual size_t alignment() const { return 64; }

    // `bytes` > 0. The content is undefined. RESOURCE_EXHAUSTED; the caller has reserved them
    // (ChargedBuffer).
    virtual Result<std::unique_ptr<DeviceBuffer>> allocate(size_t bytes) = 0;
    // A block over memory that a descriptor stands for, which stays the caller's. UNSUPPORTED if
    // it is of no kind that the device can use.
    virtual Result<std::unique_ptr<DeviceBuffer>> import(int /*descriptor*/, size_t /*offset*/,
                                                         size_t /*bytes*/) {
        return unsupported(std::string(name()) + " can't use the memory of others");
    }

    // One whose calls return when they are done, unless the device has better.
    virtual Result<std::unique_ptr<DeviceQueue>> makeQueue();

    // The places have as many bytes; host memory may have any alignment, and others may write to
    // it meanwhile.
    virtual Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                          const Checkpoint& checkpoint) = 0;
    virtual Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                           const Checkpoint& checkpoint) = 0;
    // From one place to another, which do not overlap.
    virtual Status copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                              const Checkpoint& checkpoint) = 0;
};

// A block and what is reserved for it. Movable.
class ChargedBuffer {
  public:
    ChargedBuffer() = default;  // none
    // Reserves before it allocates. `budget`: null: not limited.
    static Result<ChargedBuffer> allocate(DeviceMemory& memory, size_t bytes,
                                          std::shared_ptr<Budget> budget);

    DeviceBuffer* get() const { return mBuffer.get(); }
    size_t size() const { return mBuffer == nullptr ? 0 : mBuffer->size(); }

  private:
    Reservation mReservation;  // ends after the block
    std::unique_ptr<DeviceBuffer> mBuffer;
};

// A block that only grows, so that runs of the same shapes allocate once.
class ReusedDeviceBuffer {
  public:
    // At least `bytes` bytes, which stay until more are asked for. The content is undefined.
    // `role` is for the message: RESOURCE_EXHAUSTED. `queue`: all that uses the block; finished
    // where the block goes for a larger one.
    Result<DeviceBuffer*> get(DeviceMemory& memory, DeviceQueue& queue, size_t bytes,
                              const std::shared_ptr<Budget>& budget, std::string_view role);

  private:
    ChargedBuffer mBuffer;
};

// The queues of one execution, one for each device.
class DeviceQueues {
  public:
    // The queue of that device, which stays; made when it is first asked for.
    Result<DeviceQueue*> of(DeviceMemory& memory);
    // Every one. What the first failure says.
    Status finish();

  private:
    struct Entry {
        const DeviceMemory* memory;
        std::unique_ptr<DeviceQueue> queue;
    };
    std::vector<Entry> mQueues;
};

}  // namespace halyard::engine
