// SPDX-License-Identifier: Apache-2.0

#include "driver/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/driver/awaited.h"

namespace halyard::driver {
namespace {

// Keeps the only thread of a scheduler busy until told to go on.
class Gate {
  public:
    explicit Gate(Scheduler& scheduler) {
        const Awaited<bool> reached;
        const Status posted = scheduler.post(Priority::HIGH, [reached, open = mOpen] {
            reached.set(true);
            open.get();
        });
        EXPECT_TRUE(posted.ok());
        reached.get();
    }
    void open() { mOpen.set(true); }

  private:
    Awaited<bool> mOpen;
};

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

}  // namespace
}  // namespace halyard::driver
