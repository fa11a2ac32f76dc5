// SPDX-License-Identifier: Apache-2.0
//
// A tensor as rows along one of its axes, for what normalises each of them on its own.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::ref {

// Elements along the axis: `count` of them from `first`, `stride` apart.
struct Row {
    int64_t first = 0;
    int64_t stride = 0;
    int64_t count = 0;

    int64_t operator[](int64_t i) const { return first + i * stride; }
};

// Calls body(row) for every row of a tensor of shape `x` until one fails. A body counts the
// operations of its row.
template <typename Body>
Status forEachRow(const Shape& x, size_t axis, Body body) {
    if (countOf(x) == 0) {
        return {};
    }
    const int64_t inner = countOf(Shape(x.extents().subspan(axis + 1)));
    const int64_t outer = countOf(Shape(x.extents().first(axis)));
    for (int64_t i = 0; i < outer; ++i) {
        for (int64_t j = 0; j < inner; ++j) {
            HALYARD_RETURN_IF_ERROR(
                    body(Row{.first = i * x[axis] * inner + j, .stride = inner, .count = x[axis]}));
        }
    }
    return {};
}

}  // namespace halyard::engine::ref
