// SPDX-License-Identifier: Apache-2.0
//
// Some of a pool's workers.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace halyard {

// Workers by number, as bits. Those from kMost on are in none.
class WorkerSet {
  public:
    static constexpr size_t kMost = 64;

    constexpr WorkerSet() = default;
    constexpr explicit WorkerSet(uint64_t bits) : mBits(bits) {}

    constexpr uint64_t bits() const { return mBits; }
    constexpr bool empty() const { return mBits == 0; }
    constexpr size_t count() const { return static_cast<size_t>(std::popcount(mBits)); }
    constexpr bool has(size_t worker) const { return (bitOf(worker) & mBits) != 0; }
    // How many of them come before `worker`.
    constexpr size_t countBefore(size_t worker) const {
        return worker < kMost ? WorkerSet(mBits & (bitOf(worker) - 1)).count() : count();
    }
    constexpr void add(size_t worker) { mBits |= bitOf(worker); }
    constexpr void remove(size_t worker) { mBits &= ~bitOf(worker); }

  private:
    static constexpr uint64_t bitOf(size_t worker) {
        return worker < kMost ? uint64_t{1} << worker : 0;
    }

    uint64_t mBits = 0;
};

}  // namespace halyard
