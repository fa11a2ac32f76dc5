// SPDX-License-Identifier: Apache-2.0

#include "engine/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/log.h"

namespace halyard {
namespace {

// More chunks than threads evens out threads that start late or share a core; few enough that the
// counter is not contended.
constexpr int64_t kChunksPerThread = 4;

// One parallelFor. Lives on its caller's stack for as long as a worker holds it.
struct Loop {
    const std::function<void(int64_t, int64_t)>* body;
    int64_t count;
    int64_t chunk;
    int64_t chunks;
    std::atomic<int64_t> next = 0;

    void work() {
        for (int64_t index = next++; index < chunks; index = next++) {
            const int64_t begin = index * chunk;
            (*body)(begin, index + 1 == chunks ? count : begin + chunk);
        }
    }
};

}  // namespace

struct ThreadPool::State {
    std::vector<pthread_t> workers;
    std::mutex turn;  // held by the caller whose loop runs

    std::mutex mutex;  // guards what follows
    std::condition_variable started;
    std::condition_variable finished;
    Loop* loop = nullptr;
    uint64_t generation = 0;  // counts loops, so that a worker joins each once
    size_t busy = 0;          // workers inside `loop`
    bool stopping = false;

    static void* serve(void* argument) {
        State& state = *static_cast<State*>(argument);
        uint64_t seen = 0;
        std::unique_lock lock(state.mutex);
        while (true) {
            state.started.wait(lock, [&] { return state.stopping || state.generation != seen; });
            if (state.stopping) {
                return nullptr;
            }
            seen = state.generation;
            if (state.loop == nullptr) {
                continue;  // woke up after the others had done it all
            }
            Loop& loop = *state.loop;
            ++state.busy;
            lock.unlock();
            loop.work();
            lock.lock();
            if (--state.busy == 0) {
                state.finished.notify_one();
            }
        }
    }
};

ThreadPool::ThreadPool(size_t threads) : mState(std::make_unique<State>()) {
    if (threads == 0) {
        threads = std::max(1U, std::thread::hardware_concurrency());
    }
    mState->workers.reserve(threads - 1);
    while (mState->workers.size() + 1 < threads) {
        pthread_t worker;
        if (pthread_create(&worker, nullptr, &State::serve, mState.get()) != 0) {
            log(LogLevel::WARNING, "could start only " + std::to_string(threadCount()) + " of " +
                                           std::to_string(threads) + " threads");
            break;
        }
        mState->workers.push_back(worker);
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mState->mutex);
        mState->stopping = true;
    }
    mState->started.notify_all();
    for (const pthread_t worker : mState->workers) {
        pthread_join(worker, nullptr);
    }
}

size_t ThreadPool::threadCount() const {
    return mState->workers.size() + 1;
}

void ThreadPool::parallelFor(int64_t count, int64_t grain,
                             const std::function<void(int64_t begin, int64_t end)>& body) {
    if (count <= 0) {
        return;
    }
    const auto pieces = static_cast<int64_t>(threadCount()) * kChunksPerThread;
    const int64_t chunk = std::max({grain, int64_t{1}, (count - 1) / pieces + 1});
    const int64_t chunks = (count - 1) / chunk + 1;
    if (chunks == 1 || mState->workers.empty()) {
        body(0, count);
        return;
    }

    const std::lock_guard turn(mState->turn);
    Loop loop = {.body = &body, .count = count, .chunk = chunk, .chunks = chunks};
    {
        const std::lock_guard lock(mState->mutex);
        mState->loop = &loop;
        ++mState->generation;
    }
    mState->started.notify_all();
    loop.work();
    std::unique_lock lock(mState->mutex);
    mState->loop = nullptr;
    mState->finished.wait(lock, [&] { return mState->busy == 0; });
}

}  // namespace halyard
