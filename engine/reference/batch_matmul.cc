// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices. Bytes are summed exactly modulo 2^32 and go by fixed_requantize.h;
// INT32 wraps modulo 2^32.

#include <cstddef>
#include <cstdint>

#include "engine/numerics/elements.h"
#include "engine/numerics/fixed_requantize.h"
#include "engine/numerics/reals.h"
#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"

namespace halyard::engine::ref {
namespace {

// The matrices in one of the two inputs.
struct Matrices {
    Shape batch;             // their extents before the last two
    int64_t size = 0;        // elements of one
    int64_t alongOuter = 0;  // from one element of the result's row or column to the next
    int64_t alongInner = 0;  // along the axis that is summed over
};

Matrices matricesOf(const Shape& shape, bool innerIsLast) {
    const size_t rank = shape.rank();
    const int64_t columns = shape[rank - 1];
    return {.batch = Shape(shape.extents().first(rank - 2)),
            .size = shape[rank - 2] * columns,
            .alongOuter = innerIsLast ? columns : 1,
            .alongInner = innerIsLast ? 1 : columns};
}

// Where the matrix for number `index` of the result's begins. An extent of 1 serves all.
int64_t offsetOf(const Matrices& matrices, const Shape& batch, int64_t index) {
    int64_t number = 0;
    int64_t stride = 1;
    for (size_t axis = batch.rank(); axis-- > 0;) {
        const int64_t extent = matrices.batch[axis];
        number += extent == 1 ? 0 : index % batch[axis] * stride;
        stride *= extent;
        index /= batch[axis];
    }
    return number * matrices.size;
}

// result(i, sum) for every element of the output, where term(a, b) is added to a sum for every pair
// of elements of the inputs that meet in it.
template <typename Sum, typename Term, typename Result>
Status multiply(const BatchMatmul& node, KernelCall& call, Term term, Result result) {
    const Shape& shape = call.output(0).shape();
    const size_t rank = shape.rank();
    const Matrices a = matricesOf(call.input(0).shape(), !node.transposeA);
    const Matrices b = matricesOf(call.input(1).shape(), node.transposeB);
    const int64_t inner = call.input(0).shape()[node.transposeA ? rank - 2 : rank - 1];
    const int64_t rows = shape[rank - 2];
    const int64_t columns = shape[rank - 1];
    const Shape batch(shape.extents().first(rank - 2));
    return call.forEach(countOf(shape), 8, [&](int64_t i) -> Status {
        const int64_t matrix = i / (rows * columns);
        int64_t atA = offsetOf(a, batch, matrix) + i / columns % rows * a.alongOuter;
        int64_t atB = offsetOf(b, batch, matrix) + i % columns * b.alongOuter;
        Sum sum = 0;
        HALYARD_RETURN_IF_ERROR(inParts(call, inner, [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k, atA += a.alongInner, atB += b.alongInner) {
                sum += term(atA, atB);
            }
        }));
        result(i, sum);
        return {};
    });
}

template <typename T>
Status multiplyBytes(const BatchMatmul& node, KernelCall& call) {
    const T* const a = call.input(0).as<T>();
    const T* const b = call.input(1).as<T>();
    T* const output = call.output(0).as<T>();
    const Quantization& ofA = call.input(0).type->quantization;
    const Quantization& ofB = call.input(1).type->quantization;
    const TensorType& type = *call.output(0).type;
    const FixedRequantization requantize(ofA, ofB, type.quantization);
    const QuantizedRange range = rangeOf(type.type);
    return multiply<uint32_t>(
            node, call,
            [&](int64_t i, int64_t j) {
                return static_cast<uint32_t>((a[i] - ofA.zeroPoint) * (b[j] - ofB.zeroPoint));
            },
            [&](int64_t i, uint32_t sum) {
                output[i] = static_cast<T>(requantize(static_cast<int32_t>(sum), range));
            });
}

}  // namespace

Status run(const BatchMatmul& node, KernelCall& call) {
    switch (call.output(0).type->type) {
        case DataType::QUANT8_ASYMM:
            return multiplyBytes<uint8_t>(node, call);
        case DataType::QUANT8_ASYMM_SIGNED:
            return multiplyBytes<int8_t>(node, call);
        case DataType::INT32: {
            const auto* const a = call.input(0).as<uint32_t>();
            const auto* const b = call.input(1).as<uint32_t>();
            auto* const output = call.output(0).as<uint32_t>();
            return multiply<uint32_t>(
                    node, call, [&](int64_t i, int64_t j) { return a[i] * b[j]; },
                    [&](int64_t i, uint32_t sum) { output[i] = sum; });
        }
        default:
            break;
    }
    HALYARD_ASSIGN_OR_RETURN(const float* const a, floatsOf(call, 0));
    HALYARD_ASSIGN_OR_RETURN(const float* const b, floatsOf(call, 1));
    const RealWriter output(call.output(0));
    return multiply<float>(
            node, call, [&](int64_t i, int64_t j) { return a[i] * b[j]; },
            [&](int64_t i, float sum) { output.set(i, sum); });
}

}  // namespace halyard::engine::ref
