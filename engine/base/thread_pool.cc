// SPDX-License-Identifier: Apache-2.0

#include "engine/base/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <string>
#include <thread>

#include "engine/base/log.h"

namespace halyard {
namespace {

// Two cache lines: what one thread writes often is kept that far from what another one reads, since
// some cores fetch lines in pairs.
constexpr size_t kApart = 128;

// More than most gaps between the phases of a run, and a few times what it costs to sleep and wake:
// 5 us each way on a processor of its own, 30 and more where that is a virtual one.
constexpr std::chrono::microseconds kSpin(200);
constexpr int kPausesPerLook = 16;  // at the clock

// A phase is cut into units, each one or more grains long, and a range is [begin, end) of units.
// Ranges carry the number of their phase, so that what is left over from an earlier one is never
// taken for this one's: 40 bits last for days of nothing but phases, and a thread would have to
// sleep between two instructions for as long to be mistaken.
constexpr int kUnitBits = 12;
constexpr int64_t kMostUnits = (int64_t{1} << kUnitBits) - 1;
constexpr int kPhaseBits = 64 - 2 * kUnitBits;
constexpr uint64_t kMostPhases = uint64_t{1} << kPhaseBits;

// A thread takes one of so many parts of what its range still has.
constexpr uint32_t kShareTaken = 8;

struct Units {
    uint64_t phase = 0;
    uint32_t begin = 0;
    uint32_t end = 0;

    static Units unpack(uint64_t packed) {
        constexpr uint64_t kMask = kMostUnits;
        return {.phase = packed >> (2 * kUnitBits),
                .begin = static_cast<uint32_t>(packed >> kUnitBits & kMask),
                .end = static_cast<uint32_t>(packed & kMask)};
    }
    uint64_t pack() const { return phase << (2 * kUnitBits) | uint64_t{begin} << kUnitBits | end; }
    bool empty() const { return begin >= end; }
};

void futexWait(std::atomic<uint32_t>& word, uint32_t whileItIs) {
    static_assert(sizeof word == sizeof(uint32_t));
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, whileItIs, nullptr, nullptr, 0);
}

void futexWake(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

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

// What a thread is to the pool whose worker it is.
thread_local const void* workerOf = nullptr;
thread_local size_t workerIndex = 0;

}  // namespace

struct ThreadPool::State {
    struct alignas(kApart) Worker {
        std::atomic<uint64_t> units = 0;   // what it has yet to begin
        std::atomic<uint32_t> asleep = 0;  // a futex: 1 while it sleeps, set to 0 to wake it
        std::atomic<pid_t> id = 0;         // as the kernel counts threads; 0 until it has started
        State* state = nullptr;
        size_t index = 0;
        pthread_t thread = {};
    };

    // Phase number, and whether the lease goes on: bit 0.
    static constexpr uint64_t kLeased = 1;
    static constexpr uint64_t kStop = ~uint64_t{0};
    // In `left`: the leasing thread sleeps on it.
    static constexpr uint32_t kAwaited = uint32_t{1} << 31;

    // What the holder of the lease says and the workers look at. The fields below `signal` are
    // written before it and only while no phase is open. A worker may read those of a later phase
    // than the one it came for, but then it gets no unit and does not use them: a unit that it has
    // keeps the phase open.
    alignas(kApart) std::atomic<uint64_t> signal = 0;
    std::atomic<Status (*)(const void*, int64_t, int64_t, size_t)> call = nullptr;
    std::atomic<const void*> body = nullptr;
    std::atomic<int64_t> tiles = 0;
    std::atomic<int64_t> tilesPerUnit = 1;
    std::atomic<bool> failed = false;
    std::atomic<bool> spins = false;

    alignas(kApart) std::atomic<uint32_t> left = 0;  // units of the phase not done, and kAwaited

    // The holder's own, but for `failure`, which belongs to whoever sets `failed`, and `inPhase`,
    // which bodies read.
    alignas(kApart) std::atomic<size_t> leases =
            0;  // with those that were too late for the threads
    std::atomic<bool> taken = false;
    uint64_t phase = 0;
    bool woken = false;  // since the lease began
    bool inPhase = false;
    Status failure;
    cpu_set_t cores = {};  // which it may use, as of the lease's first phase
    int avoided = -1;      // the core that the workers were told to keep off

    size_t threads = 1;
    std::unique_ptr<Worker[]> workers;  // [0]: whoever holds the lease

