// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: which tasks and callers may run, and when. Slots are shared by tasks that are posted,
// which run on the scheduler's threads, and by callers that enter with a thread of their own. Each
// belongs to a client's Share.
//
// A user of whom nothing runs gets a slot at once, so that long work of one user does not delay the
// others; so does, up to lower limits, a client that runs nothing while others of its user do.
// Beyond that, a fixed number of slots is shared. A free slot goes to the user with the fewest
// slots, then to the least recently served; among one user's clients to the highest priority that
// waits, then to the client with the fewest slots, then to the least recently served; within one
// client in order of arrival. NNAPI lets priorities count among the models of one user only, so
// they never let one user pass another.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "driver/clients/precedence.h"
#include "driver/model/codes.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Thread-safe.
class Scheduler {
  public:
    // How many slots are taken at once: each number is of all that are, but for `group`.
    struct Limits {
        size_t shared = 1;      // >= 1
        size_t group = 0;       // of one user: where a client that runs nothing gets no more
        size_t newClients = 0;  // where such a client gets none, if others of its user run
        size_t newGroups = 0;   // where no user gets any
    };
    // Threads are started as they are needed, one for each task that runs.
    explicit Scheduler(const Limits& limits);
    // `slots` are shared; users have slots of their own up to `most`.
    explicit Scheduler(size_t slots, size_t most = 0)
        : Scheduler(Limits{.shared = slots, .newGroups = most}) {}
    // Runs what is queued, then stops. No thread is in enter(); slots that were given stay valid.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // The slots and waiters of one user's clients.
    class Group;
    // The slots and waiters of one client.
    class Share;
    // A slot, as enter() gives it; given back by its destructor. Movable.
    class Slot;

    std::shared_ptr<Group> makeGroup();
    // Of a user who has no other.
    std::shared_ptr<Share> makeShare();

    // Tasks and callers that wait for a slot just now.
    size_t waiting() const;
    // Whether a task or caller waits, and no shared slot is free.
    bool busy() const;

  private:
    struct Waiter;
    class WaiterList;
    struct Queue;
    std::shared_ptr<Queue> mQueue;  // the same for ever
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
class Scheduler::Group : public std::enable_shared_from_this<Group> {
  public:
    explicit Group(std::shared_ptr<Queue> queue);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    std::shared_ptr<Share> makeShare();

    size_t waiting() const;
    size_t running() const;

  private:
    friend class Scheduler;
    friend class Share;
    const std::shared_ptr<Queue> mQueue;
    // Guarded by the queue's mutex.
    std::vector<Share*> mWaitingShares;  // has room for all of them
    size_t mShareCount = 0;
    size_t mRunning = 0;
    uint64_t mLastSlot = 0;
};

// As the group.
class Scheduler::Share : public std::enable_shared_from_this<Share> {
  public:
    // Called exactly once: with OK on one of the scheduler's threads, where it has a slot; or with
    // the reason why it will never have one.
    using Task = std::function<void(const Status&)>;

    explicit Share(std::shared_ptr<Group> group);
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
    friend class Group;
    const std::shared_ptr<Group> mGroup;
    const std::shared_ptr<Queue> mQueue;
    // Guarded by the queue's mutex.
    std::array<WaiterList, kPriorities> mWaiting;  // highest priority first
    size_t mWaitingCount = 0;
    size_t mRunning = 0;
    uint64_t mLastSlot = 0;
};

class Scheduler::Slot {
  public:
    Slot(Slot&& other) noexcept : mShare(std::exchange(other.mShare, nullptr)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot();

  private:
    friend class Share;
    explicit Slot(std::shared_ptr<Share> share) : mShare(std::move(share)) {}
    std::shared_ptr<Share> mShare;  // null: moved from, or the slot is a task's
};

}  // namespace halyard::driver
