// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/graph/shape_inference.h"
#include "engine/numerics/byte_tables.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"
#include "engine/reference/kernels.h"
#include "engine/reference/rows.h"

namespace halyard::engine::ref {
namespace {

// A row of floats as exp(beta * (x - largest)), and their sum. Subtracting the largest element
// keeps every exponential in [0, 1]. A NaN, or a positive infinity (infinity minus itself), makes
// the sum NaN, and so the whole row.
struct Powers {
    float largest = -std::numeric_limits<float>::infinity();
    float sum = 0.0F;
};

template <typename T>
Result<Powers> sumPowers(const T* x, const Row& row, float beta, KernelCall& call) {
    Powers powers;
    HALYARD_RETURN_IF_ERROR(call.forEach(row.count, 1, [&](int64_t i) {
        powers.largest = std::max(powers.largest, toReal(x[row[i]]));
    }));
    HALYARD_RETURN_IF_ERROR(call.forEach(row.count, 1, [&](int64_t i) {
        powers.sum += std::exp(beta * (toReal(x[row[i]]) - powers.largest));
    }));
    return powers;
}

template <typename T>
Status softmax(const T* x, T* output, const Row& row, float beta, KernelCall& call) {
    HALYARD_ASSIGN_OR_RETURN(const Powers powers, sumPowers(x, row, beta, call));
    return call.forEach(row.count, 1, [&](int64_t i) {
        const float power = std::exp(beta * (toReal(x[row[i]]) - powers.largest));
        output[row[i]] = fromReal<T>(power / powers.sum);
    });
}

template <typename T>
Status logSoftmax(const T* x, T* output, const Row& row, float beta, KernelCall& call) {
    HALYARD_ASSIGN_OR_RETURN(const Powers powers, sumPowers(x, row, beta, call));
    const float logOfSum = std::log(powers.sum);
    return call.forEach(row.count, 1, [&](int64_t i) {
        output[row[i]] = fromReal<T>(beta * (toReal(x[row[i]]) - powers.largest) - logOfSum);
    });
}

// A distance is below 256. The conversion keeps it so even where another process changes the bytes
// after the largest one was found.
uint32_t lookUp(const ExponentialTable& table, int32_t distance) {
    return table[static_cast<uint8_t>(distance)];
}

// LiteRT sums such a table in float, NNAPI works in fixed point; both come within one step of this.
template <typename T>
Status softmax(const T* x, T* output, const Row& row, const ExponentialTable& table,
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
    const ExponentialTable table = exponentialTable(node.beta, x.type->quantization.scale);
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        return forEachRow(x.shape(), axis, [&](const Row& row) {
            return softmax(x.as<T>(), output.as<T>(), row, table, *output.type, call);
        });
    });
}

Status run(const LogSoftmax& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    return withFloatElements(x.type->type, [&]<typename T>() -> Status {
        return forEachRow(x.shape(), axis, [&](const Row& row) {
            return logSoftmax(x.as<T>(), output.as<T>(), row, node.beta, call);
        });
    });
}

}  // namespace halyard::engine::ref
