// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "driver/clients/precedence.h"

namespace halyard::driver {
namespace {

Status deadlinePassed() {
    return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed while others were running"};
}

// The scheduler whose task the calling thread runs; null elsewhere. It is the thread that has the
// slot, so it is the thread that knows.
thread_local const void* tSchedulerOfTask = nullptr;

}  // namespace

// A task (on the heap) or a caller (on its own stack) that waits for a slot. The list is intrusive,
// so that waiting allocates nothing.
struct Scheduler::Waiter {
    Waiter* previous = nullptr;
    Waiter* next = nullptr;
    std::shared_ptr<Share> share;
    size_t rank = 0;
    Deadline deadline;  // of a task; a caller looks at the clock itself
    Share::Task task;   // empty: a caller waits, for `granted` or `refused`
    bool granted = false;
    bool refused = false;
    Status refusal;
    std::condition_variable changed;
};

void Scheduler::WaiterList::append(Waiter& waiter) {
    waiter.previous = mLast;
    waiter.next = nullptr;
    (mLast == nullptr ? mFirst : mLast->next) = &waiter;
    mLast = &waiter;
}

void Scheduler::WaiterList::remove(Waiter& waiter) {
    (waiter.previous == nullptr ? mFirst : waiter.previous->next) = waiter.next;
    (waiter.next == nullptr ? mLast : waiter.next->previous) = waiter.previous;
}

// Shared by the threads and the slots; it outlives the Scheduler where its last owner
// is one of its own tasks.
struct Scheduler::Queue : std::enable_shared_from_this<Queue> {
    explicit Queue(const Limits& theLimits) : limits(theLimits) {}

    const Limits limits;

    std::mutex mutex;
    std::condition_variable changed;  // for the threads that run tasks
    std::condition_variable expired;  // for the one that looks at the clock
    size_t running = 0;
    size_t waiting = 0;
    size_t waitingTasks = 0;
    uint64_t slotsGiven = 0;
    size_t groupCount = 0;
    std::vector<Group*> waitingGroups;  // has room for all of them
    WaiterList ready;                   // tasks that have their slot
    size_t readyCount = 0;
    size_t idleThreads = 0;
    // Tasks with a deadline that wait.
    std::set<std::pair<std::chrono::steady_clock::time_point, Waiter*>> expiring;
    bool stopping = false;
    std::vector<pthread_t> workers;
    std::optional<pthread_t> clerk;

    // All below but the threads' bodies are called under the mutex.

    // Of two users, or of two clients of one.
    template <typename Part>
    static bool comesBefore(const Part& one, const Part& other) {
        return std::tie(one.mRunning, one.mLastSlot) < std::tie(other.mRunning, other.mLastSlot);
    }

    bool mayRun(const Share& share) const {
        const Group& group = *share.mGroup;
        if (group.mRunning == 0) {
            return running < limits.newGroups;
        }
        if (share.mRunning == 0 && group.mRunning < limits.group && running < limits.newClients) {
            return true;
        }
        return running < limits.shared;
    }

    void take(Share& share) {
        Group& group = *share.mGroup;
        ++running;
        ++group.mRunning;
        ++share.mRunning;
        share.mLastSlot = group.mLastSlot = ++slotsGiven;
    }

    void append(Waiter& waiter) {
        Share& share = *waiter.share;
        if (share.mWaitingCount++ == 0) {
            Group& group = *share.mGroup;
            if (group.mWaitingShares.empty()) {
                waitingGroups.push_back(&group);
            }
            group.mWaitingShares.push_back(&share);
        }
        share.mWaiting[waiter.rank].append(waiter);
        ++waiting;
        if (waiter.task != nullptr) {
            ++waitingTasks;
            if (waiter.deadline.has_value()) {
                expiring.emplace(*waiter.deadline, &waiter);
            }
        }
    }

    void remove(Waiter& waiter) {
        Share& share = *waiter.share;
        share.mWaiting[waiter.rank].remove(waiter);
        if (--share.mWaitingCount == 0) {
            Group& group = *share.mGroup;
            std::erase(group.mWaitingShares, &share);
            if (group.mWaitingShares.empty()) {
                std::erase(waitingGroups, &group);
            }
        }
        --waiting;
        if (waiter.task != nullptr) {
            --waitingTasks;
            if (waiter.deadline.has_value()) {
                expiring.erase({*waiter.deadline, &waiter});
            }
        }
    }

    // Which of a user's clients is next, with what rank; null if none may run.
    Waiter* nextOf(const Group& group) const {
        for (size_t rank = 0; rank < kPriorities; ++rank) {
            const Share* best = nullptr;
            for (const Share* share : group.mWaitingShares) {
                if (!share->mWaiting[rank].empty() && mayRun(*share) &&
                    (best == nullptr || comesBefore(*share, *best))) {
                    best = share;
                }
            }
            if (best != nullptr) {
                return &best->mWaiting[rank].first();
            }
        }
        return nullptr;
    }

