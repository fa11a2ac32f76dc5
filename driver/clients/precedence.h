// SPDX-License-Identifier: Apache-2.0
//
// Precedence: an execution blocks at its checkpoints while a higher-priority execution of the same
// uid runs. NNAPI lets priorities count among the models of one app, and no further.

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

// Thread-safe. Outlives its executions (Running).
class Precedence {
  public:
    struct Limits {
        // How long a blocked execution waits before it checks again for cancellation and its
        // deadline.
        std::chrono::nanoseconds step;
        // How long after it blocked first an execution goes on regardless, so that it ends.
        std::chrono::nanoseconds most;
    };

    class Running;

    Precedence() : Precedence({std::chrono::milliseconds(5), std::chrono::seconds(1)}) {}
    explicit Precedence(const Limits& limits) : mLimits(limits) {}

    // Threads that are blocked.
    size_t waiting() const { return mWaiting.load(); }

  private:
    bool outranks(size_t rank) const;

    const Limits mLimits;
    std::array<std::atomic<uint32_t>, kPriorities> mRunning = {};  // by rank
    std::atomic<size_t> mWaiting = 0;
    std::mutex mMutex;  // for `mChanged` alone
    std::condition_variable mChanged;
};

// One execution while it runs: a stop condition that never holds, but blocks in holds() while an
// execution of higher priority runs. Made once the execution has all that it needs to run, since
// others wait for its end. Waits for nothing but time and other executions. Where it need not wait,
// holds() reads one word.
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
    // Of steady_clock: when it blocked first; 0: it has not.
    mutable std::atomic<int64_t> mSince = 0;
};

}  // namespace halyard::driver
