// SPDX-License-Identifier: Apache-2.0
//
// A thread pool's state: what the holder of the lease and the workers share. Of
// thread_pool_lease.cc, and of thread_pool_work.cc, where units of a phase are taken, stolen and
// done.

#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/base/core_capacities.h"
#include "engine/base/late_workers.h"
#include "engine/base/log.h"
#include "engine/base/loop_executor.h"
#include "engine/base/loop_units.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/base/unit_pacing.h"
#include "engine/base/worker_set.h"

namespace halyard {

// Two cache lines: what one thread writes often is kept that far from what another one reads, since
// some cores fetch lines in pairs.
inline constexpr size_t kApart = 128;

struct ThreadPool::State {
    struct Worker {
        // What it has yet to begin. As long as this tells of an earlier phase, that is its share.
        alignas(kApart) std::atomic<uint64_t> units = 0;
        // Phase number and how many units of it the worker has done, as a range that begins at 0.
        alignas(kApart) std::atomic<uint64_t> done = 0;
        // A futex: 1 while it sleeps, set to 0 to wake it. Others look at it in each phase.
        alignas(kApart) std::atomic<uint32_t> asleep = 0;
        std::atomic<int64_t> lackedNs = 0;  // without a core while awake, not charged yet
        std::atomic<pid_t> id = 0;          // as the kernel counts threads; 0 until it has started
        std::atomic<uint32_t> pace = CoreCapacities::kFull;
        std::atomic<uint64_t> came = 0;  // the last phase that it came to, where paces differ
        State* state = nullptr;
        size_t index = 0;
        pthread_t thread = {};
        CoreTime awake;  // its own
    };

    // What a phase is about, as a thread has read it.
    struct Phase {
        uint64_t number = 0;
        Status (*call)(const void*, int64_t, int64_t, size_t) = nullptr;
        const void* body = nullptr;
        int64_t tiles = 0;
        int64_t tilesPerUnit = 1;
        const LogTarget* lines = nullptr;  // where the holder's go
        UnitShares shares;
    };

    // Phase number, whether that one may be read, and whether the lease goes on.
    static constexpr uint64_t kLeased = 1;
    static constexpr uint64_t kOpen = 2;
    static constexpr int kSignalBits = 2;
    static constexpr uint64_t kStop = ~uint64_t{0};

    // What the holder of the lease says and the workers look at, in one line of the cache. The
    // fields below `signal` are written while it is not open. Who reads them and then finds
    // `signal` as it was has those of its phase.
    alignas(kApart) std::atomic<uint64_t> signal = 0;
    std::atomic<Status (*)(const void*, int64_t, int64_t, size_t)> call = nullptr;
    std::atomic<const void*> body = nullptr;
    std::atomic<int64_t> tiles = 0;
    std::atomic<int64_t> tilesPerUnit = 1;
    std::atomic<const LogTarget*> lines = nullptr;
    std::atomic<bool> spins = false;
    std::atomic<uint64_t> leftOut = 0;  // a WorkerSet's bits

    alignas(kApart) std::atomic<uint32_t> awaited = 0;  // a futex: 1 while the holder sleeps on it
    std::atomic<bool> failed = false;

    // The holder's own, but for `failure`, which belongs to the thread that sets `failed`, and
    // `inPhase`, which bodies read.
    alignas(kApart) std::atomic<size_t> leases =
            0;  // with those that were too late for the threads
    std::atomic<bool> taken = false;
    uint64_t phase = 0;
    bool woken = false;  // since the lease began
    bool inPhase = false;
    Status failure;
    cpu_set_t cores = {};  // which it may use, as of the lease's first phase
    int avoided = -1;      // the core that the workers were told to keep off
    CoreCapacities capacities;
    std::atomic<uint32_t> fastestPace = CoreCapacities::kFull;  // of one of the workers
    bool areCoresAlike = true;
    std::optional<LateWorkers> late;       // where they are left out
    CoreTime awake;                        // since it last slept in this lease
    std::chrono::nanoseconds lacked = {};  // in this lease before

    size_t threads = 1;
    std::unique_ptr<Worker[]> workers;  // [0]: the holder of the lease; null with an executor
    std::unique_ptr<LoopExecutor> executor;

    static void* serve(void* argument);
    uint64_t awaitSignal(Worker& worker, uint64_t seen);
    std::optional<Phase> phaseOf(uint64_t number) const;
    Units unitsOf(size_t worker, uint64_t packed, const Phase& now) const;
    WorkerPace paceOf(size_t worker, const Phase& now) const;
    bool leavesToFaster(size_t worker, const Phase& now) const;
    uint64_t unitsLeft(const Phase& now) const;
    Units takeSome(size_t self, const Phase& now);
    Units stealHalf(size_t thief, const Phase& now, bool takesOne);
    void work(size_t self, const Phase& now, bool takesAll = false);
    void finish(size_t self, const Phase& now, uint32_t count);
    bool isDone(const Phase& now) const;
    void help(size_t self, uint64_t number);
    void keepWorkersApart();
    void placeByCapacity(const cpu_set_t& others, int core);
    void findLate();
    Phase open(ThreadLease::Loop loop, int64_t count, int64_t unit, int64_t units);
    Status runOnExecutor(ThreadLease::Loop loop, int64_t count, int64_t unit);
    void awaitAll(const Phase& now);
};

}  // namespace halyard
