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
#include "engine/base/unit_pacing.h"
#include "engine/base/worker_set.h"

namespace halyard {
namespace {

// Two cache lines: what one thread writes often is kept that far from what another one reads, since
// some cores fetch lines in pairs.
constexpr size_t kApart = 128;

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
    std::optional<WorkerPace> paceOf(size_t worker, const Phase& now) const;
    uint64_t unitsLeft(const Phase& now) const;
    Units takeSome(size_t self, const Phase& now, const std::optional<WorkerPace>& pace);
    Units stealHalf(size_t thief, const Phase& now, const std::optional<WorkerPace>& pace);
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

// Nothing where another phase began.
std::optional<ThreadPool::State::Phase> ThreadPool::State::phaseOf(uint64_t number) const {
    Phase now;
    now.number = number;
    now.call = call.load(std::memory_order_acquire);
    now.body = body.load(std::memory_order_acquire);
    now.tiles = tiles.load(std::memory_order_acquire);
    now.tilesPerUnit = tilesPerUnit.load(std::memory_order_acquire);
    now.lines = lines.load(std::memory_order_acquire);
    now.shares.leftOut = WorkerSet(leftOut.load(std::memory_order_acquire));
    if (signal.load(std::memory_order_relaxed) >> 1 != (number << 1 | kOpen >> 1)) {
        return std::nullopt;
    }
    now.shares.units = static_cast<size_t>((now.tiles - 1) / now.tilesPerUnit + 1);
    now.shares.threads = threads;
    return now;
}

// The work items of a phase that a worker has yet to begin, where its own word for them is
// `packed`: its share, as long as no other worker took some of that, and the phase can't end
// before; none if the phase is over.
Units ThreadPool::State::unitsOf(size_t worker, uint64_t packed, const Phase& now) const {
    const Units units = Units::unpack(packed);
    if (units.phase == now.number) {
        return units;
    }
    return isBefore(units.phase, now.number) ? now.shares.of(worker, now.number)
                                             : Units{.phase = now.number};
}

// A worker's part of a phase, which may be over by now.
void ThreadPool::State::help(size_t self, uint64_t number) {
    if (const std::optional<Phase> now = phaseOf(number);
        now.has_value() && !now->shares.leftOut.has(self)) {
        const LogScope scope(now->lines);
        work(self, *now);
    }
}

// Nothing where all cores are alike.
std::optional<WorkerPace> ThreadPool::State::paceOf(size_t worker, const Phase& now) const {
    if (areCoresAlike || !spins.load(std::memory_order_relaxed)) {
        return std::nullopt;
    }
    const uint32_t own = workers[worker].pace.load(std::memory_order_relaxed);
    WorkerPace pace = {.own = own, .fastest = own};
    for (size_t i = 0; i < threads; ++i) {
        const uint32_t each = workers[i].pace.load(std::memory_order_relaxed);
        if (each > own && !now.shares.leftOut.has(i)) {
            pace.fastest = std::max(pace.fastest, each);
            pace.faster += each;
        }
    }
    return pace;
}

// Units of the phase that no worker has begun, as far as ranges tell.
uint64_t ThreadPool::State::unitsLeft(const Phase& now) const {
    uint64_t left = 0;
    for (size_t i = 0; i < threads; ++i) {
        const Units units = unitsOf(i, workers[i].units.load(std::memory_order_relaxed), now);
        left += units.empty() ? 0 : units.end - units.begin;
    }
    return left;
}

// The first units of the worker's own range: fewer and fewer, so that there are few calls and yet
// little that cannot be stolen from a thread which stops running.
Units ThreadPool::State::takeSome(size_t self, const Phase& now,
                                  const std::optional<WorkerPace>& pace) {
    std::atomic<uint64_t>& own = workers[self].units;
    uint64_t packed = own.load(std::memory_order_relaxed);
    while (true) {
        const Units units = unitsOf(self, packed, now);
        if (units.empty()) {
            return {};
        }
        if (pace.has_value() && !pace->isWorthBeginning(unitsLeft(now))) {
            return {};
        }
        const uint32_t middle = units.begin + unitsAtOnce(units.end - units.begin);
        const Units rest = {.phase = now.number, .begin = middle, .end = units.end};
        if (own.compare_exchange_weak(packed, rest.pack(), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
            return {.phase = now.number, .begin = units.begin, .end = middle};
        }
    }
}

// Takes the second half of what another worker has; all but the first unit of it, which is
// returned, becomes the thief's own. Others see nothing of it for a moment in between: a thread
// that looks around just then finds less to do, never something wrong.
// A thief that is not the fastest takes that unit alone: all that is left then lies where others
// see it.
Units ThreadPool::State::stealHalf(size_t thief, const Phase& now,
                                   const std::optional<WorkerPace>& pace) {
    const bool takesOne = pace.has_value() && !pace->isFastest();
    if (takesOne && !pace->isWorthBeginning(unitsLeft(now))) {
        return {};
    }
    for (size_t step = 1; step < threads; ++step) {
        const size_t sum = thief + step;
        const size_t victim = sum < threads ? sum : sum - threads;
        uint64_t packed = workers[victim].units.load(std::memory_order_relaxed);
        while (true) {
            Units units = unitsOf(victim, packed, now);
            if (units.empty()) {
                break;
            }
            const uint32_t end = units.end;
            units.end -= takesOne ? 1 : (units.end - units.begin + 1) / 2;
            if (!workers[victim].units.compare_exchange_weak(packed, units.pack(),
                                                             std::memory_order_acq_rel,
                                                             std::memory_order_relaxed)) {
                continue;
            }
            const Units rest = {.phase = now.number, .begin = units.end + 1, .end = end};
            if (!rest.empty()) {
                // Its own range is empty, so no other worker writes there; and the phase stays
                // open.
                workers[thief].units.store(rest.pack(), std::memory_order_release);
            }
            return {.phase = now.number, .begin = units.end, .end = units.end + 1};
        }
    }
    return {};
}

// Does units of the phase as long as there are any. They count as done, and the phase stays open
// until then, as soon as the worker's own range is empty: to look around takes a while where there
// are many threads. Unless it `takesAll`, a worker on a slow core leaves units to others that would
// have them done before it.
void ThreadPool::State::work(size_t self, const Phase& now, bool takesAll) {
    const std::optional<WorkerPace> pace = takesAll ? std::nullopt : paceOf(self, now);
    uint32_t done = 0;
    while (true) {
        Units units = takeSome(self, now, pace);
        if (units.empty()) {
            if (done > 0) {
                finish(self, now, std::exchange(done, 0));
            }
            units = stealHalf(self, now, pace);
            if (units.empty()) {
                return;
            }
        }
        done += units.end - units.begin;
        if (failed.load(std::memory_order_relaxed)) {
            continue;
        }
        const int64_t begin = units.begin * now.tilesPerUnit;
        // The last unit may be shorter, and its end beyond the type's reach.
        const int64_t end =
                std::min((units.end - 1) * now.tilesPerUnit, now.tiles - now.tilesPerUnit) +
                now.tilesPerUnit;
        Status status = now.call(now.body, begin, end, self);
        if (!status.ok() && !failed.exchange(true, std::memory_order_relaxed)) {
            failure = std::move(status);
        }
    }
}

void ThreadPool::State::finish(size_t self, const Phase& now, uint32_t count) {
    Units done = Units::unpack(workers[self].done.load(std::memory_order_relaxed));
    done = {.phase = now.number,
            .begin = 0,
            .end = count + (done.phase == now.number ? done.end : 0)};
    // Either this thread sees `awaited`, or the holder, who sets that first, sees what is done.
    workers[self].done.exchange(done.pack(), std::memory_order_seq_cst);
    if (awaited.load(std::memory_order_seq_cst) != 0 && isDone(now)) {
        awaited.exchange(0, std::memory_order_seq_cst);
        futexWake(awaited);
    }
}

bool ThreadPool::State::isDone(const Phase& now) const {
    size_t done = 0;
    for (size_t i = 0; i < threads; ++i) {
        const Units units = Units::unpack(workers[i].done.load(std::memory_order_seq_cst));
        done += units.phase == now.number ? units.end : 0;
    }
    return done == now.shares.units;
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
    workers[0].pace.store(capacities.of(core), std::memory_order_relaxed);
    for (size_t i = 1; i < threads; ++i) {
        const uint32_t least = sorted[std::min(i, count) - 1];
        workers[i].pace.store(least, std::memory_order_relaxed);
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
