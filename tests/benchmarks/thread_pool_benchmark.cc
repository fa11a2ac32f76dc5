// SPDX-License-Identifier: Apache-2.0
//
// Prints what a parallel loop on two threads costs: `ninja thread_pool_benchmark`. Nothing runs it
// as a test, since its figures depend on what else the machine does.
//
// A row is one kind of loop, timed one by one within leases: the median, the 99th percentile and
// the mean over all. It is taken on an idle machine and next to a thread that keeps one core busy.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/base/thread_pool.h"

namespace halyard {
namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// A chain of multiplications that neither memory nor vector units can shorten.
uint32_t work(int64_t steps) {
    uint32_t value = 1;
    for (int64_t i = 0; i < steps; ++i) {
        value = value * 1664525U + 1013904223U;
        asm volatile("" : "+r"(value));
    }
    return value;
}

int64_t stepsPerMicrosecond() {
    constexpr int64_t kSteps = 1'000'000;
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        const Clock::time_point start = Clock::now();
        work(kSteps);
        best = std::min(best, microsecondsSince(start));
    }
    return static_cast<int64_t>(static_cast<double>(kSteps) / best);
}

struct Loop {
    const char* name;
    int64_t tiles;
    double microseconds;  // of work per tile
    bool meets;           // each of the two tiles waits until the other has begun
    int phases;           // per lease
    int leases;
};

constexpr Loop kLoops[] = {
        {"2 tiles that meet", 2, 0, true, 2000, 5},
        {"2 empty tiles", 2, 0, false, 2000, 50},
        {"16 empty tiles", 16, 0, false, 2000, 50},
        {"256 empty tiles", 256, 0, false, 1000, 50},
        {"16 tiles, 1 us per thread", 16, 0.125, false, 2000, 50},
        {"16 tiles, 5 us per thread", 16, 0.625, false, 1000, 20},
        {"16 tiles, 20 us per thread", 16, 2.5, false, 500, 20},
        {"64 tiles, 20 us per thread", 64, 0.625, false, 500, 20},
        {"64 tiles, 200 us per thread", 64, 6.25, false, 500, 5},
        {"first of a lease, 2 empty tiles", 2, 0, false, 1, 2000},
        {"first of a lease, 20 us per thread", 64, 0.625, false, 1, 2000},
};

void measure(ThreadPool& pool, const Loop& loop, int64_t speed, const char* machine) {
    std::atomic<int64_t> begun = 0;
    const auto steps = static_cast<int64_t>(loop.microseconds * static_cast<double>(speed));
    const auto body = [&](int64_t begin, int64_t end, size_t /*worker*/) {
        work((end - begin) * steps);
        if (loop.meets) {
            const int64_t both = (begun.fetch_add(1) / 2 + 1) * 2;
            while (begun.load(std::memory_order_relaxed) < both) {
            }
        }
    };
    int failures = 0;
    std::vector<double> times;
    times.reserve(static_cast<size_t>(loop.phases * loop.leases));
    for (int round = 0; round < loop.leases; ++round) {
        ThreadLease lease = ThreadLease::take(&pool);
        for (int phase = 0; phase < loop.phases; ++phase) {
            const Clock::time_point start = Clock::now();
            const Status status = lease.parallelFor(loop.tiles, 1, body);
            failures += status.ok() ? 0 : 1;
            times.push_back(microsecondsSince(start));
        }
        if (loop.phases == 1) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
    if (failures > 0) {
        std::printf("%d loops failed\n", failures);
    }
    std::ranges::sort(times);
    std::printf(
            "%-36s %-10s %8.2f %8.2f %8.2f\n", loop.name, machine, times[times.size() / 2],
            times[times.size() * 99 / 100],
            std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size()));
}

// Keeps the last core that this process may use busy while it lives.
class BusyCore {
  public:
    BusyCore() : mThread([this] { burn(); }) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ~BusyCore() {
        mStop = true;
        mThread.join();
    }

  private:
    void burn() {
        cpu_set_t cores;
        sched_getaffinity(0, sizeof cores, &cores);
        for (int core = CPU_SETSIZE - 1; core >= 0; --core) {
            if (CPU_ISSET(core, &cores)) {
                CPU_ZERO(&cores);
                CPU_SET(core, &cores);
                sched_setaffinity(0, sizeof cores, &cores);
                break;
            }
        }
        while (!mStop) {
            work(1000);
        }
    }

    std::atomic<bool> mStop = false;
    std::thread mThread;
};

void run() {
    const int64_t speed = stepsPerMicrosecond();
    ThreadPool pool(2);
    std::printf("%-36s %-10s %8s %8s %8s\n", "microseconds", "machine", "median", "99 %", "mean");
    for (const Loop& loop : kLoops) {
        measure(pool, loop, speed, "idle");
    }
    const BusyCore busy;
    for (const Loop& loop : kLoops) {
        if (!loop.meets) {  // would wait for the scheduler each time
            measure(pool, loop, speed, "busy core");
        }
    }
}

}  // namespace
}  // namespace halyard

int main() {
    halyard::run();
    return 0;
}
