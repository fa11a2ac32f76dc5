// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/backends/ref/elements.h"
#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/index_walk.h"
#include "engine/backends/ref/progress.h"
#include "engine/backends/ref/requantize.h"
#include "engine/backends/ref/type_support.h"
#include "engine/graph/control_input.h"

namespace halyard::engine::ref {
namespace {

int64_t countFrom(const Shape& shape, size_t firstAxis) {
    return countOf(Shape(shape.extents().subspan(firstAxis)));
}

// A Concat input whose scale is not the output's: one float32 product per element, as LiteRT and
// NNAPI's own reference requantise here, but for the rounding of halves.
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

// The element that stands for a real value.
template <typename T>
T encode(float value, const TensorType& type) {
    if (isQuantized(type.type)) {
        return static_cast<T>(quantize(value, type));
    }
    if (type.type == DataType::FLOAT16) {
        return static_cast<T>(toHalf(value).bits);
    }
    return static_cast<T>(std::bit_cast<uint32_t>(value));
}

}  // namespace

Status supports(const Concat& /*node*/, TypeList inputs, TypeList outputs) {
    return supportTypes(inputs, outputs, isMovable);
}

Status supports(const Pad& /*node*/, TypeList inputs, TypeList outputs) {
    HALYARD_RETURN_IF_ERROR(supportType(inputs, 0, isComputable, "input"));
    return supportTypes({}, outputs, isComputable);
}

Status supports(const Reshape& /*node*/, TypeList inputs, TypeList outputs) {
    HALYARD_RETURN_IF_ERROR(supportType(inputs, 0, isMovable, "input"));
    return supportTypes({}, outputs, isMovable);
}

Status supports(const Transpose& /*node*/, TypeList inputs, TypeList outputs) {
    return supportTypes(inputs, outputs, isMovable);
}

Status run(const Concat& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const TensorView& output = outputs[0];
    const int64_t count = countOf(output.shape());
    if (count == 0) {
        return {};
    }
    const auto axis = static_cast<size_t>(node.axis);
    const int64_t outputRow = countFrom(output.shape(), axis);
    const int64_t rows = count / outputRow;
    const auto join = [&]<typename T>() -> Status {
        int64_t begin = 0;
        for (const ConstTensorView& input : inputs) {
            const int64_t row = countFrom(input.shape(), axis);
            if (row == 0) {
                continue;  // however many rows there are
            }
            const bool move = !isQuantized(output.type->type) ||
                              input.type->quantization == output.type->quantization;
            for (int64_t i = 0; i < rows; ++i) {
                const T* from = input.as<T>() + i * row;
                T* to = output.as<T>() + i * outputRow + begin;
                HALYARD_RETURN_IF_ERROR(progress.inSlices(row, 1, [&](int64_t first, int64_t end) {
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
    return isQuantized(output.type->type) ? withQuantizedElements(output.type->type, join)
                                          : withMovedElements(output.type->type, join);
}

Status run(const Pad& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const ConstTensorView& x = inputs[0];
    const TensorView& output = outputs[0];
    const size_t rank = output.shape().rank();
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(inputs[1], rank));
    const Strides strides = stridesOf(output.shape());
    int64_t origin = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
        const Padding& padding = paddings[axis];
        if (static_cast<int64_t>(x.shape()[axis]) + padding.before + padding.after !=
            output.shape()[axis]) {
            return invalidArgument("the paddings changed while the node ran");
        }
        origin += padding.before * strides[axis];
    }
    return withMovedElements(output.type->type, [&]<typename T>() -> Status {
        T* to = output.as<T>();
        const T filling = encode<T>(node.value, *output.type);
        HALYARD_RETURN_IF_ERROR(progress.inSlices(
                countOf(output.shape()), 1,
                [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, filling); }));
        const T* from = x.as<T>();
        return walk(x.shape(), std::array<Strides, 1>{strides}, progress,
                    [&](const std::array<int64_t, 1>& at) { to[origin + at[0]] = *from++; });
    });
}

Status run(const Reshape& /*node*/, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, outputs[0].type->byteSize());
    const auto* from = inputs[0].as<std::byte>();
    auto* const to = outputs[0].as<std::byte>();
    return progress.inSlices(static_cast<int64_t>(bytes), 1, [&](int64_t begin, int64_t end) {
        std::copy(from + begin, from + end, to + begin);
    });
}

Status run(const Transpose& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const Strides dense = stridesOf(inputs[0].shape());
    Strides permuted{};
    for (size_t axis = 0; axis < node.permutation.size(); ++axis) {
        permuted[axis] = dense[static_cast<size_t>(node.permutation[axis])];
    }
    return withMovedElements(outputs[0].type->type, [&]<typename T>() -> Status {
        const T* from = inputs[0].as<T>();
        T* to = outputs[0].as<T>();
        return walk(outputs[0].shape(), std::array<Strides, 1>{permuted}, progress,
                    [&](const std::array<int64_t, 1>& at) { *to++ = from[at[0]]; });
    });
}

}  // namespace halyard::engine::ref
