// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>

#include "driver/clients/scheduler.h"
#include "tests/driver/awaited.h"

namespace halyard::driver {

// Keeps one slot of a client's busy until told to go on.
class Gate {
  public:
    explicit Gate(Scheduler::Share& share) {
        const Awaited<bool> reached;
        const Status posted =
                share.post(Priority::HIGH, {}, [reached, open = mOpen](const Status& /*turn*/) {
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

// Returns once that many tasks and callers wait.
inline void awaitWaiting(const Scheduler& scheduler, size_t count) {
    while (scheduler.waiting() < count) {
        std::this_thread::yield();
    }
}

}  // namespace halyard::driver
