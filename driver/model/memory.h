// SPDX-License-Identifier: Apache-2.0
//
// A memory pool as the driver sees it, whatever it came from (ashmem, a mapped file, the heap).
//
// A pool is mapped on the call that it comes with, as far as it is used, and charged to the client;
// then its descriptors are closed. So neither models nor requests that wait hold descriptors, and
// nothing that a client does not use takes address space.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::driver {

struct Account;

// Bytes [begin, end) of a pool; none where they are equal.
struct ByteRange {
    uint64_t begin = 0;
    uint64_t end = 0;
    // No more of these will be touched, in whole pages; 0: nothing is known but the range.
    uint64_t touched = 0;

    bool empty() const { return begin == end; }
    // Becomes the smallest range that also holds `length` bytes from `offset` on; their sum does
    // not overflow.
    void include(uint64_t offset, uint64_t length);
    bool holds(uint64_t offset, uint64_t length) const;
};

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
    // Says which bytes will be used, before any is: what was given in the first place is let go of.
    // Only the first call counts; the others get its answer, or INTERNAL if they want more. What it
    // takes is charged to `account` (null: nobody's). Fails if the kernel or the account refuses,
    // or if the object is shorter than size(); there is no failure where nothing is used. A
    // read-only mapping is no failure here; writing to it is prevented by writable().
    virtual Status use(const ByteRange& range, const Account* account) const = 0;
    // Some of the bytes that use() was called for; they live as long as the Memory. INTERNAL for
    // others.
    virtual Result<std::span<uint8_t>> bytes(size_t offset, size_t length) const = 0;
    // False if the mapping is read-only, so that the pool can't take outputs.
    virtual bool writable() const = 0;
    // False once the owner was found to have cut the object short: what has been read of it may be
    // zeros instead, and what has been written may have gone nowhere. Can't become true again.
    virtual bool intact() const = 0;

    // All bytes, for those to whom the pool belongs.
    Result<std::span<uint8_t>> map() const;
};

// Memory that is all there from the start, and that nobody can take away.
class ResidentMemory : public Memory {
  public:
    size_t size() const override { return all().size(); }
    bool valid() const override { return true; }
    Status use(const ByteRange& /*range*/, const Account* /*account*/) const override { return {}; }
    Result<std::span<uint8_t>> bytes(size_t offset, size_t length) const override;
    bool writable() const override { return true; }
    bool intact() const override { return true; }

  protected:
    virtual std::span<uint8_t> all() const = 0;
};

using SharedMemory = std::shared_ptr<const Memory>;

// INTERNAL if the pool is no longer intact. `owner`: "model" or "request".
Status checkIntact(const Memory& pool, std::string_view owner, size_t poolIndex);

// Memory on the heap under the name "ashmem", zeroed; for callers in the same process.
std::shared_ptr<const Memory> allocateHeapMemory(size_t size);

}  // namespace halyard::driver
