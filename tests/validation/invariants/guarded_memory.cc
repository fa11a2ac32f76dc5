// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/invariants/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

namespace halyard::validation {
namespace {

class GuardedMemory final : public driver::ResidentMemory {
  public:
    GuardedMemory(size_t size, Guard guard) : mSize(size) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t usable = (size + page - 1) / page * page;
        mMappedSize = usable + 2 * page;
        mMapped = mmap(nullptr, mMappedSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mMapped == MAP_FAILED) {
            std::abort();
        }
        uint8_t* const first = static_cast<uint8_t*>(mMapped) + page;
        if (usable > 0 && mprotect(first, usable, PROT_READ | PROT_WRITE) != 0) {
            std::abort();
        }
        mBytes = guard == Guard::BEFORE ? first : first + (usable - size);
    }
    ~GuardedMemory() override { munmap(mMapped, mMappedSize); }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    std::string_view name() const override { return "ashmem"; }

  private:
    std::span<uint8_t> all() const override { return {mBytes, mSize}; }

    const size_t mSize;
    size_t mMappedSize = 0;
    void* mMapped = nullptr;
    uint8_t* mBytes = nullptr;
};

}  // namespace

driver::SharedMemory allocateGuarded(size_t size, Guard guard) {
    return std::make_shared<const GuardedMemory>(size, guard);
}

}  // namespace halyard::validation
