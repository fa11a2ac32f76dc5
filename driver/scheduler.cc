// SPDX-License-Identifier: Apache-2.0

#include "driver/scheduler.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
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

// What the threads share; it outlives the Scheduler where its last owner is one of its own tasks.
struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::array<std::deque<std::function<void()>>, kPriorities> tasks;
    size_t waiting = 0;
    bool stopping = false;

    // Blocks for a task; empty once the queue is stopping and has run dry.
    std::function<void()> take() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return waiting > 0 || stopping; });
        for (std::deque<std::function<void()>>& level : tasks) {
            if (!level.empty()) {
                std::function<void()> task = std::move(level.front());
                level.pop_front();
                --waiting;
                return task;
            }
        }
        return nullptr;
    }
};

void work(const std::shared_ptr<Queue>& queue) {
    while (const std::function<void()> task = queue->take()) {
        task();
    }
}

}  // namespace

struct Scheduler::State {
    size_t capacity = 0;
    std::shared_ptr<Queue> queue = std::make_shared<Queue>();
    std::vector<std::thread> threads;
};

Scheduler::Scheduler(size_t threads, size_t capacity) : mState(std::make_unique<State>()) {
    mState->capacity = capacity;
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) {
        mState->threads.emplace_back(work, mState->queue);
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
    {
        const std::lock_guard lock(mState->queue->mutex);
        if (mState->queue->waiting >= mState->capacity) {
            return {StatusCode::RESOURCE_EXHAUSTED,
                    std::to_string(mState->capacity) + " tasks are waiting already"};
        }
        mState->queue->tasks[rankOf(priority)].push_back(std::move(task));
        ++mState->queue->waiting;
    }
    mState->queue->changed.notify_one();
    return {};
}

}  // namespace halyard::driver
