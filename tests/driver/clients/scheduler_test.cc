// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
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
        Scheduler scheduler(1);
        const auto share = scheduler.makeShare();
        Gate gate(*share);
        for (int i = 0; i < 3; ++i) {
            const auto append = [&order](int value) {
                return [&order, value](const Status& /*turn*/) { order.push_back(value); };
            };
            EXPECT_TRUE(share->post(Priority::LOW, {}, append(20 + i)).ok());
            EXPECT_TRUE(share->post(Priority::HIGH, {}, append(i)).ok());
            EXPECT_TRUE(share->post(Priority::MEDIUM, {}, append(10 + i)).ok());
        }
        gate.open();
    }
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 10, 11, 12, 20, 21, 22}));
}

TEST(Scheduler, RunsWhatIsQueuedBeforeItEnds) {
    std::atomic<int> ran = 0;
    {
        Scheduler scheduler(3);
        const auto share = scheduler.makeShare();
        for (int i = 0; i < 500; ++i) {
            EXPECT_TRUE(
                    share->post(Priority::MEDIUM, {}, [&](const Status& /*turn*/) { ++ran; }).ok());
        }
    }
    EXPECT_EQ(ran, 500);
}

TEST(Scheduler, MayBeEndedByOneOfItsOwnTasks) {
    auto scheduler = std::make_shared<Scheduler>(2);
    const auto share = scheduler->makeShare();
    const Awaited<bool> handedOver;
    const Awaited<bool> ended;
    const Status posted = share->post(
            Priority::MEDIUM, {}, [scheduler, handedOver, ended](const Status& /*turn*/) mutable {
                handedOver.get();
                scheduler.reset();  // the last reference
                ended.set(true);
            });
    EXPECT_TRUE(posted.ok());
    scheduler.reset();
    handedOver.set(true);
    EXPECT_TRUE(ended.get());
}

TEST(Scheduler, EndsOnceWhatWaitsIsRefused) {
    auto scheduler = std::make_unique<Scheduler>(1, 1);
    const auto share = scheduler->makeShare();
    const Result<Scheduler::Slot> slot = share->enter(Priority::LOW, std::nullopt);
    const Awaited<Status> told;
    EXPECT_TRUE(
            share->post(Priority::LOW, {}, [told](const Status& turn) { told.set(turn); }).ok());
    std::thread ending([&] { scheduler = nullptr; });
    // Until its threads have heard of the end, most likely.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    share->refuseWaiting({StatusCode::UNAVAILABLE, "gone"});
    ending.join();
    EXPECT_EQ(told.get().code(), StatusCode::UNAVAILABLE);
}

// Counts, when it goes, how many its share has running.
class LastLook {
  public:
    LastLook(std::shared_ptr<Scheduler::Share> share, Awaited<size_t> running)
        : mShare(std::move(share)), mRunning(std::move(running)) {}
    ~LastLook() { mRunning.set(mShare->running()); }
    LastLook(const LastLook&) = delete;
    LastLook& operator=(const LastLook&) = delete;

  private:
    const std::shared_ptr<Scheduler::Share> mShare;
    const Awaited<size_t> mRunning;
};

TEST(Scheduler, LetsGoOfATaskBeforeItsSlotIsGivenBack) {
    Scheduler scheduler(1);
    const auto share = scheduler.makeShare();
    const Awaited<size_t> running;
    EXPECT_TRUE(share->post(Priority::LOW, {},
                            [held = std::make_shared<LastLook>(share, running)](
                                    const Status& /*turn*/) {})
                        .ok());
    EXPECT_EQ(running.get(), 1U) << "what it holds must not add up";
}

