// SPDX-License-Identifier: Apache-2.0

#include "hal/descriptors/client_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ClientWorkers::Limits kLimits = {.perUser = 2, .all = 3, .patience = milliseconds(50)};
constexpr seconds kPatience{20};

// A job that a client holds until it lets go.
class Hold {
  public:
    void await() {
        std::unique_lock lock(mMutex);
        ++mWaiting;
        mChanged.notify_all();
        mChanged.wait(lock, [this] { return mReleased; });
    }
    bool isAwaitedBy(size_t count) {
        std::unique_lock lock(mMutex);
        return mChanged.wait_for(lock, kPatience, [&] { return mWaiting >= count; });
    }
    size_t waiting() {
        const std::lock_guard lock(mMutex);
        return mWaiting;
    }
    void release() {
        const std::lock_guard lock(mMutex);
        mReleased = true;
        mChanged.notify_all();
    }

  private:
    std::mutex mMutex;
    std::condition_variable mChanged;
    size_t mWaiting = 0;
    bool mReleased = false;
};

class Workers : public ::testing::Test {
  protected:
    ~Workers() override {
        hold->release();
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (workers.pending() > 0 && std::chrono::steady_clock::now() < end) {
        }
        EXPECT_EQ(workers.pending(), 0U);
    }

    void wait(ClientWorkers::Owner owner) {
        workers.run(owner, [held = hold] { held->await(); });
    }
    bool runs(ClientWorkers::Owner owner, milliseconds patience = kPatience) {
        return workers.runAndWait(
                owner, [] {}, patience);
    }

    std::shared_ptr<Hold> hold = std::make_shared<Hold>();
    ClientWorkers workers{kLimits};
};

TEST_F(Workers, ServeOthersWhileOneWaits) {
    wait({.pid = 1, .uid = 1});
    ASSERT_TRUE(hold->isAwaitedBy(1));
    for (int pid = 2; pid < 20; ++pid) {
        EXPECT_TRUE(runs({.pid = pid, .uid = 1}));
        EXPECT_TRUE(runs({.pid = pid, .uid = 2}));
    }
}

TEST_F(Workers, DoOneThingOfAnOwnerAfterTheOther) {
    std::vector<int> done;
    for (int i = 0; i < 100; ++i) {
        workers.run({.pid = 1, .uid = 1}, [&done, i] { done.push_back(i); });
    }
    ASSERT_TRUE(runs({.pid = 1, .uid = 1}));
    ASSERT_EQ(done.size(), 100U);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(done[static_cast<size_t>(i)], i);
    }
}

TEST_F(Workers, WhatIsStuckKeepsItsOwnerWaiting) {
    const ClientWorkers::Owner owner = {.pid = 1, .uid = 1};
    EXPECT_FALSE(workers.isStuck(owner));
    wait(owner);
    ASSERT_TRUE(hold->isAwaitedBy(1));
    EXPECT_FALSE(runs(owner, milliseconds(60)));
    EXPECT_TRUE(workers.isStuck(owner));
    EXPECT_FALSE(workers.isStuck({.pid = 2, .uid = 1}));
    hold->release();
    EXPECT_TRUE(runs(owner));
    EXPECT_FALSE(workers.isStuck(owner));
}

TEST_F(Workers, OneUserDoesNotTakeAllThreads) {
    for (int pid = 0; pid < 10; ++pid) {
        wait({.pid = pid, .uid = 1});
    }
    ASSERT_TRUE(hold->isAwaitedBy(2));
    EXPECT_TRUE(runs({.pid = 100, .uid = 2}));
    EXPECT_EQ(hold->waiting(), 2U);
    EXPECT_FALSE(runs({.pid = 101, .uid = 1}, milliseconds(20)));
}

TEST_F(Workers, AllTogetherHaveALimit) {
    for (int pid = 0; pid < 10; ++pid) {
        wait({.pid = pid, .uid = static_cast<uint32_t>(pid)});
    }
    ASSERT_TRUE(hold->isAwaitedBy(3));
    EXPECT_FALSE(runs({.pid = 100, .uid = 100}, milliseconds(20)));
    EXPECT_EQ(hold->waiting(), 3U);
}

TEST(WorkersAtTheirEnd, DoNotWaitForWhatIsStuck) {
    const auto hold = std::make_shared<Hold>();
    {
        ClientWorkers workers(kLimits);
        workers.run({.pid = 1, .uid = 1}, [hold] { hold->await(); });
        ASSERT_TRUE(hold->isAwaitedBy(1));
    }
    hold->release();
}

}  // namespace
}  // namespace halyard::hal
