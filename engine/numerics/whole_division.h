// SPDX-License-Identifier: Apache-2.0
//
// Division of whole numbers, rounded up.

#pragma once

#include <cstdint>

namespace halyard::engine {

// a / b; a >= 0, b > 0.
constexpr int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

// The smallest multiple that is not below `value`.
constexpr int64_t roundUp(int64_t value, int64_t multiple) {
    return ceilDivide(value, multiple) * multiple;
}

}  // namespace halyard::engine