TEST(Scheduler, LetsCallersInWhileSlotsAreFree) {
    Scheduler scheduler(2);
    const auto share = scheduler.makeShare();
    Result<Scheduler::Slot> first = share->enter(Priority::LOW, std::nullopt);
    const Result<Scheduler::Slot> second = share->enter(Priority::LOW, std::nullopt);
    EXPECT_TRUE(first.ok() && second.ok());
    const Deadline passed = std::chrono::steady_clock::time_point();
    EXPECT_EQ(share->enter(Priority::HIGH, passed).status().code(), StatusCode::DEADLINE_EXCEEDED);
    { const Scheduler::Slot givenBack = std::move(*first); }
    EXPECT_TRUE(share->enter(Priority::LOW, passed).ok()) << "it had not to wait";
}

TEST(Scheduler, IsBusyOnceWorkWaitsAndNoSharedSlotIsFree) {
    Scheduler scheduler(2, 8);
    const auto share = scheduler.makeShare();
    EXPECT_FALSE(scheduler.busy());
    std::optional<Scheduler::Slot> first = share->tryEnter();
    const std::optional<Scheduler::Slot> second = share->tryEnter();
    EXPECT_TRUE(first.has_value() && second.has_value());
    EXPECT_FALSE(scheduler.busy()) << "no work waits";
    const Awaited<bool> ran;
    EXPECT_TRUE(
            share->post(Priority::LOW, {}, [ran](const Status& /*turn*/) { ran.set(true); }).ok());
    EXPECT_TRUE(scheduler.busy());
    EXPECT_TRUE(scheduler.makeShare()->tryEnter().has_value()) << "other users have their own";
    first.reset();
    EXPECT_TRUE(ran.get());
    EXPECT_FALSE(scheduler.busy());
}

TEST(Scheduler, GivesSlotsToTasksAndCallersByPriorityAndThenByArrival) {
    std::vector<std::string> order;  // written by who has the only slot
    std::vector<std::thread> callers;
    {
        Scheduler scheduler(1);
        const auto share = scheduler.makeShare();
        Gate gate(*share);
        const auto call = [&](Priority priority, const std::string& name) {
            callers.emplace_back([&, priority, name] {
                const Result<Scheduler::Slot> slot = share->enter(priority, std::nullopt);
                EXPECT_TRUE(slot.ok());
                order.push_back(name);
            });
        };
        const auto post = [&](Priority priority, const std::string& name) {
            EXPECT_TRUE(share->post(priority, {}, [&order, name](const Status& /*turn*/) {
                                 order.push_back(name);
                             }).ok());
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
        Scheduler scheduler(1);
        const auto share = scheduler.makeShare();
        Gate gate(*share);
        EXPECT_TRUE(share->post(Priority::LOW, {}, [&](const Status& /*turn*/) {
                             order.push_back(1);
                         }).ok());
        const Status status = share->enter(Priority::LOW, std::chrono::steady_clock::now() +
                                                                  std::chrono::milliseconds(1))
                                      .status();
        EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
        EXPECT_TRUE(share->post(Priority::LOW, {}, [&](const Status& /*turn*/) {
                             order.push_back(2);
                         }).ok());
        EXPECT_EQ(scheduler.waiting(), 2U);
        gate.open();
    }
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Scheduler, AllocatesNothingForACallerThatWaits) {
    Scheduler scheduler(1);
    const auto share = scheduler.makeShare();
    Gate gate(*share);
    std::thread caller([&] {
        const size_t before = engine::allocationCount();
        const bool entered = share->enter(Priority::HIGH, std::nullopt).ok();
        EXPECT_EQ(engine::allocationCount(), before);
        EXPECT_TRUE(entered);
    });
    awaitWaiting(scheduler, 1);
    gate.open();
    caller.join();
}

TEST(Scheduler, LetsATaskEnterWithTheSlotItHas) {
    const Awaited<bool> entered;
    Scheduler scheduler(1);
    const auto share = scheduler.makeShare();
    EXPECT_TRUE(share->post(Priority::LOW, {}, [&](const Status& /*turn*/) {
                         entered.set(share->enter(Priority::LOW, std::nullopt).ok());
                     }).ok());
    EXPECT_TRUE(entered.get());
}

// ---- clients ------------------------------------------------------------------------------------

// Occupies as many slots as it is told, until it goes.
class Hog {
  public:
    Hog(Scheduler::Share& share, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            mGates.push_back(std::make_unique<Gate>(share));
        }
    }
    ~Hog() {
        for (const std::unique_ptr<Gate>& gate : mGates) {
            gate->open();
        }
    }
    void release() {
        mGates.back()->open();
        mGates.pop_back();
    }

  private:
    std::vector<std::unique_ptr<Gate>> mGates;
};

