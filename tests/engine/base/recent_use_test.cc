// SPDX-License-Identifier: Apache-2.0

#include "engine/base/recent_use.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

using std::chrono::milliseconds;
using Time = RecentUse::Clock::time_point;

constexpr Time kNow = Time(std::chrono::hours(1));

TEST(RecentUse, IsMuchBesideOthers) {
    RecentUse use;
    use.add(1, milliseconds(150), kNow);
    use.add(2, milliseconds(1), kNow);
    EXPECT_FALSE(use.isMuch(1, kNow));
    use.add(1, milliseconds(100), kNow);
    EXPECT_TRUE(use.isMuch(1, kNow));
    EXPECT_FALSE(use.isMuch(2, kNow));
    EXPECT_FALSE(use.isMuch(3, kNow)) << "who has never been seen";
}

TEST(RecentUse, IsNotMuchWhereNoOtherIsThere) {
    RecentUse use;
    use.add(1, milliseconds(2000), kNow);
    EXPECT_FALSE(use.isMuch(1, kNow));
    use.add(2, milliseconds(1), kNow);
    use.add(1, milliseconds(1), kNow);
    use.add(1, milliseconds(1), kNow);
    EXPECT_TRUE(use.isMuch(1, kNow)) << "the user that came last";
    const Time later = kNow + RecentUse::kPresent;
    use.add(1, milliseconds(2000), later);
    EXPECT_FALSE(use.isMuch(1, later)) << "the other one has been away for long";
}

TEST(RecentUse, IsForgottenWithinASecond) {
    RecentUse use;
    use.add(1, milliseconds(300), kNow);
    use.add(2, milliseconds(1), kNow);
    const Time soon = kNow + milliseconds(500);
    use.add(2, milliseconds(1), soon);
    EXPECT_TRUE(use.isMuch(1, soon));
    const Time later = kNow + milliseconds(1000);
    use.add(2, milliseconds(1), later);
    EXPECT_FALSE(use.isMuch(1, later));
    use.add(1, milliseconds(150), later);
    EXPECT_FALSE(use.isMuch(1, later));
}

TEST(RecentUse, TellsHowManyTimesTooMuchItIs) {
    RecentUse use;
    use.add(2, milliseconds(1), kNow);
    EXPECT_EQ(use.excess(1, kNow), 0);
    use.add(1, milliseconds(900), kNow);
    EXPECT_DOUBLE_EQ(use.excess(1, kNow), 4.5);
}

TEST(RecentUse, IsTakenOverByOnePeriod) {
    RecentUse use;
    use.add(2, milliseconds(1), kNow);
    use.add(1, milliseconds(150), kNow);
    use.add(1, milliseconds(100), kNow + milliseconds(500));
    EXPECT_TRUE(use.isMuch(1, kNow + milliseconds(500)));
}

}  // namespace
}  // namespace halyard
