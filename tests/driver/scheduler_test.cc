// SPDX-License-Identifier: Apache-2.0

#include "driver/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/driver/awaited.h"
#include "tests/driver/gate.h"
#include "tests/engine/allocation_count.h"

namespace halyard::driver {
namespace {

TEST(Scheduler, RunsHigherPrioritiesFirstAndOneByOneInOrderOfArrival) {
    std::vector<int> order;
    {
        Scheduler scheduler(1, 100);
        Gate gate(scheduler);
        for (int i = 0; i < 3; ++i) {
            const auto append = [&order](int value) {
                return [&order, value] { order.push_back(value); };
            };
            EXPECT_TRUE(scheduler.post(Priority::LOW, append(20 + i)).ok());
            EXPECT_TRUE(scheduler.post(Priority::HIGH, append(i)).ok());
            EXPECT_TRUE(scheduler.post(Priority::MEDIUM, append(10 + i)).ok());
        }
        gate.open();
    }
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 10, 11, 12, 20, 21, 22}));
}

TEST(Scheduler, RefusesWhatItsQueueCannotHold) {
    std::atomic<int> ran = 0;
    {
        Scheduler scheduler(1, 2);
        Gate gate(scheduler);
        EXPECT_TRUE(scheduler.post(Priority::LOW, [&] { ++ran; }).ok());
        EXPECT_TRUE(scheduler.post(Priority::HIGH, [&] { ++ran; }).ok());
        EXPECT_EQ(scheduler.post(Priority::HIGH, [&] { ran = 100; }).code(),
                  StatusCode::RESOURCE_EXHAUSTED);
        gate.open();
    }
    EXPECT_EQ(ran, 2);
}

TEST(Scheduler, RunsWhatIsQueuedBeforeItEnds) {
    std::atomic<int> ran = 0;
    {
        Scheduler scheduler(3, 1000);
        for (int i = 0; i < 500; ++i) {
            EXPECT_TRUE(scheduler.post(Priority::MEDIUM, [&] { ++ran; }).ok());
        }
    }
    EXPECT_EQ(ran, 500);
}

TEST(Scheduler, MayBeEndedByOneOfItsOwnTasks) {
    auto scheduler = std::make_shared<Scheduler>(2, 10);
    const Awaited<bool> handedOver;
    const Awaited<bool> ended;
    const Status posted =
            scheduler->post(Priority::MEDIUM, [scheduler, handedOver, ended]() mutable {
                handedOver.get();
                scheduler.reset();  // the last reference
                ended.set(true);
            });
    EXPECT_TRUE(posted.ok());
    scheduler.reset();
    handedOver.set(true);
    EXPECT_TRUE(ended.get());
}

TEST(Scheduler, LetsCallersInWhileSlotsAreFree) {
    Scheduler scheduler(2, 10);
    Result<Scheduler::Slot> first = scheduler.enter(Priority::LOW, std::nullopt);
    const Result<Scheduler::Slot> second = scheduler.enter(Priority::LOW, std::nullopt);
    EXPECT_TRUE(first.ok() && second.ok());
    const Deadline passed = std::chrono::steady_clock::time_point();
    EXPECT_EQ(scheduler.enter(Priority::HIGH, passed).status().code(),
              StatusCode::DEADLINE_EXCEEDED);
    { const Scheduler::Slot givenBack = std::move(*first); }
    EXPECT_TRUE(scheduler.enter(Priority::LOW, passed).ok()) << "it had not to wait";
}

