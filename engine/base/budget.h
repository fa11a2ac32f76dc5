// SPDX-License-Identifier: Apache-2.0
//
// Budget: a number of bytes that many holders share, each with a Reservation for what it
// takes. Bytes are reserved before they are allocated: a kernel that overcommits memory lets
// allocations succeed and ends the process later, when the pages are touched.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "engine/base/status.h"

namespace halyard {

// Thread-safe.
class Budget {
  public:
    // `reclaim` is called when bytes are asked for that would fit if nothing else were reserved, on
    // the thread that asks and under no lock. It may end reservations that can be done without.
    explicit Budget(size_t limit, std::function<void()> reclaim = nullptr)
        : mLimit(limit), mReclaim(std::move(reclaim)) {}
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    size_t limit() const { return mLimit; }
    // RESOURCE_EXHAUSTED, with both numbers, if so many bytes could never be reserved.
    Status admits(size_t bytes) const;
    size_t reserved() const { return mReserved.load(std::memory_order_relaxed); }

  private:
    friend class Reservation;
    Status take(size_t bytes);
    bool tryTake(size_t bytes);
    void giveBack(size_t bytes) { mReserved.fetch_sub(bytes, std::memory_order_relaxed); }

    const size_t mLimit;
    const std::function<void()> mReclaim;
    std::atomic<size_t> mReserved = 0;
};

// Bytes of a budget, given back at the end of its life. Movable; keeps the budget alive.
class Reservation {
  public:
    Reservation() = default;  // of nothing
    // RESOURCE_EXHAUSTED, with the numbers, if the bytes don't fit. Without a budget they always
    // do.
    static Result<Reservation> create(std::shared_ptr<Budget> budget, size_t bytes);
    Reservation(Reservation&& other) noexcept
        : mBudget(std::move(other.mBudget)), mBytes(std::exchange(other.mBytes, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation();

    size_t bytes() const { return mBytes; }

  private:
    std::shared_ptr<Budget> mBudget;  // null: of nothing
    size_t mBytes = 0;
};

}  // namespace halyard
