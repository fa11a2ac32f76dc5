// SPDX-License-Identifier: Apache-2.0

#include "engine/base/long_work.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace halyard {
namespace {

using Clock = std::chrono::steady_clock;

// Linux has a nice value for each thread, by its own number; 0: the calling one.
int niceOf(pid_t thread) {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
}

bool setNice(pid_t thread, int nice) {
    return setpriority(PRIO_PROCESS, static_cast<id_t>(thread), nice) == 0;
}

pid_t threadId() {
    static thread_local const pid_t id = gettid();
    return id;
}

void* tryOut(void* may) {
    const int before = niceOf(0);
    *static_cast<bool*>(may) = setNice(0, before + 1) && setNice(0, before);
    return nullptr;
}

}  // namespace

bool threadsMayGiveWay() {
    bool may = false;
    pthread_t thread = {};
    if (pthread_create(&thread, nullptr, &tryOut, &may) != 0) {
        return false;
    }
    pthread_join(thread, nullptr);
    return may;
}

int niceOfThread() {
    return niceOf(0);
}

std::chrono::nanoseconds timeOfThread() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

GivesWay::GivesWay(int back) : mBack(back) {
    setNice(0, std::max(mBack, kGivingWay));
}

GivesWay::~GivesWay() {
    setNice(0, mBack);
}

LongWork::LongWork(bool mayGiveWay, const StopCondition* condition, bool atOnce)
    : mMayGiveWay(mayGiveWay),
      mCondition(condition),
      mOwner(pthread_self()),
      mStart(mayGiveWay ? timeOfThread() : std::chrono::nanoseconds()),
      mNextLook(Clock::now() + kShort) {
    if (mMayGiveWay && atOnce) {
        mIsLong.store(true, std::memory_order_relaxed);
        giveWay();
    }
}

LongWork::~LongWork() {
    const size_t count = std::min(mCount.load(std::memory_order_acquire), mThreads.size());
    for (size_t i = 0; i < count; ++i) {
        setNice(mThreads[i].id.load(std::memory_order_acquire), mThreads[i].before);
    }
}

std::chrono::nanoseconds LongWork::taken() const {
    return mMayGiveWay ? timeOfThread() - mStart : std::chrono::nanoseconds();
}

bool LongWork::holds() const {
    if (mMayGiveWay) {
        look();
    }
    return mCondition != nullptr && mCondition->holds();
}

void LongWork::look() const {
    if (mIsLong.load(std::memory_order_relaxed)) {
        giveWay();
        return;
    }
    if (pthread_equal(pthread_self(), mOwner) == 0) {
        return;
    }
    const Clock::time_point now = Clock::now();
    if (now < mNextLook) {
        return;
    }
    const std::chrono::nanoseconds time = taken();
    if (time < kShort) {
        mNextLook = now + (kShort - time);
        return;
    }
    mIsLong.store(true, std::memory_order_relaxed);
    giveWay();
}

void LongWork::giveWay() const {
    const pid_t self = threadId();
    const size_t count = std::min(mCount.load(std::memory_order_relaxed), mThreads.size());
    for (size_t i = 0; i < count; ++i) {
        if (mThreads[i].id.load(std::memory_order_relaxed) == self) {
            return;
        }
    }
    const int before = niceOf(0);
    if (count == mThreads.size()) {
        return;
    }
    const size_t own = mCount.fetch_add(1, std::memory_order_acq_rel);
    if (own < mThreads.size()) {
        mThreads[own].before = before;
        mThreads[own].id.store(self, std::memory_order_release);
        setNice(0, std::max(before, kGivingWay));
    }
}

}  // namespace halyard
