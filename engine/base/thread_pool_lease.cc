// SPDX-License-Identifier: Apache-2.0

#include "engine/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/futex.h"
#include "engine/base/log.h"
#include "engine/base/loop_units.h"
#include "engine/base/thread_pool_state.h"
#include "engine/base/worker_set.h"

namespace halyard {
namespace {

// More than most gaps between the phases of a run, and a few times what it costs to sleep and wake:
// 5 us each way on a processor of its own, 30 and more where that is a virtual one.
constexpr std::chrono::microseconds kSpin(200);
constexpr int kPausesPerLook = 16;  // at the clock

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    asm volatile("yield" ::: "memory");
#endif
}

// Whether `done` came true before the time to spin was over. `meanwhile` is called now and then.
template <typename Done, typename Meanwhile>
bool spinUntil(Done done, Meanwhile meanwhile) {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    do {
        for (int i = 0; i < kPausesPerLook; ++i) {
            if (done()) {
                return true;
            }
            pause();
        }
        meanwhile();
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

// The cores that the calling thread may use; none where the system does not tell.
cpu_set_t usableCores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        CPU_ZERO(&cores);
    }
    return cores;
}

size_t countOf(const cpu_set_t& cores) {
    const int count = CPU_COUNT(&cores);
    return count > 0 ? static_cast<size_t>(count)
                     : std::max(1U, std::thread::hardware_concurrency());
}

// The pool that this thread is a worker of, and its index there.
thread_local const void* workerOf = nullptr;
thread_local size_t workerIndex = 0;

}  // namespace

// Called with `seen`, the last signal that this worker knows. Returns the next phase's.
uint64_t ThreadPool::State::awaitSignal(Worker& worker, uint64_t seen) {
    const auto isOver = [&](uint64_t now) {
        return (now & kOpen) != 0 && now >> kSignalBits != seen >> kSignalBits;
    };
    uint64_t now = signal.load(std::memory_order_acquire);
    while (!isOver(now)) {
        if ((now & kLeased) != 0 && spins.load(std::memory_order_relaxed) &&
            !WorkerSet(leftOut.load(std::memory_order_relaxed)).has(worker.index)) {
            const bool changed = spinUntil(
                    [&] {
                        now = signal.load(std::memory_order_acquire);
                        return isOver(now) || (now & kLeased) == 0;
                    },
                    [&] { help(worker.index, seen >> kSignalBits); });
            if (changed && isOver(now)) {
                break;
            }
        }
        if (late.has_value()) {
            worker.lackedNs.fetch_add(worker.awake.lacked().count(), std::memory_order_relaxed);
        }
        // Either this thread sees the next signal below, or who gives it sees `asleep`. Both write
        // by exchange: QEMU runs a load-acquire of Arm ahead of the store-release before it.
        worker.asleep.exchange(1, std::memory_order_seq_cst);
        now = signal.load(std::memory_order_seq_cst);
        if (isOver(now)) {
            worker.asleep.store(0, std::memory_order_relaxed);
        }
        while (worker.asleep.load(std::memory_order_acquire) != 0) {
            futexWait(worker.asleep, 1);
        }
        if (late.has_value()) {
            worker.awake.begin();
        }
        now = signal.load(std::memory_order_acquire);
    }
    return now;
}

void* ThreadPool::State::serve(void* argument) {
    Worker& worker = *static_cast<Worker*>(argument);
    State& state = *worker.state;
    workerOf = &state;
    workerIndex = worker.index;
    worker.id.store(gettid(), std::memory_order_relaxed);
    worker.awake.begin();
    uint64_t seen = 0;
    while (true) {
        seen = state.awaitSignal(worker, seen);
        if (seen == kStop) {
            return nullptr;
        }
        state.help(worker.index, seen >> kSignalBits);
    }
}

// A worker that wakes on the core of the thread that woke it may stay there for tens of
// milliseconds, while another core idles: the scheduler moves threads that sleep and wake late. So
// the workers are told to use any core but that one. A system that refuses loses nothing else.
void ThreadPool::State::keepWorkersApart() {
    const int core = sched_getcpu();
    if (core == avoided || core < 0 || core >= CPU_SETSIZE) {
        return;
    }
    cpu_set_t others = cores;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) == 0) {
        return;
    }
    avoided = core;
    if (!areCoresAlike) {
        return placeByCapacity(others, core);
    }
    for (size_t i = 1; i < threads; ++i) {
        if (const pid_t id = workers[i].id.load(std::memory_order_relaxed); id != 0) {
            sched_setaffinity(id, sizeof others, &others);
        } else {
            avoided = -1;
        }
    }
}

