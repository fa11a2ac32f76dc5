// SPDX-License-Identifier: Apache-2.0
//
// A memory pool as the driver sees it, whatever it came from (ashmem, a mapped file, the heap).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::driver {

// Implementations are thread-safe. The other side may write to the bytes at any time: read control
// data once, and never size anything by what a second read gives.
class Memory {
  public:
    virtual ~Memory() = default;
    // "ashmem", "mmap_fd", "hardware_buffer_blob", ...: the name the client gave.
    virtual std::string_view name() const = 0;
    // Bytes, as the client declared them.
    virtual size_t size() const = 0;
    // True if there is something behind the name (the handle is not null).
    virtual bool valid() const = 0;
    // Maps on the first call; later calls give the same span, which lives as long as the Memory.
    // Exactly size() bytes. Fails if the kernel refuses or the object is shorter than size().
    // A read-only mapping is not an error here; writing to it is prevented by writable().
    virtual Result<std::span<uint8_t>> map() const = 0;
    // False if the mapping is read-only, so that the pool can't take outputs.
    virtual bool writable() const = 0;
    // False once the owner was found to have cut the object short: what has been read of it may be
    // zeros instead, and what has been written may have gone nowhere. Can't become true again.
    virtual bool intact() const = 0;
};

using SharedMemory = std::shared_ptr<const Memory>;

// INTERNAL if the pool is no longer intact. `owner`: "model" or "request".
Status checkIntact(const Memory& pool, std::string_view owner, size_t poolIndex);

// Memory on the heap under the name "ashmem", zeroed; for callers in the same process.
std::shared_ptr<const Memory> allocateHeapMemory(size_t size);

}  // namespace halyard::driver
