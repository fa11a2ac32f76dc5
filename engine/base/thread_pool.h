// SPDX-License-Identifier: Apache-2.0
//
// Threads that compute together. An execution leases the pool with the first loop that is worth
// sharing, and runs its loops, the phases, one after another; the workers stay awake in between, so
// that a phase costs less than a microsecond.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/base/core_capacities.h"
#include "engine/base/late_workers.h"
#include "engine/base/loop_executor.h"
#include "engine/base/status.h"

namespace halyard {

// Owns the threads. Held by std::shared_ptr; must outlive its leases. Thread-safe.
class ThreadPool {
  public:
    // `threads` counts the one that leases the pool: 1 runs everything inline. 0 means one per core
    // that the calling thread may use. Where the system has no more threads, the pool has fewer.
    // Workers that are late are left out of phases where `late` is given, else all may come to
    // each. Where `capacities` differ, workers run on the fastest cores that there are and get work
    // by the capacity of theirs.
    explicit ThreadPool(size_t threads, std::optional<LateWorkers> late = std::nullopt,
                        CoreCapacities capacities = {});
    // Without threads of its own: every phase is the executor's, which is one thread at least.
    explicit ThreadPool(std::unique_ptr<LoopExecutor> executor);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    size_t threadCount() const;

  private:
    friend class ThreadLease;
    struct State;
    std::unique_ptr<State> mState;
};

// The right to use a pool's threads, for one execution or run of steps. Belongs to the thread that
// took it, which is worker 0 of every phase unless an executor runs them; nothing but the bodies of
// its phases may use it elsewhere. Nothing here allocates, but for the message of a failure.
//
// The workers wake in the lease's first phase that is large enough to share, look out for the next
// one for some hundred microseconds and then sleep on a futex, at once when the lease ends. They do
// not look out where the thread that took the lease may use fewer cores than the pool has threads;
// else they run on the cores that it may use, but for the one it is on. On big.LITTLE each runs on
// cores as fast as there are for it, and slow ones leave the end of a loop to the others
// (unit_pacing.h).
//
// While there are as many leases as the pool has threads, each has its own thread alone: workers
// would take time from the others and have phases wait for them.
class ThreadLease {
  public:
    // Takes the pool with the first loop that is large enough to share. Never waits: where `pool`
    // is null or leased to someone else by then, the lease has one thread.
    static ThreadLease whenAsked(ThreadPool* pool);
    // The same, at once.
    static ThreadLease take(ThreadPool* pool);
    // Returns the pool.
    ~ThreadLease() { giveBack(); }
    ThreadLease(ThreadLease&& other) noexcept
        : mPool(std::exchange(other.mPool, nullptr)),
          mTaken(std::exchange(other.mTaken, nullptr)),
          mState(std::exchange(other.mState, nullptr)) {}
    ThreadLease& operator=(ThreadLease&&) = delete;

    // Returns the pool until the next loop asks: for callers that wait for something else than
    // threads, such as a device. Not in a body.
    void giveBack();

    // How many may run a body at once, as it is now; a body's `worker` is below it.
    size_t threadCount() const;

    // Calls body(int64_t begin, int64_t end, size_t worker), which returns Status or nothing, over
    // disjoint ranges that cover [0, tiles). Each is at least `grain` long but for the last, and
    // starts at a multiple of the same length; a body that is called again for its next range
    // mostly finds it right behind the one before. Returns when all tiles are done, whether or not
    // every thread has come to help: threads start on equal shares and then take half of what
    // another has left, from its end. No thread touches `body` after that.
    //
    // Where a body fails, ranges that have not begun are skipped and the first failure comes back.
    // A body that calls this itself gets its tiles in one range, on its own thread.
    template <typename Body>
    Status parallelFor(int64_t tiles, int64_t grain, Body&& body) {
        using Callable = std::remove_reference_t<Body>;
        if (tiles <= 0) {
            return Status();
        }
        if (tiles <= grain || tiles == 1 || !sharesLoops()) {
            return call<Callable>(&body, 0, tiles, worker());
        }
        return run({.call = &ThreadLease::call<Callable>, .body = &body}, tiles, grain);
    }

  private:
    // A body without its type. `body` may point to something const.
    using Loop = LoopBody;

    template <typename Callable>
    static Status call(const void* body, int64_t begin, int64_t end, size_t worker) {
        Callable& callable = *static_cast<Callable*>(const_cast<void*>(body));
        if constexpr (std::is_void_v<decltype(callable(begin, end, worker))>) {
            callable(begin, end, worker);
            return Status();
        } else {
            return callable(begin, end, worker);
        }
    }

    explicit ThreadLease(ThreadPool::State* pool) : mPool(pool) {}
    void ask();
    bool sharesLoops();
    size_t worker() const;
    Status run(Loop loop, int64_t tiles, int64_t grain);

    friend struct ThreadPool::State;
    ThreadPool::State* mPool;             // null where there is none
    ThreadPool::State* mTaken = nullptr;  // the pool, once it has been asked
    ThreadPool::State* mState = nullptr;  // the same, unless it was too late: null for one thread
};

}  // namespace halyard
