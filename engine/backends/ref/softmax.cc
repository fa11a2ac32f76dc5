// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/backends/ref/kernels.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::ref {
namespace {

// Elements along the axis: `count` of them from `first`, `stride` apart.
struct Row {
    int64_t first = 0;
    int64_t stride = 0;
    int64_t count = 0;

    int64_t operator[](int64_t i) const { return first + i * stride; }
};

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

// Subtracting the largest element keeps every exponential in [0, 1]. A NaN, or a positive infinity
// (infinity minus itself), makes the whole row NaN.
template <typename T>
Status softmax(const T* x, T* output, const Row& row, float beta, KernelCall& call) {
    float largest = -std::numeric_limits<float>::infinity();
    HALYARD_RETURN_IF_ERROR(call.forEach(
            row.count, 1, [&](int64_t i) { largest = std::max(largest, toReal(x[row[i]])); }));
    float sum = 0.0F;
    HALYARD_RETURN_IF_ERROR(call.forEach(row.count, 1, [&](int64_t i) {
        sum += std::exp(beta * (toReal(x[row[i]]) - largest));
    }));
    return call.forEach(row.count, 1, [&](int64_t i) {
        const float power = std::exp(beta * (toReal(x[row[i]]) - largest));
        output[row[i]] = fromReal<T>(power / sum);
    });
}

// exp(-beta * scale * d) for every distance d between two bytes, in units of 2^-30. Integers, so
// that their sum does not depend on its order. LiteRT sums such a table in float, NNAPI works in
// fixed point; both come within one step of this.
using Exponentials = std::array<uint32_t, 256>;

// A distance is below 256. The conversion keeps it so even where another process changes the bytes
// after the largest one was found.
uint32_t lookUp(const Exponentials& table, int32_t distance) {
    return table[static_cast<uint8_t>(distance)];
}

Exponentials exponentials(float beta, float scale) {
    Exponentials table{};
    const double step = static_cast<double>(beta) * static_cast<double>(scale);
    for (size_t distance = 0; distance < table.size(); ++distance) {
        const double power = std::exp(-step * static_cast<double>(distance));
        table[distance] = static_cast<uint32_t>(std::nearbyint(std::ldexp(power, 30)));
    }
    return table;
}

template <typename T>
Status softmax(const T* x, T* output, const Row& row, const Exponentials& table,
               const TensorType& type, KernelCall& call) {
    int32_t largest = std::numeric_limits<int32_t>::min();
    HALYARD_RETURN_IF_ERROR(call.forEach(
            row.count, 1, [&](int64_t i) { largest = std::max<int32_t>(largest, x[row[i]]); }));
    uint64_t sum = 0;
    HALYARD_RETURN_IF_ERROR(call.forEach(
            row.count, 1, [&](int64_t i) { sum += lookUp(table, largest - x[row[i]]); }));
    const auto m = static_cast<float>(
            1.0 / (static_cast<double>(sum) * static_cast<double>(type.quantization.scale)));
    return call.forEach(row.count, 1, [&](int64_t i) {
        const auto power = static_cast<float>(lookUp(table, largest - x[row[i]]));
        output[row[i]] = static_cast<T>(
                roundAndClamp(power * m, type.quantization.zeroPoint, rangeOf(type.type)));
    });
}

}  // namespace

Status run(const Softmax& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    if (isFloat(x.type->type)) {
        return withFloatElements(x.type->type, [&]<typename T>() -> Status {
            return forEachRow(x.shape(), axis, [&](const Row& row) {
                return softmax(x.as<T>(), output.as<T>(), row, node.beta, call);
            });
        });
    }
    const Exponentials table = exponentials(node.beta, x.type->quantization.scale);
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        return forEachRow(x.shape(), axis, [&](const Row& row) {
            return softmax(x.as<T>(), output.as<T>(), row, table, *output.type, call);
        });
    });
}

}  // namespace halyard::engine::ref
