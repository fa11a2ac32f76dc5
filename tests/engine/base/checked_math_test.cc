// SPDX-License-Identifier: Apache-2.0

#include "engine/base/checked_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace halyard {
namespace {

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
constexpr uint64_t kMost64 = std::numeric_limits<uint64_t>::max();

TEST(CheckedMath, GivesTheResultWhereItFits) {
    EXPECT_EQ(checkedAdd(kMost, -1), kMost - 1);
    EXPECT_EQ(checkedSubtract(kLeast, -1), kLeast + 1);
    EXPECT_EQ(checkedMultiply(46340, 46340), 2147395600);
    EXPECT_EQ(checkedMultiply(kMost64, uint64_t{1}), kMost64);
}

TEST(CheckedMath, GivesNothingWhereItDoesNotFit) {
    EXPECT_FALSE(checkedAdd(kMost, 1).has_value());
    EXPECT_FALSE(checkedAdd(kLeast, -1).has_value());
    EXPECT_FALSE(checkedSubtract(uint32_t{0}, uint32_t{1}).has_value());
    EXPECT_FALSE(checkedMultiply(46341, 46341).has_value());
    EXPECT_FALSE(checkedMultiply(kLeast, -1).has_value());
    EXPECT_FALSE(checkedMultiply(kMost64 / 2 + 1, uint64_t{2}).has_value());
}

TEST(CheckedMath, AlignsUpUnlessThatOverflows) {
    EXPECT_EQ(checkedAlignUp<size_t>(0, 64), 0U);
    EXPECT_EQ(checkedAlignUp<size_t>(1, 64), 64U);
    EXPECT_EQ(checkedAlignUp<size_t>(64, 64), 64U);
    EXPECT_EQ(checkedAlignUp(kMost64 - 63, uint64_t{64}), kMost64 - 63);
    EXPECT_FALSE(checkedAlignUp(kMost64 - 62, uint64_t{64}).has_value());
}

TEST(CheckedMath, TellsWhetherARangeFits) {
    EXPECT_TRUE(rangeFits(0U, 0U, 0U));
    EXPECT_TRUE(rangeFits(4U, 6U, 10U));
    EXPECT_FALSE(rangeFits(4U, 7U, 10U));
    EXPECT_FALSE(rangeFits(11U, 0U, 10U));
    EXPECT_FALSE(rangeFits(kMost64, uint64_t{2}, uint64_t{10})) << "the sum wraps to 1";
}

}  // namespace
}  // namespace halyard