    static void* serve(void* argument);
    uint64_t awaitSignal(Worker& worker, uint64_t seen);
    Units takeSome(Worker& worker, uint64_t phaseNow);
    Units stealHalf(size_t thief, uint64_t phaseNow);
    uint32_t work(size_t self, uint64_t phaseNow);
    void help(size_t self, uint64_t phaseNow);
    void keepWorkersApart();
    void open(ThreadLease::Loop loop, int64_t count, int64_t unit, int64_t units);
    void awaitAll(uint32_t done);
};

// Called with `seen`, the last signal that this worker knows. Returns the next phase's.
uint64_t ThreadPool::State::awaitSignal(Worker& worker, uint64_t seen) {
    const auto isOver = [&](uint64_t now) { return now / 2 != seen / 2; };
    uint64_t now = signal.load(std::memory_order_acquire);
    while (!isOver(now)) {
        if ((now & kLeased) != 0 && spins.load(std::memory_order_relaxed)) {
            const bool changed = spinUntil(
                    [&] {
                        now = signal.load(std::memory_order_acquire);
                        return isOver(now) || (now & kLeased) == 0;
                    },
                    [&] { help(worker.index, seen / 2); });
            if (changed && isOver(now)) {
                break;
            }
        }
        // Either this thread sees the next signal below, or who gives it sees `asleep`. Both write
        // by exchange: QEMU runs a load-acquire of Arm ahead of the store-release before it.
        worker.asleep.exchange(1, std::memory_order_seq_cst);
        now = signal.load(std::memory_order_seq_cst);
        if (isOver(now)) {
            worker.asleep.store(0, std::memory_order_relaxed);
            break;
        }
        while (worker.asleep.load(std::memory_order_acquire) != 0) {
            futexWait(worker.asleep, 1);
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
    uint64_t seen = 0;
    while (true) {
        seen = state.awaitSignal(worker, seen);
        if (seen == kStop) {
            return nullptr;
        }
        state.help(worker.index, seen / 2);
    }
}

// What a worker does of a phase that may be over by now.
void ThreadPool::State::help(size_t self, uint64_t phaseNow) {
    if (left.load(std::memory_order_relaxed) == 0) {
        return;
    }
    const uint32_t done = work(self, phaseNow);
    if (done > 0 && left.fetch_sub(done, std::memory_order_acq_rel) - done == kAwaited) {
        futexWake(left);
    }
}

// The first units of the worker's own range: fewer and fewer, so that there are few calls and yet
// little that cannot be stolen from a thread which stops running.
Units ThreadPool::State::takeSome(Worker& worker, uint64_t phaseNow) {
    uint64_t packed = worker.units.load(std::memory_order_relaxed);
    while (true) {
        const Units units = Units::unpack(packed);
        if (units.phase != phaseNow || units.empty()) {
            return {};
        }
        const uint32_t middle = units.begin + (units.end - units.begin - 1) / kShareTaken + 1;
        const Units rest = {.phase = phaseNow, .begin = middle, .end = units.end};
        if (worker.units.compare_exchange_weak(packed, rest.pack(), std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
            return {.phase = phaseNow, .begin = units.begin, .end = middle};
        }
    }
}

// Takes the second half of what another worker has; all but the first unit of it, which is
// returned, becomes the thief's own. Others see nothing of it for a moment in between: a thread
// that looks around just then finds less to do, never something wrong.
Units ThreadPool::State::stealHalf(size_t thief, uint64_t phaseNow) {
    for (size_t step = 1; step < threads; ++step) {
        const size_t sum = thief + step;
        Worker& victim = workers[sum < threads ? sum : sum - threads];
        uint64_t packed = victim.units.load(std::memory_order_relaxed);
        while (true) {
            Units units = Units::unpack(packed);
            if (units.phase != phaseNow || units.empty()) {
                break;
            }
            const uint32_t end = units.end;
            units.end -= (units.end - units.begin + 1) / 2;
            if (!victim.units.compare_exchange_weak(packed, units.pack(), std::memory_order_acq_rel,
                                                    std::memory_order_relaxed)) {
                continue;
            }
            const Units rest = {.phase = phaseNow, .begin = units.end + 1, .end = end};
            if (!rest.empty()) {
                // Its own range is empty, so nobody else writes there; and the phase stays open.
                workers[thief].units.store(rest.pack(), std::memory_order_release);
            }
            return {.phase = phaseNow, .begin = units.end, .end = units.end + 1};
        }
    }
    return {};
}

// Does units of the phase as long as there are any. Returns how many; they count as done only once
// they are subtracted from `left`, and until then the phase stays open.
uint32_t ThreadPool::State::work(size_t self, uint64_t phaseNow) {
    const auto callNow = call.load(std::memory_order_relaxed);
    const void* const bodyNow = body.load(std::memory_order_relaxed);
    const int64_t count = tiles.load(std::memory_order_relaxed);
    const int64_t length = tilesPerUnit.load(std::memory_order_relaxed);
    uint32_t done = 0;
    while (true) {
        Units units = takeSome(workers[self], phaseNow);
        if (units.empty()) {
            units = stealHalf(self, phaseNow);
            if (units.empty()) {
                return done;
            }
        }
        done += units.end - units.begin;
        if (failed.load(std::memory_order_relaxed)) {
            continue;
        }
        const int64_t begin = units.begin * length;
        // The last unit may be shorter, and its end beyond the type's reach.
        const int64_t end = std::min((units.end - 1) * length, count - length) + length;
        Status status = callNow(bodyNow, begin, end, self);
        if (!status.ok() && !failed.exchange(true, std::memory_order_relaxed)) {
            failure = std::move(status);
        }
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
    for (size_t i = 1; i < threads; ++i) {
        if (const pid_t id = workers[i].id.load(std::memory_order_relaxed); id != 0) {
            sched_setaffinity(id, sizeof others, &others);
        } else {
            avoided = -1;
        }
    }
}

void ThreadPool::State::open(ThreadLease::Loop loop, int64_t count, int64_t unit, int64_t units) {
    if (!woken) {
        woken = true;
        const cpu_set_t now = usableCores();
        if (!CPU_EQUAL(&now, &cores)) {
            cores = now;
            avoided = -1;
        }
        spins.store(threads <= countOf(cores), std::memory_order_relaxed);
    }
    if (spins.load(std::memory_order_relaxed)) {
        keepWorkersApart();
    }
    inPhase = true;
    phase = (phase + 1) % (kMostPhases - 1);
    call.store(loop.call, std::memory_order_relaxed);
    body.store(loop.body, std::memory_order_relaxed);
    tiles.store(count, std::memory_order_relaxed);
    tilesPerUnit.store(unit, std::memory_order_relaxed);
    left.store(static_cast<uint32_t>(units), std::memory_order_relaxed);
    const auto shares =
            static_cast<size_t>(std::min<int64_t>(units, static_cast<int64_t>(threads)));
    for (size_t i = 0; i < shares; ++i) {
        const Units share = {
                .phase = phase,
                .begin = static_cast<uint32_t>(static_cast<size_t>(units) * i / shares),
                .end = static_cast<uint32_t>(static_cast<size_t>(units) * (i + 1) / shares)};
        workers[i].units.store(share.pack(), std::memory_order_relaxed);
    }
    signal.exchange(phase * 2 | kLeased, std::memory_order_seq_cst);
    for (size_t i = 1; i < shares; ++i) {
        if (workers[i].asleep.load(std::memory_order_seq_cst) != 0 &&
            workers[i].asleep.exchange(0, std::memory_order_acq_rel) != 0) {
            futexWake(workers[i].asleep);
        }
    }
}

// Ends the phase. `done`: what the leasing thread did of it.
void ThreadPool::State::awaitAll(uint32_t done) {
    uint32_t now = left.fetch_sub(done, std::memory_order_acq_rel) - done;
    if (now != 0 && spins.load(std::memory_order_relaxed)) {
        spinUntil(
                [&] {
                    now = left.load(std::memory_order_acquire);
                    return now == 0;
                },
                // A thief's new range may have come into sight.
                [&] { left.fetch_sub(work(0, phase), std::memory_order_acq_rel); });
    }
    if (now != 0) {
        now = left.fetch_or(kAwaited, std::memory_order_acq_rel) | kAwaited;
        while (now != kAwaited) {
            futexWait(left, now);
            now = left.load(std::memory_order_acquire);
        }
    }
    inPhase = false;
}

ThreadPool::ThreadPool(size_t threads) : mState(std::make_unique<State>()) {
    if (threads == 0) {
        threads = countOf(usableCores());
    }
    State& state = *mState;
    state.workers = std::make_unique<State::Worker[]>(threads);
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

ThreadPool::~ThreadPool() {
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
            mState->signal.store(mState->phase * 2, std::memory_order_relaxed);
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
    state.open(loop, tiles, unit, (tiles - 1) / unit + 1);
    state.awaitAll(state.work(0, state.phase));
    if (!state.failed.load(std::memory_order_relaxed)) {
        return Status();
    }
    state.failed.store(false, std::memory_order_relaxed);
    return std::exchange(state.failure, Status());
}

}  // namespace halyard
