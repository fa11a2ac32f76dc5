// SPDX-License-Identifier: Apache-2.0

#include "driver/scheduler.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace halyard::driver {
namespace {

constexpr size_t kPriorities = 3;

// Highest first.
size_t rankOf(Priority priority) {
    switch (priority) {
        case Priority::HIGH:
            return 0;
        case Priority::MEDIUM:
            return 1;
        case Priority::LOW:
            return 2;
    }
    return 1;
}

// Who waits for a slot: a task, on the heap, or a caller, on its own stack. Linked by what waits
// itself, so that waiting allocates nothing.
struct Waiter {
    Waiter* previous = nullptr;
    Waiter* next = nullptr;
    std::function<void()> task;  // empty: a caller waits, for `granted`
    bool granted = false;
    std::condition_variable changed;
};

// In order of arrival. Owns nothing.
class WaiterList {
  public:
    bool empty() const { return mFirst == nullptr; }
    void append(Waiter& waiter) {
        waiter.previous = mLast;
        waiter.next = nullptr;
        (mLast == nullptr ? mFirst : mLast->next) = &waiter;
        mLast = &waiter;
    }
    void remove(Waiter& waiter) {
        (waiter.previous == nullptr ? mFirst : waiter.previous->next) = waiter.next;
        (waiter.next == nullptr ? mLast : waiter.next->previous) = waiter.previous;
    }
    Waiter& takeFirst() {
        Waiter& first = *mFirst;
        remove(first);
        return first;
    }

  private:
    Waiter* mFirst = nullptr;
    Waiter* mLast = nullptr;
};

}  // namespace

// What the threads and those who have entered share; it outlives the Scheduler where its last owner
// is one of its own tasks.
struct Scheduler::Queue {
    explicit Queue(size_t slots) : freeSlots(slots) {}

    std::mutex mutex;
    std::condition_variable changed;  // for the threads
    // While somebody waits, no slot is free.
    size_t freeSlots;
    std::array<WaiterList, kPriorities> waiting;
    size_t waitingTasks = 0;
    size_t waitingCallers = 0;
    WaiterList ready;  // tasks that have their slot; never more than threads
    bool stopping = false;

    // Under the mutex: takes a free slot, if there is one.
    bool takeFree() {
        if (freeSlots == 0) {
            return false;
        }
        --freeSlots;
        return true;
    }

    // Under the mutex: hands free slots to those who wait for one.
    void grant() {
        for (WaiterList& level : waiting) {
            while (freeSlots > 0 && !level.empty()) {
                --freeSlots;
                Waiter& waiter = level.takeFirst();
                if (waiter.task == nullptr) {
                    --waitingCallers;
                    waiter.granted = true;
                    waiter.changed.notify_one();
                } else {
                    --waitingTasks;
                    ready.append(waiter);
                    changed.notify_one();
                }
            }
        }
        if (stopping && waitingTasks == 0) {
            changed.notify_all();
        }
    }

    void giveBack() {
        const std::lock_guard lock(mutex);
        ++freeSlots;
        grant();
    }

    // Blocks for a task that has its slot; null once the queue is stopping and has run dry.
    std::unique_ptr<Waiter> take() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return !ready.empty() || (stopping && waitingTasks == 0); });
        return ready.empty() ? nullptr : std::unique_ptr<Waiter>(&ready.takeFirst());
    }

    void work() {
        while (std::unique_ptr<Waiter> waiter = take()) {
            waiter->task();
            waiter = nullptr;  // what the task holds goes before the next one comes
            giveBack();
        }
    }
};

struct Scheduler::State {
    State(size_t slots, size_t taskCapacity)
        : capacity(taskCapacity), queue(std::make_shared<Queue>(slots)) {}

    const size_t capacity;
    const std::shared_ptr<Queue> queue;
    std::vector<std::thread> threads;
};

Scheduler::Scheduler(size_t slots, size_t capacity)
    : mState(std::make_unique<State>(std::max<size_t>(slots, 1), capacity)) {
    for (size_t i = 0; i < std::max<size_t>(slots, 1); ++i) {
        mState->threads.emplace_back([queue = mState->queue] { queue->work(); });
    }
}

Scheduler::~Scheduler() {
    {
        const std::lock_guard lock(mState->queue->mutex);
        mState->queue->stopping = true;
    }
    mState->queue->changed.notify_all();
    for (std::thread& thread : mState->threads) {
        // A task may hold the last reference to its device, and so end the scheduler it runs on.
        if (thread.get_id() == std::this_thread::get_id()) {
            thread.detach();
        } else {
            thread.join();
        }
    }
}

Status Scheduler::post(Priority priority, std::function<void()> task) {
    auto waiter = std::make_unique<Waiter>();
    waiter->task = std::move(task);
    Queue& queue = *mState->queue;
    const std::lock_guard lock(queue.mutex);
    if (queue.waitingTasks >= mState->capacity) {
        return {StatusCode::RESOURCE_EXHAUSTED,
                std::to_string(mState->capacity) + " tasks are waiting already"};
    }
    queue.waiting[rankOf(priority)].append(*waiter.release());  // the thread that runs it owns it
    ++queue.waitingTasks;
    queue.grant();
    return {};
}

std::optional<Scheduler::Slot> Scheduler::tryEnter() {
    // A task that waited for a second slot could wait for ever.
    for (const std::thread& thread : mState->threads) {
        if (thread.get_id() == std::this_thread::get_id()) {
            return Slot(nullptr);
        }
    }
    const std::lock_guard lock(mState->queue->mutex);
    if (!mState->queue->takeFree()) {
        return std::nullopt;
    }
    return Slot(mState->queue);
}

Result<Scheduler::Slot> Scheduler::enter(Priority priority, const Deadline& deadline) {
    if (std::optional<Slot> slot = tryEnter()) {
        return std::move(*slot);
    }
    Queue& queue = *mState->queue;
    std::unique_lock lock(queue.mutex);
    if (queue.takeFree()) {
        return Slot(mState->queue);
    }
    Waiter waiter;
    WaiterList& level = queue.waiting[rankOf(priority)];
    level.append(waiter);
    ++queue.waitingCallers;
    const auto granted = [&waiter] { return waiter.granted; };
    if (!deadline.has_value()) {
        waiter.changed.wait(lock, granted);
    } else if (!waiter.changed.wait_until(lock, *deadline, granted)) {
        level.remove(waiter);
        --queue.waitingCallers;
        return Status(StatusCode::DEADLINE_EXCEEDED,
                      "the deadline passed while others were running");
    }
    return Slot(mState->queue);
}

size_t Scheduler::waiting() const {
    const std::lock_guard lock(mState->queue->mutex);
    return mState->queue->waitingTasks + mState->queue->waitingCallers;
}

Scheduler::Slot::~Slot() {
    if (mQueue != nullptr) {
        mQueue->giveBack();
    }
}

}  // namespace halyard::driver
