// SPDX-License-Identifier: Apache-2.0

#include "engine/base/aligned_buffer.h"

#include <string>
#include <utility>

namespace halyard {

Result<AlignedBuffer> AlignedBuffer::allocate(size_t size, size_t alignment,
                                              std::shared_ptr<Budget> budget) {
    AlignedBuffer buffer;
    if (size == 0) {
        return buffer;
    }
    HALYARD_ASSIGN_OR_RETURN(buffer.mReservation, Reservation::create(std::move(budget), size));
    // A block longer than this could not be indexed, and some heaps end the process when asked.
    if (size <= PTRDIFF_MAX - alignment) {
        const auto alignValue = static_cast<std::align_val_t>(alignment);
        buffer.mBytes = {static_cast<std::byte*>(::operator new(size, alignValue, std::nothrow)),
                         {.alignment = alignValue}};
    }
    if (buffer.mBytes == nullptr) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      "no memory for " + std::to_string(size) + " bytes");
    }
    buffer.mSize = size;
    return buffer;
}

}  // namespace halyard
