// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: who may run, and when. A fixed number of slots is shared by tasks that are posted,
// which run on the scheduler's threads, and by callers that enter with a thread of their own. A
// free slot goes to the highest priority that waits and, within one priority, to who came first.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "driver/model/codes.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Thread-safe.
class Scheduler {
  public:
    // `slots` >= 1: as many threads are started. `capacity`: tasks that may wait at once.
    Scheduler(size_t slots, size_t capacity);
    // Runs what is queued, then stops. Nobody waits in enter() any more; who has entered may stay.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // RESOURCE_EXHAUSTED when the queue is full; the task has then not run and won't.
    Status post(Priority priority, std::function<void()> task);

    // What enter() gives: a slot, given back at the end of its life. Movable.
    class Slot;

    // A slot if one is free just now; nothing otherwise.
    std::optional<Slot> tryEnter();

    // Waits for a slot, for what the calling thread wants to run; allocates nothing. A task of this
    // scheduler stays in its own. DEADLINE_EXCEEDED once the deadline has passed without one.
    Result<Slot> enter(Priority priority, const Deadline& deadline);

    // Tasks and callers that wait for a slot just now.
    size_t waiting() const;

  private:
    struct Queue;
    struct State;
    std::unique_ptr<State> mState;
};

class Scheduler::Slot {
  public:
    Slot(Slot&& other) noexcept : mQueue(std::exchange(other.mQueue, nullptr)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot();

  private:
    friend class Scheduler;
    explicit Slot(std::shared_ptr<Queue> queue) : mQueue(std::move(queue)) {}
    std::shared_ptr<Queue> mQueue;  // null: somebody else gives it back
};

}  // namespace halyard::driver
