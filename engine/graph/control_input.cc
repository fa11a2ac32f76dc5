// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/control_input.h"

#include <string>

#include "engine/graph/node_rules.h"

namespace halyard::engine {

Status checkControlInput(const KnownInput& input, size_t rank, std::string_view role) {
    if (input.type->type != DataType::INT32) {
        return invalidArgument(std::string(role) + " must be INT32, not " + input.type->toString());
    }
    return asRank(input.shape(), rank, role).status();
}

bool isKnown(const KnownInput& input) {
    if (input.data != nullptr) {
        return true;
    }
    const Result<int64_t> count = input.shape().elementCount();
    return count.ok() && *count == 0;
}

int32_t readElement(const KnownInput& input, size_t index) {
    // volatile: a compiler may otherwise load the element again after it was checked.
    return static_cast<const volatile int32_t*>(input.data)[index];
}

Result<std::bitset<kMaxRank>> readAxes(const KnownInput& axes, size_t rank) {
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, axes.shape().elementCount());
    const auto extent = static_cast<int32_t>(rank);
    std::bitset<kMaxRank> named;
    for (int64_t i = 0; i < count; ++i) {
        const int32_t axis = readElement(axes, static_cast<size_t>(i));
        if (axis < -extent || axis >= extent) {
            return invalidArgument("axis " + std::to_string(axis) +
                                   " is not one of a tensor of rank " + std::to_string(rank));
        }
        named.set(static_cast<size_t>(axis < 0 ? axis + extent : axis));
    }
    return named;
}

Result<Paddings> readPaddings(const KnownInput& paddings, size_t rank) {
    Paddings result;
    for (size_t axis = 0; axis < rank; ++axis) {
        result[axis] = {.before = readElement(paddings, 2 * axis),
                        .after = readElement(paddings, 2 * axis + 1)};
        if (result[axis].before < 0 || result[axis].after < 0) {
            return invalidArgument("the padding of axis " + std::to_string(axis) + " is negative");
        }
    }
    return result;
}

}  // namespace halyard::engine
