// SPDX-License-Identifier: Apache-2.0
//
// Walking over the elements of tensors by index.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/numerics/elements.h"

namespace halyard::engine {

// Elements from one index to the next, per axis.
using Strides = std::array<int64_t, kMaxRank>;

// Those of a dense, row-major tensor.
inline Strides stridesOf(const Shape& shape) {
    Strides strides{};
    int64_t stride = 1;
    for (size_t axis = shape.rank(); axis-- > 0;) {
        strides[axis] = stride;
        stride *= shape[axis] == 0 ? 1 : shape[axis];
    }
    return strides;
}

// Those that read a tensor as if it had been broadcast to `output`.
inline Strides broadcastStrides(const Shape& shape, const Shape& output) {
    const Strides dense = stridesOf(shape);
    Strides strides{};
    const size_t added = output.rank() - shape.rank();
    for (size_t axis = 0; axis < shape.rank(); ++axis) {
        strides[added + axis] = shape[axis] == 1 ? 0 : dense[axis];
    }
    return strides;
}

// Calls body(offsets) for every index below `extents`, in row-major order; offsets[k] is where the
// index lies by strides[k]. A failure ends the walk, where the body returns a Status. `call` is the
// KernelCall whose loop it is.
template <size_t N, typename Call, typename Body>
Status walk(const Shape& extents, const std::array<Strides, N>& strides, Call& call, Body body) {
    std::array<int32_t, kMaxRank> index{};
    std::array<int64_t, N> offsets{};
    const auto step = [&] {
        for (size_t axis = extents.rank(); axis-- > 0;) {
            ++index[axis];
            for (size_t k = 0; k < N; ++k) {
                offsets[k] += strides[k][axis];
            }
            if (index[axis] < extents[axis]) {
                break;
            }
            for (size_t k = 0; k < N; ++k) {
                offsets[k] -= strides[k][axis] * index[axis];
            }
            index[axis] = 0;
        }
    };
    return call.inSlices(countOf(extents), 1, [&](int64_t begin, int64_t end) -> Status {
        for (int64_t i = begin; i < end; ++i) {
            if constexpr (std::is_void_v<decltype(body(offsets))>) {
                body(offsets);
            } else {
                HALYARD_RETURN_IF_ERROR(body(offsets));
            }
            step();
        }
        return {};
    });
}

}  // namespace halyard::engine