    // The next that gets a slot; null: none may.
    Waiter* next() const {
        Waiter* waiter = nullptr;
        const Group* best = nullptr;
        for (const Group* group : waitingGroups) {
            if (best != nullptr && !comesBefore(*group, *best)) {
                continue;
            }
            if (Waiter* const candidate = nextOf(*group)) {
                waiter = candidate;
                best = group;
            }
        }
        return waiter;
    }

    // Hands slots to those who wait for one.
    void grant() {
        while (Waiter* const waiter = next()) {
            remove(*waiter);
            take(*waiter->share);
            if (waiter->task == nullptr) {
                waiter->granted = true;
                waiter->changed.notify_one();
            } else {
                ready.append(*waiter);
                // Without a thread for it the task waits for one that has another task.
                if (++readyCount > idleThreads && workers.size() < limits.newGroups) {
                    startWorker();
                }
                changed.notify_one();
            }
        }
        if (stopping && waitingTasks == 0) {
            changed.notify_all();
        }
    }

    void giveBack(Share& share) {
        const std::lock_guard lock(mutex);
        --running;
        --share.mGroup->mRunning;
        --share.mRunning;
        grant();
    }

    // Not std::thread: that one has no way to fail but an exception.
    std::optional<pthread_t> start(void* (*body)(void*)) {
        auto self = std::make_unique<std::shared_ptr<Queue>>(shared_from_this());
        pthread_t thread = {};
        if (pthread_create(&thread, nullptr, body, self.get()) != 0) {
            return std::nullopt;
        }
        static_cast<void>(self.release());
        return thread;
    }

    template <void (Queue::*work)()>
    static void* run(void* self) {
        const std::unique_ptr<std::shared_ptr<Queue>> queue(
                static_cast<std::shared_ptr<Queue>*>(self));
        ((**queue).*work)();
        return nullptr;
    }

    void startWorker() {
        if (const auto thread = start(&run<&Queue::work>)) {
            workers.push_back(*thread);
        }
    }

    bool haveThreadsFor(const Deadline& deadline) {
        if (workers.empty()) {
            startWorker();
        }
        if (deadline.has_value() && !clerk.has_value()) {
            clerk = start(&run<&Queue::watchDeadlines>);
        }
        return !workers.empty() && (!deadline.has_value() || clerk.has_value());
    }

    // Blocks for a task that has its slot; null once the queue is stopping and has run dry.
    std::unique_ptr<Waiter> take() {
        std::unique_lock lock(mutex);
        ++idleThreads;
        changed.wait(lock, [this] { return !ready.empty() || (stopping && waitingTasks == 0); });
        --idleThreads;
        if (ready.empty()) {
            return nullptr;
        }
        Waiter& waiter = ready.first();
        ready.remove(waiter);
        --readyCount;
        return std::unique_ptr<Waiter>(&waiter);
    }

    void work() {
        tSchedulerOfTask = this;
        while (std::unique_ptr<Waiter> waiter = take()) {
            waiter->task({});
            const std::shared_ptr<Share> share = waiter->share;
            waiter = nullptr;  // what the task holds goes before the next one comes
            giveBack(*share);
        }
    }