TEST(SchedulerClients, RunAtOnceWhereTheyRunNothingYet) {
    Scheduler scheduler(2, 4);
    const auto greedy = scheduler.makeShare();
    const Hog hog(*greedy, 2);
    const Awaited<Status> more;
    EXPECT_TRUE(
            greedy->post(Priority::HIGH, {}, [more](const Status& turn) { more.set(turn); }).ok());
    const auto modest = scheduler.makeShare();
    const Awaited<Status> ran;
    EXPECT_TRUE(modest->post(Priority::LOW, {}, [ran](const Status& turn) { ran.set(turn); }).ok());
    EXPECT_TRUE(ran.get().ok()) << "it waits for no other";
    while (modest->running() > 0) {
        std::this_thread::yield();  // a task that has told still has its slot for a moment
    }
    const Deadline passed = std::chrono::steady_clock::time_point();
    EXPECT_TRUE(modest->enter(Priority::LOW, passed).ok()) << "nor does a caller";
    EXPECT_EQ(more.count(), 0) << "who has slots waits for one of those that are shared";
    EXPECT_EQ(greedy->running(), 2U);
    EXPECT_EQ(greedy->waiting(), 1U);
    EXPECT_EQ(modest->waiting(), 0U);
}

TEST(SchedulerClients, HaveNoMoreSlotsOfTheirOwnThanThereAreAtMost) {
    Scheduler scheduler(1, 2);
    const Deadline passed = std::chrono::steady_clock::time_point();
    const auto first = scheduler.makeShare();
    const auto second = scheduler.makeShare();
    const auto third = scheduler.makeShare();
    const auto slotOfFirst = first->enter(Priority::LOW, passed);
    {
        const auto slotOfSecond = second->enter(Priority::LOW, passed);
        EXPECT_TRUE(slotOfFirst.ok() && slotOfSecond.ok());
        EXPECT_EQ(third->enter(Priority::HIGH, passed).status().code(),
                  StatusCode::DEADLINE_EXCEEDED);
    }
    EXPECT_TRUE(third->enter(Priority::LOW, passed).ok());
}

TEST(SchedulerClients, OfOneUserTakeTurnsWithinAPriority) {
    std::vector<std::string> order;  // written with the only slot
    {
        Scheduler scheduler(1, 1);
        const auto user = scheduler.makeGroup();
        const auto a = user->makeShare();
        const auto b = user->makeShare();
        const auto c = user->makeShare();
        Gate gate(*c);
        const auto post = [&](const std::shared_ptr<Scheduler::Share>& share, Priority priority,
                              const std::string& name) {
            EXPECT_TRUE(share->post(priority, {}, [&order, name](const Status& /*turn*/) {
                                 order.push_back(name);
                             }).ok());
        };
        for (const char* number : {"1", "2", "3"}) {
            post(a, Priority::MEDIUM, std::string("a") + number);
        }
        post(b, Priority::MEDIUM, "b1");
        post(b, Priority::MEDIUM, "b2");
        post(c, Priority::MEDIUM, "c1");
        post(b, Priority::HIGH, "b first");
        gate.open();
    }
    EXPECT_EQ(order, (std::vector<std::string>{"b first", "a1", "c1", "b1", "a2", "b2", "a3"}));
}

