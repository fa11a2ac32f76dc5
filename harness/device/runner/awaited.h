// SPDX-License-Identifier: Apache-2.0
//
// Waiting for what a service promised to call back, unless it dies first.

#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace halyard::runner {

// Whether a service still lives. Thread-safe.
class DeathWatch {
  public:
    void died() {
        const std::lock_guard lock(mMutex);
        mDied = true;
        mChanged.notify_all();
    }
    bool hasDied() const {
        const std::lock_guard lock(mMutex);
        return mDied;
    }

  private:
    template <typename T>
    friend class Awaited;

    mutable std::mutex mMutex;
    std::condition_variable mChanged;
    bool mDied = false;
};

// A value that arrives once, on another thread. Thread-safe.
template <typename T>
class Awaited {
  public:
    explicit Awaited(std::shared_ptr<DeathWatch> service) : mService(std::move(service)) {}

    // False if there is a value already.
    bool set(T value) {
        const std::lock_guard lock(mService->mMutex);
        if (mValue.has_value()) {
            return false;
        }
        mValue = std::move(value);
        mService->mChanged.notify_all();
        return true;
    }

    // Nothing if the service died, or if `timeout` passed.
    std::optional<T> wait(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
        std::unique_lock lock(mService->mMutex);
        const auto decided = [this] { return mValue.has_value() || mService->mDied; };
        if (timeout.has_value()) {
            mService->mChanged.wait_for(lock, *timeout, decided);
        } else {
            mService->mChanged.wait(lock, decided);
        }
        return mValue;
    }

  private:
    const std::shared_ptr<DeathWatch> mService;
    std::optional<T> mValue;
};

}  // namespace halyard::runner
