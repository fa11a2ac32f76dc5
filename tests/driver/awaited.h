// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace halyard::driver {

// A value that one thread waits for and another sets, and how often it was set. Copies share it, so
// that a callback may still be at work on its copy when the waiting thread has gone on.
template <typename T>
class Awaited {
  public:
    void set(T value) const {
        const std::lock_guard lock(mState->mutex);
        mState->value = std::move(value);
        ++mState->count;
        mState->changed.notify_all();
    }
    // A test that waits for what never comes fails, and goes on with an empty value.
    T get() const {
        constexpr std::chrono::minutes kPatience(2);
        std::unique_lock lock(mState->mutex);
        EXPECT_TRUE(mState->changed.wait_for(lock, kPatience, [this] { return mState->count > 0; }))
                << "it was never set";
        return mState->value;
    }
    int count() const {
        const std::lock_guard lock(mState->mutex);
        return mState->count;
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        T value{};
        int count = 0;
    };
    std::shared_ptr<State> mState = std::make_shared<State>();
};

}  // namespace halyard::driver
