// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/thread_pool.h"

#include <cstring>
#include <memory>

namespace halyard::hal {

struct BinderThreadPool::Start {
    BinderThreadPool& pool;
    ThreadRole role;
};

void* BinderThreadPool::run(void* start) {
    const std::unique_ptr<Start> owned(static_cast<Start*>(start));
    owned->pool.mBody(owned->role);
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
    return {};
}

void BinderThreadPool::stop() {
    std::vector<pthread_t> threads;
    {
        std::lock_guard lock(mMutex);
        mStopping = true;
        std::swap(threads, mThreads);
    }
    if (threads.empty()) {
        return;
    }
    mWake();
    for (pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
}

}  // namespace halyard::hal
