// SPDX-License-Identifier: Apache-2.0
//
// Precedence: which of one user's executions go first while they run. One of a lower priority
// stands still at its checkpoints as long as one of a higher priority runs. NNAPI lets priorities
// count among the models of one app, and no further.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "driver/model/codes.h"
#include "engine/base/checkpoint.h"

namespace halyard::driver {

// 0 for the highest.
size_t rankOf(Priority priority);
inline constexpr size_t kPriorities = 3;

// Thread-safe. Outlives its turns.
class Precedence {
  public:
    struct Limits {
        // How long an execution stands still before it asks again whether it has to end: that it
        // has been cancelled, or that its deadline has passed.
        std::chrono::nanoseconds step;
        // After how long, from its first standstill, an execution stands still no more: others
        // may go first, but it comes to its end.
        std::chrono::nanoseconds most;
    };

    class Running;

    Precedence() : Precedence({std::chrono::milliseconds(5), std::chrono::seconds(1)}) {}
    explicit Precedence(const Limits& limits) : mLimits(limits) {}

    // Threads that stand still just now.
    size_t waiting() const { return mWaiting.load(); }

  private:
    bool outranks(size_t rank) const;

    const Limits mLimits;
    std::array<std::atomic<uint32_t>, kPriorities> mRunning = {};  // by rank
    std::atomic<size_t> mWaiting = 0;
    std::mutex mMutex;  // for `mChanged` alone
    std::condition_variable mChanged;
};

// One execution while it runs: a condition that never holds, but takes its time to say so. Made
// once the execution has all that it needs to run, since others wait for its end. Never waits for
// anything but time and other turns. What it asks of a thread that need not wait is to read a word.
class Precedence::Running final : public StopCondition {
  public:
    Running(Precedence& precedence, Priority priority);
    ~Running() override;
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    bool holds() const override;

  private:
    Precedence& mPrecedence;
    const size_t mRank;
    // Of steady_clock: when it first stood still; 0: it has not.
    mutable std::atomic<int64_t> mSince = 0;
};

}  // namespace halyard::driver
