// SPDX-License-Identifier: Apache-2.0
//
// AlignedBuffer: a block of heap memory at a chosen alignment, whose allocation can fail.
//
// Without exceptions a container whose allocation fails ends the process. So whatever is as large
// as a client says, in extents of tensors or in things multiplied with each other (elements of
// tensors, arenas, scratch memory, copies of constants), is an AlignedBuffer, reserved from a
// budget first. Ordinary containers hold only what is no larger than a small multiple of the
// message that it stems from: names, operands, nodes, their indices and tables per node or tensor.
// Where those multiply (the copies of graphs inside an If or While) they are counted and reserved
// before they are made.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "engine/base/budget.h"
#include "engine/base/status.h"

namespace halyard {

// Owns its bytes; movable. An empty buffer has no memory.
class AlignedBuffer {
  public:
    // A block that holds one is made of as many as fit into it, where the kernel has such pages, so
    // that its last part alone lies in small ones.
    static constexpr size_t kLargePage = size_t{2} << 20;

    AlignedBuffer() = default;
    // `alignment` is a power of two. The content is undefined. The bytes are reserved from
    // `budget`, if there is one, for as long as the buffer has them. RESOURCE_EXHAUSTED when the
    // budget or the heap has no such block; sizes may come from outside.
    static Result<AlignedBuffer> allocate(size_t size, size_t alignment,
                                          std::shared_ptr<Budget> budget = nullptr);

    std::byte* data() const { return mBytes.get(); }
    size_t size() const { return mSize; }
    std::span<std::byte> bytes() const { return {mBytes.get(), mSize}; }

  private:
    struct Delete {
        std::align_val_t alignment;
        void operator()(std::byte* bytes) const { ::operator delete(bytes, alignment); }
    };
    Reservation mReservation;
    std::unique_ptr<std::byte, Delete> mBytes;
    size_t mSize = 0;
};

}  // namespace halyard
