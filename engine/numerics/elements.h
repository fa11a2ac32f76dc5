// SPDX-License-Identifier: Apache-2.0
//
// The storage types of tensor elements, and the step from a DataType to one of them: each function
// calls `body.template operator()<T>()` with the C++ type that holds an element.

#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/base/half.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

// A float element as the real number it stands for, and back (to nearest, ties to even).
inline float toReal(float element) {
    return element;
}
inline float toReal(Half element) {
    return toFloat(element);
}
template <typename T>
T fromReal(float value) {
    if constexpr (std::is_same_v<T, Half>) {
        return toHalf(value);
    } else {
        return value;
    }
}

// float or Half.
template <typename Body>
Status withFloatElements(DataType type, Body body) {
    switch (type) {
        case DataType::FLOAT32:
            return body.template operator()<float>();
        case DataType::FLOAT16:
            return body.template operator()<Half>();
        default:
            return internalError("a kernel was given a type that is not legal for its node");
    }
}

// The integer that stores a quantised type.
template <typename Body>
Status withQuantizedElements(DataType type, Body body) {
    switch (type) {
        case DataType::QUANT8_ASYMM:
            return body.template operator()<uint8_t>();
        case DataType::QUANT8_ASYMM_SIGNED:
        case DataType::QUANT8_SYMM:
        case DataType::QUANT8_SYMM_PER_CHANNEL:
            return body.template operator()<int8_t>();
        case DataType::QUANT16_SYMM:
            return body.template operator()<int16_t>();
        case DataType::QUANT16_ASYMM:
            return body.template operator()<uint16_t>();
        default:
            return internalError("a kernel was given a type that is not legal for its node");
    }
}

// The type that stores any element: float, Half or an integer.
template <typename Body>
Status withElements(DataType type, Body body) {
    if (isFloat(type)) {
        return withFloatElements(type, body);
    }
    if (type == DataType::INT32) {
        return body.template operator()<int32_t>();
    }
    return type == DataType::BOOL8 ? body.template operator()<uint8_t>()
                                   : withQuantizedElements(type, body);
}

// A stored element as a number that compares as the real numbers do.
template <typename T>
auto ordered(T element) {
    if constexpr (std::is_same_v<T, Half>) {
        return toFloat(element);
    } else {
        return element;
    }
}

// An unsigned integer of the type's size, for elements that are only moved.
template <typename Body>
Status withMovedElements(DataType type, Body body) {
    switch (elementSize(type)) {
        case 1:
            return body.template operator()<uint8_t>();
        case 2:
            return body.template operator()<uint16_t>();
        default:
            return body.template operator()<uint32_t>();
    }
}

// How many elements a tensor of known shape has.
inline int64_t countOf(const Shape& shape) {
    int64_t count = 1;
    for (const int32_t extent : shape.extents()) {
        if (extent == 0) {
            return 0;
        }
        count *= extent;  // a verified shape has fewer than 2^31 elements
    }
    return count;
}

}  // namespace halyard::engine
