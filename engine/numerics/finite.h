// SPDX-License-Identifier: Apache-2.0
//
// Whether constants are finite numbers, which a zero may be multiplied with.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/graph/tensor.h"

namespace halyard::engine {
namespace finite_detail {

// An exponent of ones is an infinity's or a NaN's.
template <typename Bits>
bool noneHas(std::span<const uint8_t> bytes, Bits exponent) {
    constexpr size_t kAtOnce = 4096;
    const size_t count = bytes.size() / sizeof(Bits);
    Bits found = 0;  // a number, for as many at a time as the processor compares
    for (size_t first = 0; first < count && found == 0; first += kAtOnce) {
        const size_t end = count - first < kAtOnce ? count : first + kAtOnce;
        for (size_t i = first; i < end; ++i) {
            Bits bits;
            std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
            found |= static_cast<Bits>((bits & exponent) == exponent);
        }
    }
    return found == 0;
}

}  // namespace finite_detail

// Whether no element of the type is an infinity or NaN. Integers are none.
inline bool areFinite(DataType type, std::span<const uint8_t> elements) {
    switch (type) {
        case DataType::FLOAT32:
            return finite_detail::noneHas<uint32_t>(elements, 0x7f800000U);
        case DataType::FLOAT16:
            return finite_detail::noneHas<uint16_t>(elements, uint16_t{0x7c00});
        default:
            return true;
    }
}

}  // namespace halyard::engine
