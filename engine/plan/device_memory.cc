// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/device_memory.h"

#include <string>
#include <utility>

namespace halyard::engine {

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

Result<DeviceBuffer*> ReusedDeviceBuffer::get(DeviceMemory& memory, size_t bytes,
                                              const std::shared_ptr<Budget>& budget,
                                              std::string_view role) {
    if (bytes > mBuffer.size()) {
        mBuffer = ChargedBuffer();  // the old bytes go before the new ones come
        Result<ChargedBuffer> buffer = ChargedBuffer::allocate(memory, bytes, budget);
        if (!buffer.ok()) {
            return buffer.status().withContext(role);
        }
        mBuffer = std::move(*buffer);
    }
    return mBuffer.get();
}

}  // namespace halyard::engine
