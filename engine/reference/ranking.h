// SPDX-License-Identifier: Apache-2.0
//
// Finding the best of many, one step at a time, so that a deadline is heeded.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "engine/plan/kernel_call.h"

namespace halyard::engine::ref {

template <typename T>
bool isNan(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return std::isnan(value);
    } else {
        return false;
    }
}

// Larger before smaller, NaN before everything: a strict weak order.
template <typename T>
bool isLarger(T a, T b) {
    return a > b || (isNan(a) && !isNan(b));
}

// Smaller before larger, NaN before everything.
template <typename T>
bool isSmaller(T a, T b) {
    return a < b || (isNan(a) && !isNan(b));
}

// Writes to `best` the first best.size() of the indices in [0, count), best one first, where
// before(i, j) says which of two comes first; indices that don't come before each other keep their
// order. best.size() <= count.
template <typename Before>
Status findBest(KernelCall& call, int64_t count, std::span<int32_t> best, Before before) {
    if (best.empty()) {
        return {};
    }
    const auto ranks = [&](int32_t i, int32_t j) {
        return before(i, j) || (i < j && !before(j, i));
    };
    // A heap whose top is the last of the best so far.
    const auto size = static_cast<int64_t>(best.size());
    const auto depth = static_cast<int64_t>(std::bit_width(best.size()));
    HALYARD_RETURN_IF_ERROR(call.forEach(count, depth, [&](int64_t i) {
        const auto index = static_cast<int32_t>(i);
        if (i < size) {
            best[static_cast<size_t>(i)] = index;
            std::push_heap(best.begin(), best.begin() + i + 1, ranks);
        } else if (ranks(index, best[0])) {
            std::pop_heap(best.begin(), best.end(), ranks);
            best.back() = index;
            std::push_heap(best.begin(), best.end(), ranks);
        }
    }));
    return call.forEach(size, depth,
                        [&](int64_t i) { std::pop_heap(best.begin(), best.end() - i, ranks); });
}

}  // namespace halyard::engine::ref
