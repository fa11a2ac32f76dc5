// SPDX-License-Identifier: Apache-2.0

#include "engine/base/long_work.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace halyard {
namespace {

using std::chrono::milliseconds;

class LongWorkTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!threadsMayGiveWay()) {
            GTEST_SKIP() << "threads of this process get no nice value back";
        }
    }
    // On a thread of its own, so that others' nice values are not those of the tests.
    template <typename Body>
    static void onThread(Body body) {
        std::thread(body).join();
    }
    static void compute(milliseconds time) {
        const auto end = timeOfThread() + time;
        while (timeOfThread() < end) {
        }
    }
};

TEST_F(LongWorkTest, GivesWayOnceItHasComputedForLongUntilItsEnd) {
    onThread([] {
        const int before = niceOfThread();
        {
            const LongWork work(true);
            EXPECT_FALSE(work.holds());
            EXPECT_EQ(niceOfThread(), before);
            compute(LongWork::kShort + milliseconds(5));
            EXPECT_FALSE(work.holds());
            EXPECT_EQ(niceOfThread(), kGivingWay);
            EXPECT_GE(work.taken(), LongWork::kShort);
        }
        EXPECT_EQ(niceOfThread(), before);
    });
}

TEST_F(LongWorkTest, DoesNotGiveWayForHavingWaited) {
    onThread([] {
        const int before = niceOfThread();
        const LongWork work(true);
        std::this_thread::sleep_for(LongWork::kShort + milliseconds(10));
        EXPECT_FALSE(work.holds());
        EXPECT_EQ(niceOfThread(), before);
    });
}

TEST_F(LongWorkTest, GivesWayOnAllThreadsThatAskItAndGivesThemBackWhatTheyHad) {
    onThread([] {
        int during = 0;
        int after = 0;
        const int before = niceOfThread();
        bool asked = false;
        bool ended = false;
        std::mutex mutex;
        std::condition_variable changed;
        const auto await = [&](const bool& flag) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return flag; });
        };
        const auto set = [&](bool& flag) {
            const std::lock_guard lock(mutex);
            flag = true;
            changed.notify_all();
        };
        std::thread worker;
        {
            const LongWork work(true);
            compute(LongWork::kShort + milliseconds(5));
            EXPECT_FALSE(work.holds());
            worker = std::thread([&] {
                // As a worker that stays: it has the nice value of the process.
                setpriority(PRIO_PROCESS, 0, before);
                EXPECT_FALSE(work.holds());
                EXPECT_FALSE(work.holds());
                during = niceOfThread();
                set(asked);
                await(ended);
                after = niceOfThread();
            });
            await(asked);
        }
        set(ended);
        worker.join();
        EXPECT_EQ(during, kGivingWay);
        EXPECT_EQ(after, before);
    });
}

TEST_F(LongWorkTest, GivesWayFromTheStartWhereItIsTold) {
    onThread([] {
        const int before = niceOfThread();
        {
            const LongWork work(true, nullptr, true);
            EXPECT_EQ(niceOfThread(), kGivingWay);
        }
        EXPECT_EQ(niceOfThread(), before);
    });
}

TEST_F(LongWorkTest, DoesNothingWhereThreadsMayNotGiveWay) {
    onThread([] {
        const int before = niceOfThread();
        const LongWork work(false, nullptr, true);
        compute(LongWork::kShort + milliseconds(5));
        EXPECT_FALSE(work.holds());
        EXPECT_EQ(niceOfThread(), before);
    });
}

class Holding final : public StopCondition {
  public:
    bool holds() const override { return true; }
};

TEST(LongWork, HoldsWhereItsConditionDoes) {
    const Holding condition;
    EXPECT_TRUE(LongWork(false, &condition).holds());
    EXPECT_FALSE(LongWork(false).holds());
}

}  // namespace
}  // namespace halyard
