// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic on numbers that came from outside: each function gives no value where the
// mathematical result does not fit the type.

#pragma once

#include <concepts>
#include <optional>

namespace halyard {

template <std::integral T>
constexpr std::optional<T> checkedAdd(T a, T b) {
    T sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return std::nullopt;
    }
    return sum;
}

template <std::integral T>
constexpr std::optional<T> checkedSubtract(T a, T b) {
    T difference;
    if (__builtin_sub_overflow(a, b, &difference)) {
        return std::nullopt;
    }
    return difference;
}

template <std::integral T>
constexpr std::optional<T> checkedMultiply(T a, T b) {
    T product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return std::nullopt;
    }
    return product;
}

// The smallest multiple of `alignment`, a power of two, that is not below `value`.
template <std::unsigned_integral T>
constexpr std::optional<T> checkedAlignUp(T value, T alignment) {
    const std::optional<T> bumped = checkedAdd<T>(value, alignment - 1);
    if (!bumped.has_value()) {
        return std::nullopt;
    }
    return *bumped & ~(alignment - 1);
}

// Whether [offset, offset + length) lies in [0, size).
template <std::unsigned_integral T>
constexpr bool rangeFits(T offset, T length, T size) {
    return offset <= size && length <= size - offset;
}

}  // namespace halyard
