// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10: a random generator without a state, which turns a counter and a key into 128
// random bits (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). Who draws where
// makes no difference to what is drawn.

#pragma once

#include <array>
#include <cstdint>

namespace halyard::engine {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
    constexpr int kRounds = 10;
    constexpr uint64_t kFactor0 = 0xD2511F53;
    constexpr uint64_t kFactor1 = 0xCD9E8D57;
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t product0 = kFactor0 * counter[0];
        const uint64_t product1 = kFactor1 * counter[2];
        counter = {static_cast<uint32_t>(product1 >> 32U) ^ counter[1] ^ key[0],
                   static_cast<uint32_t>(product1),
                   static_cast<uint32_t>(product0 >> 32U) ^ counter[3] ^ key[1],
                   static_cast<uint32_t>(product0)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return counter;
}

// A number in [0, 1), a multiple of 2^-53, from two words.
constexpr double uniform(uint32_t high, uint32_t low) {
    const uint64_t bits = (uint64_t{high} << 32U | low) >> 11U;
    return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace halyard::engine
