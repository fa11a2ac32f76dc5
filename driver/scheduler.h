// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: the threads that run what clients asked for asynchronously, in order of priority and,
// within one priority, of arrival.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "driver/model/codes.h"
#include "engine/base/status.h"

namespace halyard::driver {

class Scheduler {
  public:
    // `threads` >= 1. `capacity`: tasks that may wait at once.
    Scheduler(size_t threads, size_t capacity);
    // Runs what is queued, then stops.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // RESOURCE_EXHAUSTED when the queue is full; the task has then not run and won't.
    Status post(Priority priority, std::function<void()> task);

  private:
    struct State;
    std::unique_ptr<State> mState;
};

}  // namespace halyard::driver
