// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/base/half.h"

namespace halyard {

// What conversions to halves go wrong at: each half and the middle to the next one, with the floats
// beside both, of either sign; what is too large or too small for halves; and a float of every few
// thousand, NaNs among them.
inline std::vector<float> boundaryFloats() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<float> values;
    const auto add = [&](float value) {
        for (const float each :
             {value, std::nextafter(value, 0.0F), std::nextafter(value, kInfinity)}) {
            values.push_back(each);
            values.push_back(-each);
        }
    };
    for (uint16_t bits = 0; bits < 0x7c00; ++bits) {
        const float low = toFloat(Half{bits});
        // 65536 follows the largest.
        const float high =
                bits == 0x7bff ? 0x1p16F : toFloat(Half{static_cast<uint16_t>(bits + 1)});
        add(low);
        add((low + high) / 2);
    }
    for (const float value : {0x1p16F, std::numeric_limits<float>::max(), kInfinity,
                              std::numeric_limits<float>::min()}) {
        add(value);
    }
    for (const uint32_t nan : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff801fffU, 0xffc06000U}) {
        values.push_back(std::bit_cast<float>(nan));
    }
    constexpr uint64_t kPrimeStride = 8209;
    for (uint64_t bits = 0; bits <= 0xffffffff; bits += kPrimeStride) {
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    return values;
}

}  // namespace halyard
