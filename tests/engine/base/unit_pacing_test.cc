// SPDX-License-Identifier: Apache-2.0
//
// Loops on processors whose cores differ, simulated: workers take and steal units as the pool has
// them do, and each unit takes as long as the core's pace has it.

#include "engine/base/unit_pacing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/base/loop_units.h"

namespace halyard {
namespace {

struct Processor {
    const char* name;
    std::vector<uint32_t> capacities;  // of the core of each worker
};

const std::vector<Processor>& processors() {
    static const auto& all =
            *new std::vector<Processor>{{"4+4", {1024, 1024, 1024, 1024, 300, 300, 300, 300}},
                                        {"1+3+4", {1024, 763, 763, 763, 250, 250, 250, 250}},
                                        {"held by a slow core", {300, 1024, 1024, 300}},
                                        {"2+6", {1024, 1024, 160, 160, 160, 160, 160, 160}},
                                        {"alike", {1024, 1024, 1024, 1024}}};
    return all;
}

// In units of the fastest core.
struct Times {
    double end = 0.0;
    double ideal = 0.0;
};

// `knowsPaces`: otherwise every worker begins whatever it finds.
Times simulate(const std::vector<uint32_t>& capacities, uint32_t units, bool knowsPaces) {
    const size_t threads = capacities.size();
    const UnitShares shares = {.units = units, .threads = threads, .leftOut = {}};
    std::vector<Units> ranges;
    std::vector<WorkerPace> paces;
    double total = 0.0;
    for (size_t i = 0; i < threads; ++i) {
        ranges.push_back(shares.of(i, 0));
        WorkerPace& pace = paces.emplace_back(
                WorkerPace{.own = capacities[i], .fastest = std::ranges::max(capacities)});
        for (const uint32_t each : capacities) {
            pace.faster += knowsPaces && each > pace.own ? each : 0;
        }
        total += capacities[i] / 1024.0;
    }
    const auto unitsLeft = [&] {
        uint32_t left = 0;
        for (const Units& range : ranges) {
            left += range.empty() ? 0 : range.end - range.begin;
        }
        return left;
    };
    std::mt19937 random(units);
    std::vector<double> clock(threads, 0.0);
    std::vector<bool> leaves(threads, false);
    while (unitsLeft() > 0) {
        // The worker that is free the earliest is next.
        size_t self = threads;
        for (size_t i = 0; i < threads; ++i) {
            if (!leaves[i] && (self == threads || clock[i] < clock[self])) {
                self = i;
            }
        }
        if (self == threads) {
            ADD_FAILURE() << "units are left that no worker begins";
            return {};
        }
        if (!paces[self].isWorthBeginning(unitsLeft())) {
            leaves[self] = true;  // units that are left get fewer
            continue;
        }
        uint32_t count = 1;
        if (!ranges[self].empty()) {
            count = unitsAtOnce(ranges[self].end - ranges[self].begin);
            ranges[self].begin += count;
        } else {
            size_t victim = (self + 1) % threads;
            while (ranges[victim].empty()) {
                victim = (victim + 1) % threads;
            }
            const uint32_t end = ranges[victim].end;
            ranges[victim].end -=
                    paces[self].isFastest() ? (end - ranges[victim].begin + 1) / 2 : 1;
            ranges[self] = {.begin = ranges[victim].end + 1, .end = end};
        }
        // No two units take the same time.
        const double jitter = 1.0 + 0.1 * static_cast<double>(random()) / std::mt19937::max();
        clock[self] += jitter * count * 1024.0 / capacities[self];
    }
    return {.end = std::ranges::max(clock), .ideal = units / total};
}

TEST(UnitPacing, HasNoFastWorkerWaitForASlowOne) {
    for (const Processor& processor : processors()) {
        for (const uint32_t units : {1U, 3U, 8U, 16U, 32U, 100U, 500U, 4095U}) {
            const Times times = simulate(processor.capacities, units, true);
            // The last units take one unit of the fastest core, and a little more where these are
            // a few.
            EXPECT_LE(times.end, 1.15 * times.ideal + 2.5)
                    << units << " units on " << processor.name << ", ideally " << times.ideal;
        }
    }
}

// Where a worker gets a few units, as most loops of a network have it.
TEST(UnitPacing, SavesTimeOnCoresThatDiffer) {
    for (const Processor& processor : processors()) {
        double with = 0.0;
        double without = 0.0;
        for (uint32_t units = 2; units <= 64; ++units) {
            const Times times = simulate(processor.capacities, units, true);
            with += times.end / times.ideal;
            without += simulate(processor.capacities, units, false).end / times.ideal;
        }
        const bool differs = std::ranges::count(processor.capacities, 1024U) !=
                             static_cast<ptrdiff_t>(processor.capacities.size());
        EXPECT_LE(with, differs ? 0.95 * without : without) << processor.name;
    }
}

TEST(UnitPacing, LeavesTheLastUnitsToTheFastest) {
    const WorkerPace slow = {.own = 300, .fastest = 1024, .faster = 4096};
    EXPECT_FALSE(slow.isWorthBeginning(1));
    EXPECT_TRUE(slow.isWorthBeginning(100));
    const WorkerPace fast = {.own = 1024, .fastest = 1024, .faster = 0};
    EXPECT_TRUE(fast.isWorthBeginning(1));
}

}  // namespace
}  // namespace halyard
