// SPDX-License-Identifier: Apache-2.0
//
// CallPacing: counts the processor time that serving calls takes, by uid. A uid that takes much of
// it while others call as well is served by threads with a higher nice value, and where many of its
// calls are served at once, most of their answers are delayed. So a flood waits, instead of filling
// the processors and the kernel's queue in front of all others.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "engine/base/long_work.h"
#include "engine/base/recent_use.h"

namespace halyard::hal {

// Thread-safe.
class CallPacing {
  public:
    // So many calls of one user at once are never delayed: a caller with no more threads than that
    // is no flood, however often it calls.
    static constexpr size_t kUnpaced = 4;
    // For an answer to a call of a user that takes just too much, and at most.
    static constexpr std::chrono::milliseconds kPause{50};
    static constexpr std::chrono::milliseconds kLongestPause{500};

    // `mostPausing`: threads at once. `mayGiveWay`: as threadsMayGiveWay(); `nice`: that of threads
    // that serve no call.
    CallPacing(size_t mostPausing, bool mayGiveWay, int nice)
        : mMostPausing(mostPausing), mMayGiveWay(mayGiveWay), mNice(nice) {}
    CallPacing(const CallPacing&) = delete;
    CallPacing& operator=(const CallPacing&) = delete;

    // A call while it is served, on one thread.
    class ServedCall {
      public:
        ServedCall(CallPacing& pacing, uint32_t uid);
        ~ServedCall();
        ServedCall(const ServedCall&) = delete;
        ServedCall& operator=(const ServedCall&) = delete;

        // Before the answer, once nothing of the call is held any more: waits where there is reason
        // to.
        void pause();

      private:
        CallPacing& mPacing;
        const uint32_t mUid;
        std::optional<GivesWay> mGivesWay;
        const std::chrono::nanoseconds mStart;
    };

    size_t pausing() const;

  private:
    // For how long a call's answer has to wait, which then counts as pausing; none: not at all.
    std::optional<std::chrono::nanoseconds> beginPause(uint32_t uid);
    void endPause();

    const size_t mMostPausing;
    const bool mMayGiveWay;
    const int mNice;
    RecentUse mUse;
    mutable std::mutex mMutex;
    std::unordered_map<uint32_t, size_t> mInside;  // calls, by uid; none that is 0
    size_t mPausing = 0;
};

}  // namespace halyard::hal
