// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/control_input.h"

#include <algorithm>
#include <string>

#include "engine/graph/node_rules.h"

namespace halyard::engine {

Status checkControlInput(const KnownInput& input, size_t rank, std::string_view role) {
    HALYARD_RETURN_IF_ERROR(checkType(*input.type, role, kInt32));
    return asRank(input.shape(), rank, role).status();
}

Result<int32_t> checkListPerAxis(const KnownInput& list, std::string_view role, const Shape& x) {
    HALYARD_RETURN_IF_ERROR(checkControlInput(list, 1, role));
    HALYARD_ASSIGN_OR_RETURN(const Shape length, asRank(list.shape(), 1, role));
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t rank,
            sameExtent(x.hasKnownRank() ? static_cast<int32_t>(x.rank()) : kUnknownDimension,
                       "the input's rank", length[0], "the length of " + std::string(role)));
    if (rank != kUnknownDimension) {
        HALYARD_RETURN_IF_ERROR(checkRankLimit(static_cast<size_t>(rank)));
    }
    return rank;
}

Status checkList(const KnownInput& list, std::string_view role, int32_t length) {
    HALYARD_RETURN_IF_ERROR(checkControlInput(list, 1, role));
    return agree(list.shape(), role, {&length});
}

bool isKnown(const KnownInput& input) {
    const Result<int64_t> count = input.shape().elementCount();
    return count.ok() && (input.data != nullptr || *count == 0);
}

std::span<const int32_t> elementsOf(const KnownInput& input) {
    const Result<int64_t> count = input.shape().elementCount();
    return {input.as<int32_t>(), count.ok() ? static_cast<size_t>(*count) : 0};
}

Result<std::span<const int32_t>> readList(const KnownInput& list, std::string_view role,
                                          int32_t least) {
    const std::span<const int32_t> elements = elementsOf(list);
    for (const int32_t element : elements) {
        if (element < least) {
            return invalidArgument(std::string(role) + " must be at least " +
                                   std::to_string(least) + ", not " + std::to_string(element));
        }
    }
    return elements;
}

Result<std::bitset<kMaxRank>> readAxes(const KnownInput& axes, size_t rank) {
    std::bitset<kMaxRank> named;
    for (const int32_t axis : elementsOf(axes)) {
        HALYARD_ASSIGN_OR_RETURN(const size_t resolved, resolveAxis(axis, rank));
        named.set(resolved);
    }
    return named;
}

Result<size_t> readAxis(const KnownInput& axis, size_t rank) {
    const std::span<const int32_t> elements = elementsOf(axis);
    if (elements.size() != 1) {
        return invalidArgument("there must be one axis, not " + std::to_string(elements.size()));
    }
    return resolveAxis(elements[0], rank);
}

Result<Paddings> readPaddings(const KnownInput& paddings, size_t rank) {
    const std::span<const int32_t> elements = elementsOf(paddings);
    if (elements.size() != 2 * rank) {
        return invalidArgument("there are " + std::to_string(elements.size()) + " paddings for " +
                               std::to_string(rank) + " axes");
    }
    Paddings result;
    for (size_t axis = 0; axis < rank; ++axis) {
        result[axis] = {.before = elements[2 * axis], .after = elements[2 * axis + 1]};
        if (result[axis].before < 0 || result[axis].after < 0) {
            return invalidArgument("the padding of axis " + std::to_string(axis) + " is negative");
        }
    }
    return result;
}

Result<Permutation> readPermutation(const KnownInput& permutation, size_t rank) {
    Permutation result = {};
    if (!permutation.present()) {
        for (size_t axis = 0; axis < rank; ++axis) {
            result[axis] = rank - 1 - axis;
        }
        return result;
    }
    const std::span<const int32_t> elements = elementsOf(permutation);
    std::bitset<kMaxRank> seen;
    for (size_t axis = 0; axis < std::min(rank, elements.size()); ++axis) {
        const int32_t from = elements[axis];
        if (from >= 0 && from < static_cast<int32_t>(rank)) {
            result[axis] = static_cast<size_t>(from);
            seen.set(result[axis]);
        }
    }
    if (elements.size() != rank || seen.count() != rank) {
        return invalidArgument("the permutation must name each of the " + std::to_string(rank) +
                               " axes once");
    }
    return result;
}

}  // namespace halyard::engine