TEST(Scheduler, GivesSlotsToTasksAndCallersByPriorityAndThenByArrival) {
    std::vector<std::string> order;  // written by who has the only slot
    std::vector<std::thread> callers;
    {
        Scheduler scheduler(1, 100);
        Gate gate(scheduler);
        const auto call = [&](Priority priority, const std::string& name) {
            callers.emplace_back([&, priority, name] {
                const Result<Scheduler::Slot> slot = scheduler.enter(priority, std::nullopt);
                EXPECT_TRUE(slot.ok());
                order.push_back(name);
            });
        };
        const auto post = [&](Priority priority, const std::string& name) {
            EXPECT_TRUE(scheduler.post(priority, [&order, name] { order.push_back(name); }).ok());
        };
        size_t count = 0;
        for (const Priority priority : {Priority::LOW, Priority::MEDIUM, Priority::HIGH}) {
            const std::string name = std::to_string(static_cast<int>(priority));
            call(priority, name + " called first");
            awaitWaiting(scheduler, ++count);
            post(priority, name + " posted second");
            ++count;
            call(priority, name + " called third");
            awaitWaiting(scheduler, ++count);
        }
        gate.open();
        for (std::thread& caller : callers) {
            caller.join();
        }
    }
    std::vector<std::string> expected;
    for (const Priority priority : {Priority::HIGH, Priority::MEDIUM, Priority::LOW}) {
        for (const char* what : {" called first", " posted second", " called third"}) {
            expected.push_back(std::to_string(static_cast<int>(priority)) + what);
        }
    }
    EXPECT_EQ(order, expected);
}

TEST(Scheduler, ForgetsACallerWhoseDeadlinePassedWhileItWaited) {
    std::vector<int> order;
    {
        Scheduler scheduler(1, 10);
        Gate gate(scheduler);
        EXPECT_TRUE(scheduler.post(Priority::LOW, [&] { order.push_back(1); }).ok());
        const Status status = scheduler
                                      .enter(Priority::LOW, std::chrono::steady_clock::now() +
                                                                    std::chrono::milliseconds(1))
                                      .status();
        EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
        EXPECT_TRUE(scheduler.post(Priority::LOW, [&] { order.push_back(2); }).ok());
        EXPECT_EQ(scheduler.waiting(), 2U);
        gate.open();
    }
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Scheduler, AllocatesNothingForACallerThatWaits) {
    Scheduler scheduler(1, 10);
    Gate gate(scheduler);
    std::thread caller([&] {
        const size_t before = engine::allocationCount();
        const bool entered = scheduler.enter(Priority::HIGH, std::nullopt).ok();
        EXPECT_EQ(engine::allocationCount(), before);
        EXPECT_TRUE(entered);
    });
    awaitWaiting(scheduler, 1);
    gate.open();
    caller.join();
}

TEST(Scheduler, LetsATaskEnterWithTheSlotItHas) {
    const Awaited<bool> entered;
    Scheduler scheduler(1, 10);
    EXPECT_TRUE(
            scheduler
                    .post(Priority::LOW,
                          [&] { entered.set(scheduler.enter(Priority::LOW, std::nullopt).ok()); })
                    .ok());
    EXPECT_TRUE(entered.get());
}

TEST(Scheduler, SharesItsSlotsAmongManyTasksAndCallers) {
    constexpr int kSlots = 3;
    std::atomic<int> running = 0;
    std::atomic<int> ran = 0;
    std::atomic<bool> tooMany = false;
    const auto work = [&] {
        tooMany = tooMany || ++running > kSlots;
        std::this_thread::yield();
        --running;
        ++ran;
    };
    {
        Scheduler scheduler(kSlots, 10'000);
        std::vector<std::thread> threads;
        for (int i = 0; i < 6; ++i) {
            threads.emplace_back([&, i] {
                for (int round = 0; round < 200; ++round) {
                    const auto priority = static_cast<Priority>((i + round) % 3);
                    if ((i + round) % 2 == 0) {
                        EXPECT_TRUE(scheduler.post(priority, work).ok());
                    } else {
                        const auto slot = scheduler.enter(priority, std::nullopt);
                        EXPECT_TRUE(slot.ok());
                        work();
                    }
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    EXPECT_EQ(ran, 1200);
    EXPECT_FALSE(tooMany);
}

}  // namespace
}  // namespace halyard::driver
