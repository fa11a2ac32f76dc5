// SPDX-License-Identifier: Apache-2.0
//
// Sequences as values of rank 3, time-major or batch-major: taken apart and turned round.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {

// [a, b, size] as [b, a, size].
inline Values exchanged(const Values& values) {
    Values result = values;
    std::swap(result.type.shape[0], result.type.shape[1]);
    const auto outer = static_cast<size_t>(values.type.shape[0]);
    const auto inner = static_cast<size_t>(values.type.shape[1]);
    const size_t row = values.bytes.size() / (outer * inner);
    for (size_t i = 0; i < outer; ++i) {
        for (size_t j = 0; j < inner; ++j) {
            std::copy_n(values.bytes.data() + (i * inner + j) * row, row,
                        result.bytes.data() + (j * outer + i) * row);
        }
    }
    return result;
}

// Step `i` of a time-major sequence.
inline Values stepOf(const Values& values, int32_t i) {
    const Shape& shape = values.type.shape;
    const auto size = static_cast<std::ptrdiff_t>(values.bytes.size()) / shape[0];
    const auto first = values.bytes.begin() + size * i;
    return {.type = typeOf(values.type.type, {shape[1], shape[2]}), .bytes = {first, first + size}};
}

// Its steps in the opposite order.
inline Values reversed(const Values& values) {
    Values result = {.type = values.type, .bytes = {}};
    for (int32_t i = values.type.shape[0]; i-- > 0;) {
        const Values one = stepOf(values, i);
        result.bytes.insert(result.bytes.end(), one.bytes.begin(), one.bytes.end());
    }
    return result;
}

}  // namespace halyard::engine::ref_test
