// SPDX-License-Identifier: Apache-2.0

#include "hal/log_limit.h"

#include <algorithm>
#include <utility>

namespace halyard::hal {

LogLimit::Bucket* LogLimit::bucketOf(LogLevel level, Clock::time_point now) {
    if (level < LogLevel::WARNING) {
        return nullptr;
    }
    Bucket& bucket = mBuckets[level == LogLevel::WARNING ? 0 : 1];
    if (!bucket.isUsed) {
        bucket = {.isUsed = true, .tokens = mRate.burst, .filled = now};
        return &bucket;
    }
    // Whole tokens only, so that no time between two lines is lost. Threads may come with their
    // times out of order.
    const std::chrono::nanoseconds each =
            std::chrono::nanoseconds(std::chrono::seconds(1)) / std::max(mRate.perSecond, 1U);
    if (now - bucket.filled >= each * static_cast<int64_t>(mRate.burst)) {
        bucket.tokens = mRate.burst;
        bucket.filled = now;
    } else if (now > bucket.filled) {
        const int64_t more = (now - bucket.filled) / each;
        bucket.tokens =
                std::min<uint64_t>(bucket.tokens + static_cast<uint64_t>(more), mRate.burst);
        bucket.filled += each * more;
    }
    return &bucket;
}

bool LogLimit::admits(LogLevel level, Clock::time_point now) {
    const std::lock_guard lock(mMutex);
    Bucket* bucket = bucketOf(level, now);
    if (bucket == nullptr) {
        return true;
    }
    if (bucket->tokens == 0) {
        ++bucket->leftOut;
        return false;
    }
    --bucket->tokens;
    return true;
}

uint64_t LogLimit::takeLeftOut(LogLevel level, Clock::time_point now) {
    const std::lock_guard lock(mMutex);
    Bucket* bucket = bucketOf(level, now);
    return bucket == nullptr || bucket->tokens == 0 ? 0 : std::exchange(bucket->leftOut, 0);
}

}  // namespace halyard::hal
