// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "driver/model/memory.h"

namespace halyard::driver {

// A memfd, mapped once for the driver, between inaccessible pages, and once for the client, as in
// another process.
class TwiceMappedMemory final : public ResidentMemory {
  public:
    explicit TwiceMappedMemory(size_t size) : mSize(size) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        mMapped = (size + page - 1) / page * page;
        const int file = memfd_create("client", MFD_CLOEXEC);
        EXPECT_EQ(ftruncate(file, static_cast<off_t>(mMapped)), 0);
        mReserved = mMapped + 2 * page;
        mGuards = static_cast<uint8_t*>(
                mmap(nullptr, mReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mDrivers = static_cast<uint8_t*>(mmap(mGuards + page, mMapped, PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_FIXED, file, 0));
        mClients = static_cast<uint8_t*>(
                mmap(nullptr, mMapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        close(file);
    }
    ~TwiceMappedMemory() override {
        munmap(mGuards, mReserved);
        munmap(mClients, mMapped);
    }
    TwiceMappedMemory(const TwiceMappedMemory&) = delete;
    TwiceMappedMemory& operator=(const TwiceMappedMemory&) = delete;

    std::string_view name() const override { return "mmap_fd"; }

    std::span<uint8_t> clients() const { return {mClients + (mMapped - mSize), mSize}; }

  private:
    // Ends where the guard page begins.
    std::span<uint8_t> all() const override { return {mDrivers + (mMapped - mSize), mSize}; }

    size_t mSize;
    size_t mMapped = 0;
    size_t mReserved = 0;
    uint8_t* mGuards = nullptr;
    uint8_t* mDrivers = nullptr;
    uint8_t* mClients = nullptr;
};

}  // namespace halyard::driver