TEST(SchedulerClients, WithFewestRunningComeFirst) {
    std::mutex mutex;
    std::vector<std::string> order;  // written by several threads
    {
        Scheduler scheduler(3, 3);
        const auto many = scheduler.makeShare();
        const auto one = scheduler.makeShare();
        Hog two(*many, 2);
        Hog single(*one, 1);
        const Awaited<bool> done;
        const auto note = [&mutex, &order, done](const char* name) {
            return [&mutex, &order, done, name](const Status& /*turn*/) {
                {
                    const std::lock_guard lock(mutex);
                    order.emplace_back(name);
                }
                done.set(true);
            };
        };
        EXPECT_TRUE(many->post(Priority::LOW, {}, note("many")).ok());
        EXPECT_TRUE(one->post(Priority::LOW, {}, note("one")).ok());
        two.release();  // both have one now, and this one was served last
        done.get();
        const std::lock_guard lock(mutex);
        EXPECT_EQ(order.front(), "many") << "of equals, who was served longest ago";
    }
}

TEST(SchedulerClients, WithFewestRunningComeFirstThoughTheyWereServedLast) {
    std::mutex mutex;
    std::vector<std::string> order;  // written by several threads
    {
        Scheduler scheduler(4, 4);
        const auto many = scheduler.makeShare();
        const auto one = scheduler.makeShare();
        const Hog two(*many, 2);
        auto single = std::make_unique<Hog>(*one, 1);
        auto last = std::make_unique<Hog>(*one, 1);
        const Awaited<bool> done;
        const auto note = [&mutex, &order, done](const char* name) {
            return [&mutex, &order, done, name](const Status& /*turn*/) {
                {
                    const std::lock_guard lock(mutex);
                    order.emplace_back(name);
                }
                done.set(true);
            };
        };
        EXPECT_TRUE(many->post(Priority::LOW, {}, note("many")).ok());
        EXPECT_TRUE(one->post(Priority::LOW, {}, note("one")).ok());
        last = nullptr;  // one has one left, and was served after many was
        done.get();
        {
            const std::lock_guard lock(mutex);
            EXPECT_EQ(order.front(), "one");
        }
        single = nullptr;
    }
}

// ---- users --------------------------------------------------------------------------------------

TEST(SchedulerUsers, HaveNoMoreSlotsForAsManyClientsAsTheyHave) {
    Scheduler scheduler({.shared = 2, .group = 4, .newClients = 6, .newGroups = 8});
    const Deadline passed = std::chrono::steady_clock::time_point();
    std::vector<Scheduler::Slot> slots;
    const auto enter = [&](Scheduler::Group& user) {
        Result<Scheduler::Slot> slot = user.makeShare()->enter(Priority::HIGH, passed);
        if (slot.ok()) {
            slots.push_back(std::move(*slot));
        }
        return slot.ok();
    };
    const auto many = scheduler.makeGroup();
    for (int i = 0; i < 40; ++i) {
        enter(*many);
    }
    EXPECT_EQ(many->running(), 4U);
    const auto more = scheduler.makeGroup();
    for (int i = 0; i < 40; ++i) {
        enter(*more);
    }
    EXPECT_EQ(more->running(), 2U) << "the others are for users of whom nothing runs";
    const auto first = scheduler.makeGroup();
    EXPECT_TRUE(enter(*first));
    EXPECT_FALSE(enter(*first)) << "once";
    EXPECT_TRUE(enter(*scheduler.makeGroup()));
    EXPECT_FALSE(enter(*scheduler.makeGroup())) << "eight in all";
}

TEST(SchedulerUsers, LetAClientThatRunsNothingHaveASlotBesideAnotherOfTheirs) {
    Scheduler scheduler({.shared = 2, .group = 4, .newClients = 6, .newGroups = 8});
    const auto user = scheduler.makeGroup();
    const auto greedy = user->makeShare();
    const Hog hog(*greedy, 2);
    const Deadline passed = std::chrono::steady_clock::time_point();
    EXPECT_FALSE(greedy->enter(Priority::HIGH, passed).ok());
    EXPECT_TRUE(user->makeShare()->enter(Priority::LOW, passed).ok());
}

