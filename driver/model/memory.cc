// SPDX-License-Identifier: Apache-2.0

#include "driver/model/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"

namespace halyard::driver {
namespace {

class HeapMemory final : public ResidentMemory {
  public:
    explicit HeapMemory(size_t size) : mBytes(size) {}

    std::string_view name() const override { return "ashmem"; }

  private:
    std::span<uint8_t> all() const override { return mBytes; }

    // A pool is shared: being const says nothing about who else writes to its bytes.
    mutable std::vector<uint8_t> mBytes;
};

class BorrowedMemory final : public ResidentMemory {
  public:
    BorrowedMemory(std::span<uint8_t> bytes, bool writable, std::shared_ptr<const void> owner)
        : mBytes(bytes), mWritable(writable), mOwner(std::move(owner)) {}

    std::string_view name() const override { return "ashmem"; }
    bool writable() const override { return mWritable; }
    bool isPrivate() const override { return true; }

  private:
    std::span<uint8_t> all() const override { return mBytes; }

    const std::span<uint8_t> mBytes;
    const bool mWritable;
    const std::shared_ptr<const void> mOwner;
};

}  // namespace

void ByteRange::include(uint64_t offset, uint64_t length) {
    if (length == 0) {
        return;
    }
    static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
    begin = empty() ? offset : std::min(begin, offset);
    end = std::max(end, offset + length);
    const uint64_t pages = (offset + length - 1) / page - offset / page + 1;
    touched = pages > (UINT64_MAX - touched) / page ? UINT64_MAX : touched + pages * page;
}

bool ByteRange::holds(uint64_t offset, uint64_t length) const {
    return length == 0 || (offset >= begin && offset <= end && length <= end - offset);
}

Result<std::span<uint8_t>> MemoryUse::bytes(uint64_t offset, uint64_t length) const {
    if (length == 0) {
        return std::span<uint8_t>();
    }
    if (offset < mBegin || !rangeFits<uint64_t>(offset - mBegin, length, mBytes.size())) {
        return internalError("these bytes are not in use");
    }
    return mBytes.subspan(static_cast<size_t>(offset - mBegin), static_cast<size_t>(length));
}

Result<MemoryUse> ResidentMemory::use(const ByteRange& range, const Account* /*account*/) const {
    const std::span<uint8_t> whole = all();
    if (range.empty()) {
        return MemoryUse();
    }
    if (range.begin > range.end || range.end > whole.size()) {
        return internalError("bytes outside the pool");
    }
    return MemoryUse(shared_from_this(), range.begin,
                     whole.subspan(static_cast<size_t>(range.begin),
                                   static_cast<size_t>(range.end - range.begin)));
}

Status checkIntact(const MemoryUse& pool, std::string_view owner, size_t poolIndex) {
    if (pool.intact()) {
        return {};
    }
    return internalError(std::string(owner) + " pool " + std::to_string(poolIndex) +
                         " was cut short by its owner while it was in use");
}

std::shared_ptr<const Memory> allocateHeapMemory(size_t size) {
    return std::make_shared<const HeapMemory>(size);
}

std::shared_ptr<const Memory> borrowMemory(std::span<uint8_t> bytes,
                                           std::shared_ptr<const void> owner) {
    return std::make_shared<const BorrowedMemory>(bytes, true, std::move(owner));
}

std::shared_ptr<const Memory> borrowMemory(std::span<const uint8_t> bytes,
                                           std::shared_ptr<const void> owner) {
    // Not written to: writable() says so.
    return std::make_shared<const BorrowedMemory>(
            std::span(const_cast<uint8_t*>(bytes.data()), bytes.size()), false, std::move(owner));
}

}  // namespace halyard::driver
