// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/call_pacing.h"

#include <algorithm>
#include <thread>

namespace halyard::hal {

using Clock = RecentUse::Clock;

CallPacing::ServedCall::ServedCall(CallPacing& pacing, uint32_t uid)
    : mPacing(pacing), mUid(uid), mStart(timeOfThread()) {
    {
        const std::lock_guard lock(mPacing.mMutex);
        ++mPacing.mInside[uid];
    }
    // The kernel gives a thread its own nice value with each call, and back with the reply, but for
    // oneway ones.
    if (mPacing.mMayGiveWay && mPacing.mUse.isMuch(uid, Clock::now())) {
        mGivesWay.emplace(mPacing.mNice);
    }
}

CallPacing::ServedCall::~ServedCall() {
    mPacing.mUse.add(mUid, timeOfThread() - mStart, Clock::now());
    const std::lock_guard lock(mPacing.mMutex);
    const auto inside = mPacing.mInside.find(mUid);
    if (--inside->second == 0) {
        mPacing.mInside.erase(inside);
    }
}

void CallPacing::ServedCall::pause() {
    if (const auto time = mPacing.beginPause(mUid)) {
        std::this_thread::sleep_for(*time);
        mPacing.endPause();
    }
}

std::optional<std::chrono::nanoseconds> CallPacing::beginPause(uint32_t uid) {
    const double excess = mUse.excess(uid, Clock::now());
    const std::lock_guard lock(mMutex);
    if (excess <= 1 || mInside[uid] <= kUnpaced || mPausing >= mMostPausing) {
        return std::nullopt;
    }
    ++mPausing;
    return std::min<std::chrono::nanoseconds>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(excess * kPause), kLongestPause);
}

void CallPacing::endPause() {
    const std::lock_guard lock(mMutex);
    --mPausing;
}

size_t CallPacing::pausing() const {
    const std::lock_guard lock(mMutex);
    return mPausing;
}

}  // namespace halyard::hal
