// SPDX-License-Identifier: Apache-2.0
//
// Budget: a number of bytes, or of things that are counted, that many holders share, each with a
// Reservation for what it takes. Bytes are reserved before they are allocated: a kernel that
// overcommits memory lets allocations succeed and ends the process later, when the pages are
// touched.
//
// Budgets form a tree: what is taken of a part is taken of the whole too. A whole may keep a
// reserve for parts that have a minimum: what such a part takes up to its minimum comes out of the
// reserve, as long as there is any, and only the rest out of what all parts share. So parts that
// take all that they can get leave every newcomer its minimum, until the reserve has gone to as
// many parts as it holds minimums.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "engine/base/status.h"

namespace halyard {

// Thread-safe.
class Budget {
  public:
    // `reclaim` is called when something is asked for that would fit if nothing else were reserved,
    // on the thread that asks and under no lock. It may end reservations that can be done without.
    // `unit`: what is counted, for messages; it lives for ever. `reserve` <= limit: how much of it
    // is for the minimums of parts. What is taken of the whole itself is not held to that.
    explicit Budget(size_t limit, std::function<void()> reclaim = nullptr,
                    std::string_view unit = "bytes", size_t reserve = 0)
        : Budget(limit, nullptr, std::move(reclaim), unit, reserve, 0) {}
    // A part of `whole`, of which it may take as much as `limit`.
    Budget(size_t limit, std::shared_ptr<Budget> whole, std::function<void()> reclaim = nullptr,
           size_t minimum = 0)
        : Budget(limit, whole, std::move(reclaim), whole->mUnit, 0, minimum) {}
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    // Of a part: no more than the whole could ever give it.
    size_t limit() const { return mLimit; }
    // RESOURCE_EXHAUSTED for good, with both numbers, if so many could never be reserved.
    Status admits(size_t count) const;
    size_t reserved() const { return mReserved.load(std::memory_order_relaxed); }

  private:
    friend class Reservation;
    Budget(size_t limit, std::shared_ptr<Budget> whole, std::function<void()> reclaim,
           std::string_view unit, size_t reserve, size_t minimum);
    Status take(size_t count);
    void giveBack(size_t count);

    // The budget, here or further up, that is short of so many bytes; null: none is.
    struct Shortage {
        Budget* budget = nullptr;
        Status status;
    };
    Shortage shortageOf(size_t count);
    size_t outOfReserve(size_t count) const;
    size_t shared() const { return mLimit - mReserve; }
    size_t sharedInUse() const { return reserved() - mReserveInUse; }
    Status refusal(size_t count, size_t inUse, std::string_view limited, size_t limit) const;

    const std::shared_ptr<Budget> mWhole;  // null: this is one
    Budget& mRoot;                         // of the tree
    const size_t mDepth;                   // below it
    const size_t mReserve;                 // of a whole
    const size_t mMinimum;                 // of a part
    const size_t mLimit;
    const std::function<void()> mReclaim;
    const std::string_view mUnit;
    std::mutex mMutex;                  // the root's guards the tree
    std::atomic<size_t> mReserved = 0;  // written under the lock
    size_t mReserveInUse = 0;           // of this whole's reserve, by its parts
    size_t mFromReserve = 0;            // of the whole's reserve, by this part
};

// A share of a budget, given back at the end of its life. Movable; keeps the budget alive.
class Reservation {
  public:
    Reservation() = default;  // of nothing
    // RESOURCE_EXHAUSTED, with the numbers, if there is no room for so many; for good as admits()
    // says. Without a budget there always is.
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
