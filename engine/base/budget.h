// SPDX-License-Identifier: Apache-2.0
//
// Budget: a number of bytes, or of things that are counted, that many holders share, each with a
// Reservation for what it takes. Bytes are reserved before they are allocated: a kernel that
// overcommits memory lets allocations succeed and ends the process later, when the pages are
// touched.
//
// Budgets form a tree: what is taken of a part is taken of the whole too.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/status.h"

namespace halyard {

// Thread-safe.
class Budget {
  public:
    // `reclaim` is called when something is asked for that would fit if nothing else were reserved,
    // on the thread that asks and under no lock. It may end reservations that can be done without.
    // `unit`: what is counted, for messages; it lives for ever.
    explicit Budget(size_t limit, std::function<void()> reclaim = nullptr,
                    std::string_view unit = "bytes")
        : Budget(limit, nullptr, std::move(reclaim), unit) {}
    // A part of `whole`, of which it may take as much as `limit`.
    Budget(size_t limit, std::shared_ptr<Budget> whole, std::function<void()> reclaim = nullptr)
        : Budget(limit, whole, std::move(reclaim), whole->mUnit) {}
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    size_t limit() const { return mLimit; }
    // RESOURCE_EXHAUSTED, with both numbers, if so many could never be reserved.
    Status admits(size_t count) const;
    size_t reserved() const { return mReserved.load(std::memory_order_relaxed); }

  private:
    friend class Reservation;
    Budget(size_t limit, std::shared_ptr<Budget> whole, std::function<void()> reclaim,
           std::string_view unit)
        : mLimit(limit), mWhole(std::move(whole)), mReclaim(std::move(reclaim)), mUnit(unit) {}
    Status take(size_t count);
    Status takeOwn(size_t count);
    bool tryTake(size_t count);
    void giveBack(size_t count);

    const size_t mLimit;
    const std::shared_ptr<Budget> mWhole;  // null: this is one
    const std::function<void()> mReclaim;
    const std::string_view mUnit;
    std::atomic<size_t> mReserved = 0;
};

// A share of a budget, given back at the end of its life. Movable; keeps the budget alive.
class Reservation {
  public:
    Reservation() = default;  // of nothing
    // RESOURCE_EXHAUSTED, with the numbers, if there is no room for so many. Without a budget there
    // always is.
    static Result<Reservation> create(std::shared_ptr<Budget> budget, size_t count);
    Reservation(Reservation&& other) noexcept
        : mBudget(std::move(other.mBudget)), mCount(std::exchange(other.mCount, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation();

    size_t count() const { return mCount; }

  private:
    std::shared_ptr<Budget> mBudget;  // null: of nothing
    size_t mCount = 0;
};

}  // namespace halyard
