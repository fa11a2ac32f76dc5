// SPDX-License-Identifier: Apache-2.0

#include "engine/base/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

namespace halyard {
namespace {

// Large pages for the whole ones among them: memory of this size is mostly written once from end to
// end, or read so, and each small page costs a fault and then a place in the processor's tables.
// Where the kernel has none, nothing is lost.
void askForLargePages(std::byte* bytes, size_t size) {
    if (const size_t whole = size - size % AlignedBuffer::kLargePage; whole > 0) {
        static_cast<void>(madvise(bytes, whole, MADV_HUGEPAGE));
    }
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(size_t size, size_t alignment,
                                              std::shared_ptr<Budget> budget) {
    AlignedBuffer buffer;
    if (size == 0) {
        return buffer;
    }
    HALYARD_ASSIGN_OR_RETURN(buffer.mReservation, Reservation::create(std::move(budget), size));
    if (size >= kLargePage) {
        alignment = std::max(alignment, kLargePage);
    }
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
    askForLargePages(buffer.mBytes.get(), size);
    buffer.mSize = size;
    return buffer;
}

}  // namespace halyard