TEST(SchedulerUsers, TakeTurnsWhateverTheirPriorities) {
    std::vector<std::string> order;  // written with the only slot
    {
        Scheduler scheduler(1, 1);
        const auto user = scheduler.makeGroup();
        const auto a = user->makeShare();
        const auto b = user->makeShare();
        const auto other = scheduler.makeShare();
        Gate gate(*other);
        const auto post = [&](const std::shared_ptr<Scheduler::Share>& share, Priority priority,
                              const std::string& name) {
            EXPECT_TRUE(share->post(priority, {}, [&order, name](const Status& /*turn*/) {
                                 order.push_back(name);
                             }).ok());
        };
        post(a, Priority::LOW, "a low");
        post(a, Priority::MEDIUM, "a 1");
        post(a, Priority::MEDIUM, "a 2");
        post(b, Priority::MEDIUM, "b 1");
        post(b, Priority::HIGH, "b high");
        post(other, Priority::LOW, "other 1");
        post(other, Priority::LOW, "other 2");
        gate.open();
    }
    EXPECT_EQ(order, (std::vector<std::string>{"b high", "other 1", "a 1", "other 2", "b 1", "a 2",
                                               "a low"}));
}

TEST(SchedulerUsers, WithFewestRunningComeFirstHoweverManyClientsOthersHave) {
    Scheduler scheduler(4, 4);
    const auto many = scheduler.makeGroup();
    const auto one = scheduler.makeShare();
    std::vector<std::shared_ptr<Scheduler::Share>> processes;
    std::vector<std::unique_ptr<Hog>> hogs;
    for (int i = 0; i < 3; ++i) {
        processes.push_back(many->makeShare());
        hogs.push_back(std::make_unique<Hog>(*processes.back(), 1));
    }
    const Hog single(*one, 1);  // served last
    const Awaited<bool> ran;
    const Awaited<bool> go;
    const Awaited<bool> waited;
    const auto newcomer = many->makeShare();  // runs nothing, but its user does
    EXPECT_TRUE(newcomer->post(Priority::HIGH, {},
                               [waited](const Status& /*turn*/) { waited.set(true); })
                        .ok());
    EXPECT_TRUE(one->post(Priority::LOW, {}, [ran, go](const Status& /*turn*/) {
                       ran.set(true);
                       go.get();
                   }).ok());
    hogs.pop_back();
    EXPECT_TRUE(ran.get());
    EXPECT_EQ(waited.count(), 0);
    go.set(true);
    EXPECT_TRUE(waited.get());
}

TEST(SchedulerDeadlines, FireForTasksThatWait) {
    Scheduler scheduler(1);
    const auto share = scheduler.makeShare();
    const Hog hog(*share, 1);
    const Awaited<Status> late;
    const Awaited<Status> patient;
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    EXPECT_TRUE(
            share->post(Priority::LOW, soon + std::chrono::hours(1), [patient](const Status& turn) {
                     patient.set(turn);
                 }).ok());
    EXPECT_TRUE(
            share->post(Priority::LOW, soon, [late](const Status& turn) { late.set(turn); }).ok());
    EXPECT_EQ(late.get().code(), StatusCode::DEADLINE_EXCEEDED) << "while the slot is taken";
    EXPECT_GE(std::chrono::steady_clock::now(), soon);
    EXPECT_EQ(late.count(), 1);
    EXPECT_EQ(patient.count(), 0);
    EXPECT_EQ(share->waiting(), 1U);
}

