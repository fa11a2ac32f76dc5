// SPDX-License-Identifier: Apache-2.0
//
// Several tensors made one, and one made several.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

// An input whose scale is not the output's: one float32 product per element, as LiteRT and NNAPI's
// own reference requantise here, but for the rounding of halves.
template <typename T>
void requantize(const T* from, T* to, int64_t count, const TensorType& input,
                const TensorType& output) {
    const float m = multiplier(input.quantization.scale, 1.0F, output.quantization.scale);
    for (int64_t i = 0; i < count; ++i) {
        const int32_t steps = from[i] - input.quantization.zeroPoint;
        to[i] = static_cast<T>(roundAndClamp(static_cast<float>(steps) * m,
                                             output.quantization.zeroPoint, rangeOf(output.type)));
    }
}

// The output consists of rows, everything below one index of the axes before `axis`; each is one
// row of each input after the other.
Status join(KernelCall& call, size_t axis) {
    const TensorView& output = call.output(0);
    const int64_t count = countOf(output.shape());
    if (count == 0) {
        return {};
    }
    const int64_t outputRow = countFrom(output.shape(), axis);
    const int64_t rows = count / outputRow;
    const auto copyRows = [&]<typename T>() -> Status {
        int64_t begin = 0;
        for (size_t part = 0; part < call.inputCount(); ++part) {
            const ConstTensorView& input = call.input(part);
            const int64_t row = countFrom(input.shape(), axis);
            if (row == 0) {
                continue;  // however many rows there are
            }
            const bool move = !isQuantized(output.type->type) ||
                              input.type->quantization == output.type->quantization;
            for (int64_t i = 0; i < rows; ++i) {
                const T* from = input.as<T>() + i * row;
                T* to = output.as<T>() + i * outputRow + begin;
                HALYARD_RETURN_IF_ERROR(call.inSlices(row, 1, [&](int64_t first, int64_t end) {
                    if (move) {
                        std::copy(from + first, from + end, to + first);
                    } else {
                        requantize(from + first, to + first, end - first, *input.type,
                                   *output.type);
                    }
                }));
            }
            begin += row;
        }
        return {};
    };
    return isQuantized(output.type->type) ? withQuantizedElements(output.type->type, copyRows)
                                          : withMovedElements(output.type->type, copyRows);
}

}  // namespace

Status run(const Concat& node, KernelCall& call) {
    HALYARD_ASSIGN_OR_RETURN(const size_t axis,
                             resolveAxis(node.axis, call.output(0).shape().rank()));
    return join(call, axis);
}

Status run(const Pack& node, KernelCall& call) {
    HALYARD_ASSIGN_OR_RETURN(const size_t axis,
                             resolveAxis(node.axis, call.output(0).shape().rank()));
    return join(call, axis);
}

Status run(const Split& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    const int64_t count = countOf(x.shape());
    if (count == 0) {
        return {};
    }
    const int64_t inputRow = countFrom(x.shape(), axis);
    const int64_t rows = count / inputRow;
    return withMovedElements(x.type->type, [&]<typename T>() -> Status {
        int64_t begin = 0;
        for (size_t part = 0; part < call.outputCount(); ++part) {
            const TensorView& output = call.output(part);
            const int64_t row = countFrom(output.shape(), axis);
            for (int64_t i = 0; i < rows; ++i) {
                const T* from = x.as<T>() + i * inputRow + begin;
                T* to = output.as<T>() + i * row;
                HALYARD_RETURN_IF_ERROR(call.inSlices(row, 1, [&](int64_t first, int64_t end) {
                    std::copy(from + first, from + end, to + first);
                }));
            }
            begin += row;
        }
        return {};
    });
}

}  // namespace halyard::engine::ref
