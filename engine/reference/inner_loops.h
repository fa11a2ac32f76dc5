// SPDX-License-Identifier: Apache-2.0
//
// The loops behind one element of the output: products that are summed, spatial positions under a
// window. They may be as long as a client likes, so they count their operations as KernelCall's
// loops do; mostly they are short, so they are inlined whole, and short ones ask nothing inside.

#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/plan/kernel_call.h"

namespace halyard::engine::ref {

// Calls body(begin, end) over consecutive ranges that cover [0, count), of one operation each.
template <typename Body>
[[gnu::always_inline]] inline Status inParts(KernelCall& call, int64_t count, Body body) {
    for (int64_t begin = 0; begin < count; begin += KernelCall::kInterval) {
        const int64_t end = std::min(begin + KernelCall::kInterval, count);
        HALYARD_RETURN_IF_ERROR(call.checkpoint(end - begin));
        body(begin, end);
    }
    return {};
}

// The rows or columns [first, end); none where the end is not above the first.
struct Extent {
    int64_t first = 0;
    int64_t end = 0;

    int64_t count() const { return std::max<int64_t>(end - first, 0); }
};

// Calls body(row, column, begin, end) for every spatial position of the window, row by row, with
// its elements [begin, end); these are [0, depth) at once, or in several calls where a window is so
// large that the checkpoint has to be asked inside. Counts as many operations as there are
// elements, and one.
template <typename Body>
[[gnu::always_inline]] inline Status forEachTap(KernelCall& call, const Extent& rows,
                                                const Extent& columns, int64_t depth, Body body) {
    const int64_t operations = rows.count() * columns.count() * depth;
    if (operations == 0) {
        return call.checkpoint(1);  // however many rows without columns there are
    }
    if (operations <= KernelCall::kInterval) {
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1 + operations));
        for (int64_t i = rows.first; i < rows.end; ++i) {
            for (int64_t j = columns.first; j < columns.end; ++j) {
                body(i, j, 0, depth);
            }
        }
        return {};
    }
    const int64_t length = std::min(depth, KernelCall::kInterval);
    for (int64_t i = rows.first; i < rows.end; ++i) {
        for (int64_t j = columns.first; j < columns.end; ++j) {
            for (int64_t begin = 0; begin < depth; begin += length) {
                const int64_t end = std::min(begin + length, depth);
                HALYARD_RETURN_IF_ERROR(call.checkpoint(end - begin));
                body(i, j, begin, end);
            }
        }
    }
    return {};
}

}  // namespace halyard::engine::ref
