// SPDX-License-Identifier: Apache-2.0
//
// How workers of a thread pool take, steal and do the units of a phase.

#include <algorithm>
#include <utility>

#include "engine/base/futex.h"
#include "engine/base/thread_pool_state.h"

namespace halyard {

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

// Beside the workers that have come to the phase: others may yet be asleep.
WorkerPace ThreadPool::State::paceOf(size_t worker, const Phase& now) const {
    const uint32_t own = workers[worker].pace.load(std::memory_order_relaxed);
    WorkerPace pace = {.own = own, .fastest = own};
    for (size_t i = 0; i < threads; ++i) {
        const uint32_t each = workers[i].pace.load(std::memory_order_relaxed);
        if (each > own && workers[i].came.load(std::memory_order_relaxed) == now.number) {
            pace.fastest = std::max(pace.fastest, each);
            pace.faster += each;
        }
    }
    return pace;
}

bool ThreadPool::State::leavesToFaster(size_t worker, const Phase& now) const {
    return !paceOf(worker, now).isWorthBeginning(unitsLeft(now));
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
Units ThreadPool::State::takeSome(size_t self, const Phase& now) {
    std::atomic<uint64_t>& own = workers[self].units;
    uint64_t packed = own.load(std::memory_order_relaxed);
    while (true) {
        const Units units = unitsOf(self, packed, now);
        if (units.empty()) {
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
// that looks around just then finds less to do, never something wrong. A worker that `takesOne`
// leaves the others where they are seen: it may begin none of them.
Units ThreadPool::State::stealHalf(size_t thief, const Phase& now, bool takesOne) {
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
// are many threads. Unless it `takesAll`, a worker on a slow core leaves units to faster ones that
// would have them done before it (unit_pacing.h).
void ThreadPool::State::work(size_t self, const Phase& now, bool takesAll) {
    const bool isPaced = !areCoresAlike && spins.load(std::memory_order_relaxed);
    // A slow thief moves no units to its own range: it may leave them to faster workers, which have
    // gone if they saw none just then.
    const bool takesOne = isPaced && !takesAll &&
                          workers[self].pace.load(std::memory_order_relaxed) <
                                  fastestPace.load(std::memory_order_relaxed);
    if (isPaced) {
        workers[self].came.store(now.number, std::memory_order_relaxed);
    }
    uint32_t done = 0;
    while (true) {
        const bool leaves = isPaced && !takesAll && leavesToFaster(self, now);
        Units units = leaves ? Units() : takeSome(self, now);
        if (units.empty()) {
            if (done > 0) {
                finish(self, now, std::exchange(done, 0));
            }
            if (!leaves) {
                units = stealHalf(self, now, takesOne);
            }
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

}  // namespace halyard
