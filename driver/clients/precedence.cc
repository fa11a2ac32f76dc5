// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/precedence.h"

#include <algorithm>

namespace halyard::driver {

using Clock = std::chrono::steady_clock;

size_t rankOf(Priority priority) {
    switch (priority) {
        case Priority::HIGH:
            return 0;
        case Priority::MEDIUM:
            return 1;
        case Priority::LOW:
            return 2;
    }
    return 1;
}

bool Precedence::outranks(size_t rank) const {
    return std::any_of(mRunning.begin(), mRunning.begin() + static_cast<ptrdiff_t>(rank),
                       [](const auto& running) { return running.load() > 0; });
}

Precedence::Running::Running(Precedence& precedence, Priority priority)
    : mPrecedence(precedence), mRank(rankOf(priority)) {
    ++mPrecedence.mRunning[mRank];
}

Precedence::Running::~Running() {
    if (--mPrecedence.mRunning[mRank] == 0 && mPrecedence.mWaiting.load() > 0) {
        // A thread that has read the number above, and does not wait yet, holds the lock.
        { const std::lock_guard lock(mPrecedence.mMutex); }
        mPrecedence.mChanged.notify_all();
    }
}

bool Precedence::Running::holds() const {
    if (!mPrecedence.outranks(mRank)) {
        return false;
    }
    const Clock::time_point now = Clock::now();
    int64_t since = 0;
    if (mSince.compare_exchange_strong(since, now.time_since_epoch().count())) {
        since = now.time_since_epoch().count();
    }
    const Clock::time_point last =
            Clock::time_point(Clock::duration(since)) +
            std::chrono::duration_cast<Clock::duration>(mPrecedence.mLimits.most);
    if (now >= last) {
        return false;
    }
    std::unique_lock lock(mPrecedence.mMutex);
    ++mPrecedence.mWaiting;
    mPrecedence.mChanged.wait_until(lock, std::min(last, now + mPrecedence.mLimits.step),
                                    [this] { return !mPrecedence.outranks(mRank); });
    --mPrecedence.mWaiting;
    return false;
}

}  // namespace halyard::driver
