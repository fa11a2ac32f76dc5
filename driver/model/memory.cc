// SPDX-License-Identifier: Apache-2.0

#include "driver/model/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

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

Result<std::span<uint8_t>> Memory::map() const {
    HALYARD_RETURN_IF_ERROR(use({.begin = 0, .end = size()}, nullptr));
    return bytes(0, size());
}

Result<std::span<uint8_t>> ResidentMemory::bytes(size_t offset, size_t length) const {
    const std::span<uint8_t> whole = all();
    if (!rangeFits<size_t>(offset, length, whole.size())) {
        return internalError("bytes outside the pool");
    }
    return whole.subspan(offset, length);
}

Status checkIntact(const Memory& pool, std::string_view owner, size_t poolIndex) {
    if (pool.intact()) {
        return {};
    }
    return internalError(std::string(owner) + " pool " + std::to_string(poolIndex) +
                         " was cut short by its owner while it was in use");
}

std::shared_ptr<const Memory> allocateHeapMemory(size_t size) {
    return std::make_shared<const HeapMemory>(size);
}

}  // namespace halyard::driver
