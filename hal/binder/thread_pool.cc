// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/thread_pool.h"

#include <chrono>
#include <cstring>
#include <memory>

namespace halyard::hal {

namespace {

constexpr std::chrono::milliseconds kWakeAgain{100};

}  // namespace

struct BinderThreadPool::Start {
    BinderThreadPool& pool;
    ThreadRole role;
};

void* BinderThreadPool::run(void* start) {
    const std::unique_ptr<Start> owned(static_cast<Start*>(start));
    BinderThreadPool& pool = owned->pool;
    pool.mBody(owned->role);
    const std::lock_guard lock(pool.mMutex);
    --pool.mRunning;
    pool.mEnded.notify_all();
    return nullptr;
}

Status BinderThreadPool::start(ThreadRole role) {
    std::lock_guard lock(mMutex);
    if (mStopping) {
        return {};
    }
    auto start = std::make_unique<Start>(Start{*this, role});
    pthread_t thread = {};
    // Not std::thread: that one has no way to fail but an exception.
    if (int error = pthread_create(&thread, nullptr, &run, start.get()); error != 0) {
        return {StatusCode::RESOURCE_EXHAUSTED,
                std::string("starting a binder thread: ") + std::strerror(error)};
    }
    static_cast<void>(start.release());
    mThreads.push_back(thread);
    ++mRunning;
    return {};
}

Status BinderThreadPool::startRequested() {
    ++mOwed;
    return startOwed();
}

Status BinderThreadPool::startOwed() {
    for (int owed = mOwed; owed > 0; owed = mOwed) {
        if (!mOwed.compare_exchange_strong(owed, owed - 1)) {
            continue;
        }
        if (Status started = start(ThreadRole::REGISTERED); !started.ok()) {
            ++mOwed;
            return started;
        }
    }
    return {};
}

void BinderThreadPool::stop() {
    std::vector<pthread_t> threads;
    {
        std::unique_lock lock(mMutex);
        mStopping = true;
        std::swap(threads, mThreads);
        // The driver wakes the threads that it knows. One that it does not know yet may be about to
        // wait, having found that it is still wanted.
        while (mRunning > 0) {
            lock.unlock();
            mWake();
            lock.lock();
            mEnded.wait_for(lock, kWakeAgain, [this] { return mRunning == 0; });
        }
    }
    for (pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
}

}  // namespace halyard::hal
