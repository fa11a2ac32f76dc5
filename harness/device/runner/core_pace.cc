// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/core_pace.h"

#include <chrono>
#include <cstdint>

namespace halyard::runner {

namespace {

using Clock = std::chrono::steady_clock;

// Long enough that the clock does not count, short enough that what comes behind finds the core as
// it was.
constexpr std::chrono::milliseconds kWarmup(1);
constexpr std::chrono::milliseconds kSpan(4);
constexpr int kRounds = 1000;
constexpr int kAdditions = 8;

// Which the compiler can neither merge nor leave out.
void add(int rounds) {
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    uint64_t one = 1;
    asm volatile("" : "+r"(one));
    for (int round = 0; round < rounds; ++round) {
        a += one, b += one, c += one, d += one, e += one, f += one, g += one, h += one;
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    }
}

// Over so long at least.
double additionsPerNs(std::chrono::nanoseconds span) {
    const Clock::time_point start = Clock::now();
    int64_t rounds = 0;
    std::chrono::nanoseconds passed(0);
    while (passed < span) {
        add(kRounds);
        rounds += kRounds;
        passed = Clock::now() - start;
    }
    return static_cast<double>(rounds * kAdditions) / static_cast<double>(passed.count());
}

}  // namespace

double measureCorePace() {
    static_cast<void>(additionsPerNs(kWarmup));
    return additionsPerNs(kSpan);
}

}  // namespace halyard::runner
