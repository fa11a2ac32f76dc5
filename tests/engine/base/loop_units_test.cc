// SPDX-License-Identifier: Apache-2.0

#include "engine/base/loop_units.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard {
namespace {

TEST(LoopUnits, FitInAWord) {
    const auto most = static_cast<uint32_t>(kMostUnits);
    for (const Units& units :
         {Units{}, Units{.phase = kPhaseMask, .begin = 0, .end = most},
          Units{.phase = 7, .begin = most, .end = most}, Units{.phase = 1, .begin = 3, .end = 5}}) {
        const Units again = Units::unpack(units.pack());
        EXPECT_EQ(again.phase, units.phase);
        EXPECT_EQ(again.begin, units.begin);
        EXPECT_EQ(again.end, units.end);
    }
}

TEST(LoopUnits, TellEarlierPhasesFromLaterOnesWhenTheirNumbersGoRound) {
    for (const uint64_t phase : {uint64_t{0}, uint64_t{1}, kPhaseMask / 2, kPhaseMask}) {
        EXPECT_FALSE(isBefore(phase, phase));
        for (const uint64_t ahead : {uint64_t{1}, kRenewals, kPhaseMask / 2}) {
            const uint64_t later = (phase + ahead) & kPhaseMask;
            EXPECT_TRUE(isBefore(phase, later)) << phase << " " << ahead;
            EXPECT_FALSE(isBefore(later, phase)) << phase << " " << ahead;
        }
    }
}

TEST(LoopUnits, AreDealtOutOnceAndEvenlyToThoseThatAreNotLeftOut) {
    for (const size_t threads : {1, 2, 5, 16, 100}) {
        for (const uint64_t bits : {uint64_t{0}, uint64_t{2}, uint64_t{0b10110}, ~uint64_t{1}}) {
            WorkerSet leftOut;
            for (size_t i = 1; i < threads; ++i) {
                if (WorkerSet(bits).has(i)) {
                    leftOut.add(i);
                }
            }
            const size_t there = threads - leftOut.count();
            for (const size_t units : {1, 2, 7, 16, 4095}) {
                SCOPED_TRACE(std::to_string(units) + " units, " + std::to_string(threads) +
                             " threads, without " + std::to_string(leftOut.bits()));
                const UnitShares shares = {.units = units, .threads = threads, .leftOut = leftOut};
                uint32_t next = 0;
                size_t busy = 0;
                for (size_t i = 0; i < threads; ++i) {
                    const Units mine = shares.of(i, 7);
                    EXPECT_EQ(mine.phase, 7U);
                    EXPECT_EQ(shares.has(i), !mine.empty());
                    if (mine.empty()) {
                        continue;
                    }
                    EXPECT_FALSE(leftOut.has(i));
                    EXPECT_EQ(mine.begin, next);
                    EXPECT_LE(mine.end - mine.begin, (units + there - 1) / there);
                    next = mine.end;
                    ++busy;
                }
                EXPECT_EQ(next, units);
                EXPECT_EQ(busy, shares.count());
            }
        }
    }
}

}  // namespace
}  // namespace halyard
