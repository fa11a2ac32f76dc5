// SPDX-License-Identifier: Apache-2.0
//
// LogLimit: how many lines of a level a log takes. What clients do wrong is logged, and a client
// must not be able to fill the log, nor to keep the service busy with writing it.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "engine/base/log.h"

namespace halyard::hal {

// Warnings and errors have a bucket of tokens each: every line takes one, and they come back with
// time. The other levels are not limited: clients can't cause lines of INFO, and VERBOSE is
// asked for. Thread-safe; allocates nothing.
class LogLimit {
  public:
    using Clock = std::chrono::steady_clock;

    struct Rate {
        uint32_t burst = 50;  // as many at once
        uint32_t perSecond = 10;
    };

    explicit LogLimit(Rate rate) : mRate(rate) {}

    // Whether a line of that level may be written now. If not, it is counted.
    bool admits(LogLevel level, Clock::time_point now);
    // How many lines of that level were left out since this was last asked; 0 while no further line
    // of the level would be admitted.
    uint64_t takeLeftOut(LogLevel level, Clock::time_point now);

  private:
    struct Bucket {
        bool isUsed = false;
        uint64_t tokens = 0;
        Clock::time_point filled;  // up to when `tokens` has been counted
        uint64_t leftOut = 0;
    };
    // Null where the level is not limited. With the mutex held.
    Bucket* bucketOf(LogLevel level, Clock::time_point now);

    const Rate mRate;
    std::mutex mMutex;
    std::array<Bucket, 2> mBuckets;  // WARNING, ERROR
};

}  // namespace halyard::hal