TEST(SchedulerDeadlines, FireInTheOrderOfTheirTimesWhicheverCameFirst) {
    Scheduler scheduler(1);
    const auto share = scheduler.makeShare();
    const Hog hog(*share, 1);
    const auto post = [&](std::chrono::milliseconds after, const Awaited<Status>& told) {
        EXPECT_TRUE(share->post(Priority::LOW, std::chrono::steady_clock::now() + after,
                                [told](const Status& turn) { told.set(turn); })
                            .ok());
        // Until the thread that looks at the clock waits for it, most likely.
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    };
    const Awaited<Status> first;
    const Awaited<Status> patient;
    const Awaited<Status> late;
    post(std::chrono::milliseconds(1), first);
    EXPECT_EQ(first.get().code(), StatusCode::DEADLINE_EXCEEDED);
    post(std::chrono::hours(1), patient);
    post(std::chrono::milliseconds(1), late);
    EXPECT_EQ(late.get().code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(patient.count(), 0);
}

TEST(SchedulerDeadlines, FireForTasksWhoseClientIsGone) {
    Scheduler scheduler(1);
    const auto busy = scheduler.makeShare();
    Gate gate(*busy);
    auto leaving = scheduler.makeShare();
    const Awaited<Status> told;
    EXPECT_TRUE(leaving->post(Priority::LOW,
                              std::chrono::steady_clock::now() + std::chrono::milliseconds(1),
                              [told](const Status& turn) { told.set(turn); })
                        .ok());
    leaving = nullptr;  // the task is the last to hold it
    EXPECT_EQ(told.get().code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(scheduler.waiting(), 0U);
    EXPECT_EQ(busy->running(), 1U) << "and the others are served on";
    gate.open();
}

TEST(SchedulerClients, ThatAreRefusedHaveNothingWaitingAnyMore) {
    const Status gone(StatusCode::UNAVAILABLE, "gone");
    Scheduler scheduler(1, 1);
    const auto leaving = scheduler.makeShare();
    const auto staying = scheduler.makeShare();
    auto hog = std::make_unique<Hog>(*leaving, 1);
    std::vector<Awaited<Status>> told(3);
    for (size_t i = 0; i < told.size(); ++i) {
        const auto priority = static_cast<Priority>(i);
        const Deadline deadline =
                i == 1 ? Deadline(std::chrono::steady_clock::now() + std::chrono::hours(1))
                       : Deadline();
        EXPECT_TRUE(leaving->post(priority, deadline,
                                  [answer = told[i]](const Status& turn) { answer.set(turn); })
                            .ok());
    }
    Status caller;
    std::thread thread([&] { caller = leaving->enter(Priority::LOW, std::nullopt).status(); });
    const Awaited<Status> other;
    EXPECT_TRUE(staying->post(Priority::LOW, {}, [other](const Status& turn) { other.set(turn); })
                        .ok());
    awaitWaiting(scheduler, 5);
    leaving->refuseWaiting(gone);
    thread.join();
    EXPECT_EQ(caller.code(), StatusCode::UNAVAILABLE);
    for (const Awaited<Status>& answer : told) {
        EXPECT_EQ(answer.get().code(), StatusCode::UNAVAILABLE);
        EXPECT_EQ(answer.count(), 1);
    }
    EXPECT_EQ(scheduler.waiting(), 1U) << "what others wait for stays";
    hog = nullptr;
    EXPECT_TRUE(other.get().ok());
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
        Scheduler scheduler(kSlots);
        const auto share = scheduler.makeShare();
        std::vector<std::thread> threads;
        for (int i = 0; i < 6; ++i) {
            threads.emplace_back([&, i] {
                for (int round = 0; round < 200; ++round) {
                    const auto priority = static_cast<Priority>((i + round) % 3);
                    if ((i + round) % 2 == 0) {
                        EXPECT_TRUE(share->post(priority, {}, [&](const Status& /*turn*/) {
                                             work();
                                         }).ok());
                    } else {
                        const auto slot = share->enter(priority, std::nullopt);
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