// Worker i gets the cores that are as fast as the i-th fastest of the others, and its pace. Which
// of them it runs on, the scheduler decides.
void ThreadPool::State::placeByCapacity(const cpu_set_t& others, int core) {
    std::array<uint32_t, CPU_SETSIZE> sorted = {};
    size_t count = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &others)) {
            sorted[count++] = capacities.of(i);
        }
    }
    std::sort(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(count), std::greater<>());
    uint32_t fastest = capacities.of(core);
    workers[0].pace.store(fastest, std::memory_order_relaxed);
    for (size_t i = 1; i < threads; ++i) {
        const uint32_t least = sorted[std::min(i, count) - 1];
        workers[i].pace.store(least, std::memory_order_relaxed);
        fastest = std::max(fastest, least);
        cpu_set_t own;
        CPU_ZERO(&own);
        for (int each = 0; each < CPU_SETSIZE; ++each) {
            if (CPU_ISSET(each, &others) && capacities.of(each) >= least) {
                CPU_SET(each, &own);
            }
        }
        if (const pid_t id = workers[i].id.load(std::memory_order_relaxed); id != 0) {
            sched_setaffinity(id, sizeof own, &own);
        } else {
            avoided = -1;
        }
    }
    fastestPace.store(fastest, std::memory_order_relaxed);
}

// When a lease begins to compute: how the workers did in those before. Where there are fewer cores
// than threads, all are late.
void ThreadPool::State::findLate() {
    const bool counts = spins.load(std::memory_order_relaxed);
    for (size_t i = 1; i < threads; ++i) {
        const int64_t without = workers[i].lackedNs.exchange(0, std::memory_order_relaxed);
        late->charge(i, std::chrono::nanoseconds(counts ? without : 0));
    }
    late->begin(std::chrono::steady_clock::now(), threads);
    lacked = {};
    awake.begin();
}

ThreadPool::State::Phase ThreadPool::State::open(ThreadLease::Loop loop, int64_t count,
                                                 int64_t unit, int64_t units) {
    if (!woken) {
        woken = true;
        const cpu_set_t now = usableCores();
        if (!CPU_EQUAL(&now, &cores)) {
            cores = now;
            avoided = -1;
        }
        spins.store(threads <= countOf(cores), std::memory_order_relaxed);
        if (late.has_value()) {
            findLate();
        }
    }
    if (spins.load(std::memory_order_relaxed)) {
        keepWorkersApart();
    }
    inPhase = true;
    if (phase % kRenewals == 0) {
        for (size_t i = 0; i < threads; ++i) {
            workers[i].units.store(Units{.phase = phase}.pack(), std::memory_order_relaxed);
            workers[i].done.store(Units{.phase = phase}.pack(), std::memory_order_relaxed);
        }
    }
    signal.store(phase << kSignalBits | kLeased, std::memory_order_relaxed);
    phase = (phase + 1) & kPhaseMask;
    const bool leavesOut = late.has_value() && spins.load(std::memory_order_relaxed);
    const WorkerSet out = leavesOut ? late->leftOut() : WorkerSet();
    const Phase next = {
            .number = phase,
            .call = loop.call,
            .body = loop.body,
            .tiles = count,
            .tilesPerUnit = unit,
            .lines = LogScope::current(),
            .shares = {.units = static_cast<size_t>(units), .threads = threads, .leftOut = out}};
    call.store(next.call, std::memory_order_release);
    body.store(next.body, std::memory_order_release);
    tiles.store(next.tiles, std::memory_order_release);
    tilesPerUnit.store(next.tilesPerUnit, std::memory_order_release);
    lines.store(next.lines, std::memory_order_release);
    leftOut.store(out.bits(), std::memory_order_release);
    signal.exchange(phase << kSignalBits | kOpen | kLeased, std::memory_order_seq_cst);
    for (size_t i = 1; i < threads; ++i) {
        if (next.shares.has(i) && workers[i].asleep.load(std::memory_order_seq_cst) != 0 &&
            workers[i].asleep.exchange(0, std::memory_order_acq_rel) != 0) {
            futexWake(workers[i].asleep);
        }
    }
    return next;
}

// Each task's thread is a worker of this pool as long as the task lasts: a loop inside the body
// then knows that it is one.
Status ThreadPool::State::runOnExecutor(ThreadLease::Loop loop, int64_t count, int64_t unit) {
    struct Own {
        const State* pool;
        ThreadLease::Loop loop;
    };
    const Own own = {.pool = this, .loop = loop};
    inPhase = true;
    Status status = halyard::runOnExecutor(
            *executor,
            {.call =
                     [](const void* wrapped, int64_t begin, int64_t end, size_t worker) {
                         const Own& owned = *static_cast<const Own*>(wrapped);
                         const void* const outerPool = std::exchange(workerOf, owned.pool);
                         const size_t outerIndex = std::exchange(workerIndex, worker);
                         Status done = owned.loop.call(owned.loop.body, begin, end, worker);
                         workerOf = outerPool;
                         workerIndex = outerIndex;
                         return done;
                     },
             .body = &own},
            count, unit);
    inPhase = false;
    return status;
}

