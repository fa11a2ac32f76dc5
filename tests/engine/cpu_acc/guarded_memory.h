// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::engine {

// Bytes that end where a page does, with an inaccessible one behind: reading or writing past their
// end ends the test.
class GuardedMemory {
  public:
    explicit GuardedMemory(size_t size) : mSize(size) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        mPages = (size + page - 1) / page * page;
        void* const memory = mmap(nullptr, mPages + page, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            ADD_FAILURE() << "no memory";
            std::abort();
        }
        mMemory = static_cast<uint8_t*>(memory);
        EXPECT_EQ(mprotect(mMemory + mPages, page, PROT_NONE), 0);
        mMapped = mPages + page;
    }
    explicit GuardedMemory(std::span<const uint8_t> content) : GuardedMemory(content.size()) {
        std::ranges::copy(content, bytes().begin());
    }
    ~GuardedMemory() { munmap(mMemory, mMapped); }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    std::span<uint8_t> bytes() const { return {mMemory + mPages - mSize, mSize}; }

  private:
    size_t mSize;
    size_t mPages = 0;
    size_t mMapped = 0;
    uint8_t* mMemory = nullptr;
};

}  // namespace halyard::engine
