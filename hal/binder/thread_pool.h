// SPDX-License-Identifier: Apache-2.0
//
// The threads that serve calls.

#pragma once

#include <pthread.h>

#include <atomic>
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
    bool stopping() const { return mStopping; }
    // Ends all threads and waits for them; not to be called on one of them.
    void stop();

  private:
    struct Start;
    static void* run(void* start);

    const std::function<void(ThreadRole)> mBody;
    const std::function<void()> mWake;
    std::atomic<bool> mStopping = false;
    std::mutex mMutex;
    std::vector<pthread_t> mThreads;
};

}  // namespace halyard::hal