// Ends the phase, when all units are done.
void ThreadPool::State::awaitAll(const Phase& now) {
    bool done = isDone(now);
    if (!done && spins.load(std::memory_order_relaxed)) {
        done = spinUntil([&] { return isDone(now); },
                         // A thief's new range may have come into sight.
                         [&] { work(0, now); });
    }
    if (!done && !areCoresAlike) {
        // What slow workers left to fast ones, if these have not come.
        work(0, now, true);
        done = isDone(now);
    }
    const bool sleeps = !done;
    if (sleeps && late.has_value()) {
        lacked += awake.lacked();
    }
    while (!done) {
        awaited.exchange(1, std::memory_order_seq_cst);
        done = isDone(now);
        while (!done && awaited.load(std::memory_order_acquire) != 0) {
            futexWait(awaited, 1);
        }
    }
    if (sleeps && late.has_value()) {
        awake.begin();
    }
    awaited.store(0, std::memory_order_relaxed);
    inPhase = false;
}

ThreadPool::ThreadPool(size_t threads, std::optional<LateWorkers> late, CoreCapacities capacities)
    : mState(std::make_unique<State>()) {
    if (threads == 0) {
        threads = countOf(usableCores());
    }
    State& state = *mState;
    state.workers = std::make_unique<State::Worker[]>(threads);
    state.late = late;
    state.areCoresAlike = capacities.areAlike();
    state.capacities = std::move(capacities);
    // Workers look at each other's ranges once a phase is open, so all of them are counted before.
    for (size_t i = 1; i < threads; ++i) {
        State::Worker& worker = state.workers[i];
        worker.state = &state;
        worker.index = i;
        if (pthread_create(&worker.thread, nullptr, &State::serve, &worker) != 0) {
            log(LogLevel::WARNING, "could start only " + std::to_string(i) + " of " +
                                           std::to_string(threads) + " threads");
            break;
        }
        state.threads = i + 1;
    }
}

ThreadPool::ThreadPool(std::unique_ptr<LoopExecutor> executor) : mState(std::make_unique<State>()) {
    mState->threads = std::clamp(executor->threads(), size_t{1}, WorkerSet::kMost);
    mState->executor = std::move(executor);
}

ThreadPool::~ThreadPool() {
    if (mState->executor != nullptr) {
        return;
    }
    mState->signal.store(State::kStop, std::memory_order_seq_cst);
    for (size_t i = 1; i < mState->threads; ++i) {
        State::Worker& worker = mState->workers[i];
        worker.asleep.exchange(0, std::memory_order_seq_cst);
        futexWake(worker.asleep);
        pthread_join(worker.thread, nullptr);
    }
}

size_t ThreadPool::threadCount() const {
    return mState->threads;
}

ThreadLease ThreadLease::whenAsked(ThreadPool* pool) {
    return ThreadLease(pool == nullptr || pool->mState->threads == 1 ? nullptr
                                                                     : pool->mState.get());
}

ThreadLease ThreadLease::take(ThreadPool* pool) {
    ThreadLease lease = whenAsked(pool);
    lease.ask();
    return lease;
}

void ThreadLease::ask() {
    if (mPool == nullptr) {
        return;
    }
    mTaken = mPool;
    mTaken->leases.fetch_add(1, std::memory_order_relaxed);
    const bool isLate = mTaken->taken.exchange(true, std::memory_order_acquire);
    mState = isLate ? nullptr : mTaken;
}

void ThreadLease::giveBack() {
    if (mTaken == nullptr) {
        return;
    }
    if (mState != nullptr) {
        if (mState->woken) {
            mState->woken = false;
            if (mState->late.has_value()) {
                mState->lacked += mState->awake.lacked();
                mState->late->end(std::chrono::steady_clock::now(), mState->lacked);
            }
            mState->signal.store(
                    mState->phase << ThreadPool::State::kSignalBits | ThreadPool::State::kOpen,
                    std::memory_order_relaxed);
        }
        mState->taken.store(false, std::memory_order_release);
        mState = nullptr;
    }
    mTaken->leases.fetch_sub(1, std::memory_order_relaxed);
    mTaken = nullptr;
}

size_t ThreadLease::threadCount() const {
    return mState == nullptr ? 1 : mState->threads;
}

bool ThreadLease::sharesLoops() {
    if (mTaken == nullptr) {
        ask();
    }
    return mState != nullptr && !mState->inPhase &&
           mState->leases.load(std::memory_order_relaxed) < mState->threads;
}

size_t ThreadLease::worker() const {
    return mState != nullptr && workerOf == mState ? workerIndex : 0;
}

Status ThreadLease::run(Loop loop, int64_t tiles, int64_t grain) {
    ThreadPool::State& state = *mState;
    const int64_t unit = std::max({grain, int64_t{1}, (tiles - 1) / kMostUnits + 1});
    if (state.executor != nullptr) {
        return state.runOnExecutor(loop, tiles, unit);
    }
    const ThreadPool::State::Phase now = state.open(loop, tiles, unit, (tiles - 1) / unit + 1);
    state.work(0, now);
    state.awaitAll(now);
    if (!state.failed.load(std::memory_order_relaxed)) {
        return Status();
    }
    state.failed.store(false, std::memory_order_relaxed);
    return std::exchange(state.failure, Status());
}

}  // namespace halyard
