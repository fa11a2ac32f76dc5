// SPDX-License-Identifier: Apache-2.0
//
// The threads that serve calls.

#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace halyard::hal {

// ENTERED: started by the process itself. REGISTERED: asked for by the kernel.
enum class ThreadRole : uint8_t { ENTERED, REGISTERED };

// Thread-safe.
class BinderThreadPool {
  public:
    // `body` runs on every thread, and returns soon after `wake` was called and stopping() is true.
    BinderThreadPool(std::function<void(ThreadRole)> body, std::function<void()> wake)
        : mBody(std::move(body)), mWake(std::move(wake)) {}
    ~BinderThreadPool() { stop(); }
    BinderThreadPool(const BinderThreadPool&) = delete;
    BinderThreadPool& operator=(const BinderThreadPool&) = delete;

    // Does nothing once stop() was called. RESOURCE_EXHAUSTED if the system has no more threads.
    Status start(ThreadRole role);
    // Starts a REGISTERED thread for the kernel, which asks for each one only once: where there is
    // none to be had now, startOwed() makes up for it.
    Status startRequested();
    // Starts what startRequested() could not; does nothing if all were.
    Status startOwed();
    bool stopping() const { return mStopping; }
    // Ends all threads and waits for them; not to be called on one of them.
    void stop();

  private:
    struct Start;
    static void* run(void* start);

    const std::function<void(ThreadRole)> mBody;
    const std::function<void()> mWake;
    std::atomic<bool> mStopping = false;
    std::atomic<int> mOwed = 0;
    std::mutex mMutex;
    std::condition_variable mEnded;
    std::vector<pthread_t> mThreads;
    size_t mRunning = 0;  // that have not ended
};

}  // namespace halyard::hal
