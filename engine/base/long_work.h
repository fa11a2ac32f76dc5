// SPDX-License-Identifier: Apache-2.0
//
// LongWork: work gives way to shorter work once it has computed for long. Its threads get a higher
// nice value, and the former one back at its end: other threads come first, and an idle processor
// computes it as fast as ever.

#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "engine/base/checkpoint.h"

namespace halyard {

// The nice value of threads that give way: that of Android's background threads.
inline constexpr int kGivingWay = 10;

// Whether a thread of this process gets its nice value back once it has a higher one, which takes
// RLIMIT_NICE or CAP_SYS_NICE. Tried out on a thread of its own.
bool threadsMayGiveWay();

// The calling thread's.
int niceOfThread();
std::chrono::nanoseconds timeOfThread();  // that it has had of the processor

// For as long as it lives, the calling thread gives way.
class GivesWay {
  public:
    // `back`: its nice value afterwards.
    explicit GivesWay(int back);
    ~GivesWay();
    GivesWay(const GivesWay&) = delete;
    GivesWay& operator=(const GivesWay&) = delete;

  private:
    const int mBack;
};

// One execution or preparation while it runs, on the thread that makes this and ends it: a
// condition that never holds of itself, but notices at each checkpoint how long the work takes.
// Whatever other threads ask it have done so before it ends. Allocates nothing.
class LongWork final : public StopCondition {
  public:
    // As long as that on the thread that makes it, in time of the processor, is no long work.
    static constexpr std::chrono::milliseconds kShort{50};

    // `mayGiveWay`: as threadsMayGiveWay(); else this does nothing. `condition`: another one to
    // ask; null: none. `atOnce`: it gives way from the start.
    explicit LongWork(bool mayGiveWay, const StopCondition* condition = nullptr,
                      bool atOnce = false);
    ~LongWork() override;
    LongWork(const LongWork&) = delete;
    LongWork& operator=(const LongWork&) = delete;

    bool holds() const override;

    // The time it has taken so far on the thread that made it, which calls this; 0 unless it may
    // give way.
    std::chrono::nanoseconds taken() const;

  private:
    struct Thread {
        std::atomic<pid_t> id = 0;
        int before = 0;
    };

    void look() const;
    void giveWay() const;

    const bool mMayGiveWay;
    const StopCondition* const mCondition;
    const pthread_t mOwner;
    const std::chrono::nanoseconds mStart;  // of the owner's time
    // The owner's alone.
    mutable std::chrono::steady_clock::time_point mNextLook;
    mutable std::atomic<bool> mIsLong = false;
    // Those that give way; each has added itself.
    mutable std::array<Thread, 72> mThreads;
    mutable std::atomic<size_t> mCount = 0;
};

}  // namespace halyard
