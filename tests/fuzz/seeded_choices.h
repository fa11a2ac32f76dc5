// SPDX-License-Identifier: Apache-2.0
//
// A seed as a sequence of decisions, for mutations.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace halyard::fuzz {

class SeededChoices {
  public:
    explicit SeededChoices(uint32_t seed) : mRandom(seed) {}

    uint32_t bits() { return static_cast<uint32_t>(mRandom()); }
    // Below `count`, 0 if that is 0.
    template <typename T>
    T below(T count) {
        return count <= 0 ? T{0} : static_cast<T>(bits() % static_cast<uint32_t>(count));
    }
    bool oneIn(int times) { return below(times) == 0; }
    // Most often a small one, now and then one at the edges of what 32 bits hold.
    uint32_t number() {
        switch (below(10)) {
            case 0:
                return bits();
            case 1:
                return uint32_t{1} << below(32);
            case 2:
                return ~uint32_t{0} - below(uint32_t{4});
            case 3:
                return below(uint32_t{256});
            default:
                return below(uint32_t{6});
        }
    }
    // Any at all, not a number included.
    float anyFloat() {
        const uint32_t source = bits();
        float value = 0;
        std::memcpy(&value, &source, sizeof(value));
        return value;
    }

  private:
    std::mt19937 mRandom;
};

}  // namespace halyard::fuzz
