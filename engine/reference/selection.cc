// SPDX-License-Identifier: Apache-2.0
//
// Elements chosen by their order or by an index.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"
#include "engine/reference/ranking.h"

namespace halyard::engine::ref {

// A NaN is larger than any number, as in Pool2d. NNAPI of TOPK_V2: "If two values are equal, the
// one with larger index appears first."
Status run(const TopK& /*node*/, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const Shape& output = call.output(0).shape();
    const int64_t count = countOf(output);
    if (count == 0) {
        return {};
    }
    const int64_t length = x.shape()[x.shape().rank() - 1];
    const int64_t k = output[output.rank() - 1];
    HALYARD_ASSIGN_OR_RETURN(const std::span<int32_t> best,
                             call.scratch<int32_t>(static_cast<size_t>(k)));
    return withElements(x.type->type, [&]<typename T>() -> Status {
        for (int64_t row = 0; row < count / k; ++row) {
            const T* from = x.as<T>() + row * length;
            HALYARD_RETURN_IF_ERROR(findBest(call, length, best, [&](int32_t i, int32_t j) {
                const auto a = ordered(from[i]);
                const auto b = ordered(from[j]);
                return isLarger(a, b) || (i > j && !isLarger(b, a));
            }));
            T* values = call.output(0).as<T>() + row * k;
            int32_t* indices = call.output(1).as<int32_t>() + row * k;
            HALYARD_RETURN_IF_ERROR(call.forEach(k, 1, [&](int64_t i) {
                indices[i] = best[static_cast<size_t>(i)];
                values[i] = from[indices[i]];
            }));
        }
        return {};
    });
}

Status run(const Gather& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    const int64_t count = countOf(call.input(1).shape());
    const auto* indices = call.input(1).as<int32_t>();
    // Inference knows the indices of constants only.
    HALYARD_RETURN_IF_ERROR(call.inSlices(count, 1, [&](int64_t begin, int64_t end) -> Status {
        for (int64_t i = begin; i < end; ++i) {
            if (indices[i] < 0 || indices[i] >= x[axis]) {
                return invalidArgument("index " + std::to_string(i) + " of the indices is " +
                                       std::to_string(indices[i]) + ", but axis " +
                                       std::to_string(axis) + " has " + std::to_string(x[axis]) +
                                       " elements");
            }
        }
        return {};
    }));
    if (countOf(call.output(0).shape()) == 0) {
        return {};
    }
    const int64_t inner = countFrom(x, axis + 1);
    const int64_t row = inner * x[axis];
    const auto rows = static_cast<int32_t>(countOf(x) / row);
    return copyFrom(call, {rows, static_cast<int32_t>(count), static_cast<int32_t>(inner)},
                    [&](size_t of, int64_t i) {
                        return of == 0 ? i * row : (of == 1 ? indices[i] * inner : i);
                    });
}

}  // namespace halyard::engine::ref
