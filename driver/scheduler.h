// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: who may run, and when. Slots are shared by tasks that are posted, which run on the
// scheduler's threads, and by callers that enter with a thread of their own. Each belongs to a
// client's Share.
//
// A client that runs nothing gets a slot of its own at once, so that nobody's long work keeps the
// others waiting. Beyond that, a fixed number of slots is shared: a free one goes to the highest
// priority that waits, within one priority to the client that has the fewest and then to the one
// whose last turn is longest ago, and of one client to what came first.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "driver/execute/precedence.h"
#include "driver/model/codes.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Thread-safe.
class Scheduler {
  public:
    // `slots` >= 1 are shared; with those that clients have of their own there are `most` at once.
    // Threads are started as they are needed, one for each task that runs.
    explicit Scheduler(size_t slots, size_t most = 0);
    // Runs what is queued, then stops. Nobody waits in enter() any more; who has entered may stay.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // What one client has of the scheduler.
    class Share;
    // What enter() gives: a slot, given back at the end of its life. Movable.
    class Slot;

    std::shared_ptr<Share> makeShare();

    // Tasks and callers that wait for a slot just now.
    size_t waiting() const;

  private:
    struct Waiter;
    class WaiterList;
    struct Queue;
    const std::shared_ptr<Queue> mQueue;
};

// In order of arrival. Owns nothing.
class Scheduler::WaiterList {
  public:
    bool empty() const { return mFirst == nullptr; }
    Waiter& first() const { return *mFirst; }
    void append(Waiter& waiter);
    void remove(Waiter& waiter);

  private:
    Waiter* mFirst = nullptr;
    Waiter* mLast = nullptr;
};

// Thread-safe. Not to be used once the scheduler is gone.
class Scheduler::Share : public std::enable_shared_from_this<Share> {
  public:
    // Called exactly once: with OK on one of the scheduler's threads, where it has a slot; or with
    // the reason why it will never have one.
    using Task = std::function<void(const Status&)>;

    explicit Share(std::shared_ptr<Queue> queue);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // DEADLINE_EXCEEDED is what the task is told if the deadline passes while it waits.
    // RESOURCE_EXHAUSTED, returned: the system has no thread for it; the task has then not been
    // called and won't.
    Status post(Priority priority, const Deadline& deadline, Task task);

    // A slot if there is one just now; nothing otherwise. A task of this scheduler stays in its
    // own.
    std::optional<Slot> tryEnter();

    // Waits for a slot, for what the calling thread wants to run; allocates nothing.
    // DEADLINE_EXCEEDED once the deadline has passed without one.
    Result<Slot> enter(Priority priority, const Deadline& deadline);

    // All that waits is told `why`, tasks on the calling thread.
    void refuseWaiting(const Status& why);

    size_t waiting() const;
    size_t running() const;

  private:
    friend class Scheduler;
    const std::shared_ptr<Queue> mQueue;
    // Guarded by the queue's mutex.
    std::array<WaiterList, kPriorities> mWaiting;  // highest priority first
    size_t mWaitingCount = 0;
    size_t mRunning = 0;
    uint64_t mLastTurn = 0;
};

class Scheduler::Slot {
  public:
    Slot(Slot&& other) noexcept : mShare(std::exchange(other.mShare, nullptr)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot();

  private:
    friend class Share;
    explicit Slot(std::shared_ptr<Share> share) : mShare(std::move(share)) {}
    std::shared_ptr<Share> mShare;  // null: somebody else gives it back
};

}  // namespace halyard::driver
