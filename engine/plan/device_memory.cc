// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/device_memory.h"

#include <algorithm>
#include <string>
#include <utility>

namespace halyard::engine {
namespace {

class ImmediateQueue final : public DeviceQueue {
  public:
    explicit ImmediateQueue(DeviceMemory& memory) : mMemory(memory) {}

    Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                  const Checkpoint& checkpoint) override {
        return mMemory.copyIn(to, from, checkpoint);
    }
    Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                   const Checkpoint& checkpoint) override {
        return mMemory.copyOut(to, from, checkpoint);
    }
    Status finish() override { return {}; }

  private:
    DeviceMemory& mMemory;
};

}  // namespace

Result<std::unique_ptr<DeviceQueue>> DeviceMemory::makeQueue() {
    return std::unique_ptr<DeviceQueue>(std::make_unique<ImmediateQueue>(*this));
}

Result<ChargedBuffer> ChargedBuffer::allocate(DeviceMemory& memory, size_t bytes,
                                              std::shared_ptr<Budget> budget) {
    ChargedBuffer charged;
    Result<Reservation> reservation = Reservation::create(std::move(budget), bytes);
    if (!reservation.ok()) {
        return reservation.status().withContext(memory.name());
    }
    charged.mReservation = std::move(*reservation);
    Result<std::unique_ptr<DeviceBuffer>> buffer = memory.allocate(bytes);
    if (!buffer.ok()) {
        return buffer.status().withContext(memory.name());
    }
    if (*buffer == nullptr || (*buffer)->size() < bytes) {
        return internalError(std::string(memory.name()) + " gave no block of " +
                             std::to_string(bytes) + " bytes, and says that all went well");
    }
    charged.mBuffer = std::move(*buffer);
    return charged;
}

Result<DeviceBuffer*> ReusedDeviceBuffer::get(DeviceMemory& memory, DeviceQueue& queue,
                                              size_t bytes, const std::shared_ptr<Budget>& budget,
                                              std::string_view role) {
    if (bytes > mBuffer.size()) {
        HALYARD_RETURN_IF_ERROR(queue.finish());
        mBuffer = ChargedBuffer();  // the old bytes go before the new ones come
        Result<ChargedBuffer> buffer = ChargedBuffer::allocate(memory, bytes, budget);
        if (!buffer.ok()) {
            return buffer.status().withContext(role);
        }
        mBuffer = std::move(*buffer);
    }
    return mBuffer.get();
}

Result<DeviceQueue*> DeviceQueues::of(DeviceMemory& memory) {
    const auto found = std::ranges::find(mQueues, &memory, &Entry::memory);
    if (found != mQueues.end()) {
        return found->queue.get();
    }
    Result<std::unique_ptr<DeviceQueue>> made = memory.makeQueue();
    if (!made.ok()) {
        return made.status().withContext(memory.name());
    }
    return mQueues.emplace_back(&memory, *std::move(made)).queue.get();
}

Status DeviceQueues::finish() {
    Status first;
    for (const Entry& entry : mQueues) {
        const Status status = entry.queue->finish();
        if (first.ok() && !status.ok()) {
            first = status.withContext(entry.memory->name());
        }
    }
    return first;
}

}  // namespace halyard::engine
