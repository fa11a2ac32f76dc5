// SPDX-License-Identifier: Apache-2.0

#include "driver/model/memory.h"

#include <string>

namespace halyard::driver {
namespace {

class HeapMemory final : public Memory {
  public:
    explicit HeapMemory(size_t size) : mBytes(size) {}

    std::string_view name() const override { return "ashmem"; }
    size_t size() const override { return mBytes.size(); }
    bool valid() const override { return true; }
    Result<std::span<uint8_t>> map() const override { return std::span<uint8_t>(mBytes); }
    bool writable() const override { return true; }
    bool intact() const override { return true; }

  private:
    // A pool is shared: being const says nothing about who else writes to its bytes.
    mutable std::vector<uint8_t> mBytes;
};

}  // namespace

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