    void watchDeadlines() {
        std::unique_lock lock(mutex);
        while (!stopping) {
            if (expiring.empty()) {
                expired.wait(lock);
                continue;
            }
            const auto [deadline, first] = *expiring.begin();
            if (std::chrono::steady_clock::now() < deadline) {
                expired.wait_until(lock, deadline);
                continue;
            }
            remove(*first);
            std::unique_ptr<Waiter> waiter(first);
            lock.unlock();
            waiter->task(deadlinePassed());
            waiter = nullptr;  // it may be the last to hold its share, which ends under the lock
            lock.lock();
        }
    }
};

Scheduler::Scheduler(const Limits& limits) {
    Limits all = limits;
    all.shared = std::max<size_t>(all.shared, 1);
    all.newClients = std::max(all.newClients, all.shared);
    all.newGroups = std::max(all.newGroups, all.newClients);
    mQueue = std::make_shared<Queue>(all);
}

Scheduler::~Scheduler() {
    std::vector<pthread_t> threads;
    {
        const std::lock_guard lock(mQueue->mutex);
        mQueue->stopping = true;
        threads = mQueue->workers;
        if (mQueue->clerk.has_value()) {
            threads.push_back(*mQueue->clerk);
        }
    }
    mQueue->changed.notify_all();
    mQueue->expired.notify_all();
    for (const pthread_t thread : threads) {
        // A task may hold the last reference to its device, and so end the scheduler it runs on.
        if (pthread_equal(thread, pthread_self()) != 0) {
            pthread_detach(thread);
        } else {
            pthread_join(thread, nullptr);
        }
    }
}

std::shared_ptr<Scheduler::Group> Scheduler::makeGroup() {
    return std::make_shared<Group>(mQueue);
}

std::shared_ptr<Scheduler::Share> Scheduler::makeShare() {
    return makeGroup()->makeShare();
}

size_t Scheduler::waiting() const {
    const std::lock_guard lock(mQueue->mutex);
    return mQueue->waiting;
}

bool Scheduler::busy() const {
    const std::lock_guard lock(mQueue->mutex);
    return mQueue->waiting > 0 && mQueue->running >= mQueue->limits.shared;
}

// ---- Group and Share ----------------------------------------------------------------------------

Scheduler::Group::Group(std::shared_ptr<Queue> queue) : mQueue(std::move(queue)) {
    const std::lock_guard lock(mQueue->mutex);
    mQueue->waitingGroups.reserve(++mQueue->groupCount);
}

Scheduler::Group::~Group() {
    const std::lock_guard lock(mQueue->mutex);
    --mQueue->groupCount;
}

std::shared_ptr<Scheduler::Share> Scheduler::Group::makeShare() {
    return std::make_shared<Share>(shared_from_this());
}

size_t Scheduler::Group::waiting() const {
    const std::lock_guard lock(mQueue->mutex);
    size_t waiting = 0;
    for (const Share* share : mWaitingShares) {
        waiting += share->mWaitingCount;
    }
    return waiting;
}

size_t Scheduler::Group::running() const {
    const std::lock_guard lock(mQueue->mutex);
    return mRunning;
}

Scheduler::Share::Share(std::shared_ptr<Group> group)
    : mGroup(std::move(group)), mQueue(mGroup->mQueue) {
    const std::lock_guard lock(mQueue->mutex);
    mGroup->mWaitingShares.reserve(++mGroup->mShareCount);
}

Scheduler::Share::~Share() {
    const std::lock_guard lock(mQueue->mutex);
    --mGroup->mShareCount;
}

Status Scheduler::Share::post(Priority priority, const Deadline& deadline, Task task) {
    auto waiter = std::make_unique<Waiter>();
    waiter->share = shared_from_this();
    waiter->rank = rankOf(priority);
    waiter->deadline = deadline;
    waiter->task = std::move(task);
    const std::lock_guard lock(mQueue->mutex);
    if (!mQueue->haveThreadsFor(deadline)) {
        return {StatusCode::RESOURCE_EXHAUSTED, "the system has no more threads"};
    }
    mQueue->append(*waiter.release());  // the thread that calls it owns it
    mQueue->expired.notify_one();
    mQueue->grant();
    return {};
}

std::optional<Scheduler::Slot> Scheduler::Share::tryEnter() {
    // A task that waited for a second slot could wait for ever.
    if (tSchedulerOfTask == mQueue.get()) {
        return Slot(nullptr);
    }
    const std::lock_guard lock(mQueue->mutex);
    // Waiters that are there already come first.
    if (mWaitingCount > 0 || !mQueue->mayRun(*this)) {
        return std::nullopt;
    }
    mQueue->take(*this);
    return Slot(shared_from_this());
}

Result<Scheduler::Slot> Scheduler::Share::enter(Priority priority, const Deadline& deadline) {
    if (std::optional<Slot> slot = tryEnter()) {
        return std::move(*slot);
    }
    Waiter waiter;
    waiter.share = shared_from_this();
    waiter.rank = rankOf(priority);
    std::unique_lock lock(mQueue->mutex);
    mQueue->append(waiter);
    mQueue->grant();
    const auto answered = [&waiter] { return waiter.granted || waiter.refused; };
    if (!deadline.has_value()) {
        waiter.changed.wait(lock, answered);
    } else if (!waiter.changed.wait_until(lock, *deadline, answered)) {
        mQueue->remove(waiter);
        return deadlinePassed();
    }
    if (waiter.refused) {
        return waiter.refusal;
    }
    return Slot(waiter.share);
}

void Scheduler::Share::refuseWaiting(const Status& why) {
    std::vector<std::unique_ptr<Waiter>> tasks;
    {
        const std::lock_guard lock(mQueue->mutex);
        for (WaiterList& list : mWaiting) {
            while (!list.empty()) {
                Waiter& waiter = list.first();
                mQueue->remove(waiter);
                if (waiter.task != nullptr) {
                    tasks.emplace_back(&waiter);
                } else {
                    waiter.refused = true;
                    waiter.refusal = why;
                    waiter.changed.notify_one();
                }
            }
        }
    }
    for (const std::unique_ptr<Waiter>& waiter : tasks) {
        waiter->task(why);
    }
    const std::lock_guard lock(mQueue->mutex);
    mQueue->grant();  // tells threads that wait for the queue to run dry
}

size_t Scheduler::Share::waiting() const {
    const std::lock_guard lock(mQueue->mutex);
    return mWaitingCount;
}

size_t Scheduler::Share::running() const {
    const std::lock_guard lock(mQueue->mutex);
    return mRunning;
}

Scheduler::Slot::~Slot() {
    if (mShare != nullptr) {
        mShare->mQueue->giveBack(*mShare);
    }
}

}  // namespace halyard::driver
