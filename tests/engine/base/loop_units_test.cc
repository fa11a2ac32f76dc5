// SPDX-License-Identifier: Apache-2.0

#include "engine/base/loop_units.h"

#include <gtest/gtest.h>

#include <cstdint>

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

}  // namespace
}  // namespace halyard
