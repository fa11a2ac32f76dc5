// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/half_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/engine/base/boundary_floats.h"

namespace halyard::engine {
namespace {

TEST(HalfRounding, IsThatOfOneElement) {
    const std::vector<float> floats = boundaryFloats();
    std::vector<Half> halves(floats.size());
    EXPECT_FALSE(roundToHalves(floats.data(), std::ssize(floats), halves.data()));
    for (size_t i = 0; i < floats.size(); ++i) {
        ASSERT_EQ(halves[i].bits, toHalf(floats[i]).bits) << floats[i];
    }
}

// Wherever the element lies that says so.
TEST(HalfRounding, TellsWhetherNumbersBecameInfinity) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (size_t count = 1; count <= 70; ++count) {
        for (size_t at = 0; at < count; ++at) {
            const auto holds = [&](float special) {
                std::vector<float> floats(count, 65504.0F);
                floats[at] = special;
                // Nothing lies behind them, which AddressSanitizer sees.
                std::vector<Half> halves(count);
                return roundToHalves(floats.data(), static_cast<int64_t>(count), halves.data());
            };
            for (const float sign : {1.0F, -1.0F}) {
                EXPECT_FALSE(holds(sign * 65520.0F)) << at << " of " << count;
                EXPECT_FALSE(holds(sign * 3e38F)) << at << " of " << count;
                EXPECT_TRUE(holds(sign * 65519.0F)) << at << " of " << count;
                EXPECT_TRUE(holds(sign * kInfinity)) << at << " of " << count;
            }
            EXPECT_TRUE(holds(std::nanf(""))) << at << " of " << count;
        }
    }
    EXPECT_TRUE(roundToHalves(nullptr, 0, nullptr));
}

}  // namespace
}  // namespace halyard::engine
