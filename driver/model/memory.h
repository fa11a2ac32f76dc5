// SPDX-License-Identifier: Apache-2.0
//
// Memory as the driver sees it, of any origin (ashmem, a mapped file, the heap), and uses of it. A
// memory has no address: a MemoryUse maps bytes of it, charges them to a client, and ends by
// itself. There may be any number of uses at once, and none.
//
// Requests and models take their uses on the call that they come with, and let go of the memory
// itself: so neither those that wait nor models hold descriptors, and nothing that a client does
// not use takes address space. Memory that is kept and used often is used as a whole once, by its
// keeper; further uses lie in that one then, and cost nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
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

// Memory in this process's address space, mapped for as long as this lives. Thread-safe.
class Mapping {
  public:
    virtual ~Mapping() = default;
    // False if it can't take outputs.
    virtual bool writable() const = 0;
    // False once the owner was found to have cut the object short: what has been read of it may be
    // zeros instead, and what has been written may have gone nowhere. Can't become true again.
    virtual bool intact() const = 0;
    // True where no other writes to it while a request uses it: control inputs are read in place.
    virtual bool isPrivate() const { return false; }
};

// Bytes of a memory that are in use, for as long as it or a copy of it lives. The other side may
// write to them at any time: read control data once, and never size anything by what a second read
// gives.
class MemoryUse {
  public:
    MemoryUse() = default;  // of nothing
    // `bytes`, which lie in the mapping, are those of the memory from `begin` on.
    MemoryUse(std::shared_ptr<const Mapping> mapping, uint64_t begin, std::span<uint8_t> bytes)
        : mMapping(std::move(mapping)), mBegin(begin), mBytes(bytes) {}

    // By their offset in the memory. INTERNAL for some that are not in use.
    Result<std::span<uint8_t>> bytes(uint64_t offset, uint64_t length) const;
    bool writable() const { return mMapping != nullptr && mMapping->writable(); }
    bool intact() const { return mMapping == nullptr || mMapping->intact(); }
    bool isPrivate() const { return mMapping != nullptr && mMapping->isPrivate(); }
    // The mapping that keeps the bytes where they are; null: there are none.
    const std::shared_ptr<const Mapping>& mapping() const { return mMapping; }

  private:
    std::shared_ptr<const Mapping> mMapping;
    uint64_t mBegin = 0;
    std::span<uint8_t> mBytes;
};

// By what another process can be given a memory: descriptors, which are borrowed, and what numbers
// the kind of memory wants beside them.
struct MemoryHandle {
    std::vector<int> descriptors;
    std::vector<int32_t> numbers;
};

// Implementations are thread-safe.
class Memory {
  public:
    virtual ~Memory() = default;
    // "ashmem", "mmap_fd", "hardware_buffer_blob", ...: the name the client gave.
    virtual std::string_view name() const = 0;
    // Bytes, as the client declared them.
    virtual size_t size() const = 0;
    // True if there is something behind the name (the handle is not null).
    virtual bool valid() const = 0;
    // Maps bytes and charges what that takes to `account` (null: none) until the end of the
    // use. Where all of it is in use already, that use is shared: nothing is mapped, charged or
    // allocated then. Fails if the kernel or the account refuses, or if the object is shorter than
    // size(); there is no failure where nothing is used. A read-only mapping is no failure here;
    // writing to it is prevented by writable().
    virtual Result<MemoryUse> use(const ByteRange& range, const Account* account) const = 0;
    // All of it, for as long as this lives, for those to whom it belongs.
    virtual Result<std::span<uint8_t>> map() const = 0;
    // Null: it can't be sent to another process.
    virtual const MemoryHandle* handle() const { return nullptr; }

    // Of what stays and is used often.
    Result<MemoryUse> useWhole(const Account* account) const {
        return use({.begin = 0, .end = size()}, account);
    }
};

// Memory that is all there from the start and stays there. Made shared, since its
// uses keep it.
class ResidentMemory : public Memory,
                       public Mapping,
                       public std::enable_shared_from_this<ResidentMemory> {
  public:
    size_t size() const override { return all().size(); }
    bool valid() const override { return true; }
    Result<MemoryUse> use(const ByteRange& range, const Account* account) const override;
    Result<std::span<uint8_t>> map() const override { return all(); }
    bool writable() const override { return true; }
    bool intact() const override { return true; }

  protected:
    virtual std::span<uint8_t> all() const = 0;
};

using SharedMemory = std::shared_ptr<const Memory>;

// INTERNAL if the pool is no longer intact. `owner`: "model" or "request".
Status checkIntact(const MemoryUse& pool, std::string_view owner, size_t poolIndex);

// Memory on the heap under the name "ashmem", zeroed; for callers in the same process.
std::shared_ptr<const Memory> allocateHeapMemory(size_t size);

// Bytes of a caller in the same process under the name "ashmem", used where they lie: for requests
// and constants given by pointer. The caller writes to none that a request reads while it runs, nor
// to constants while their model lives; `owner` (null: they outlive all uses) is let go of when no
// use and no copy of the memory is left, on any thread. Using it neither maps, charges nor
// allocates anything.
std::shared_ptr<const Memory> borrowMemory(std::span<uint8_t> bytes,
                                           std::shared_ptr<const void> owner);
// The same of bytes that are only read: writable() is false.
std::shared_ptr<const Memory> borrowMemory(std::span<const uint8_t> bytes,
                                           std::shared_ptr<const void> owner);

}  // namespace halyard::driver
