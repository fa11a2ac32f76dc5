// SPDX-License-Identifier: Apache-2.0
//
// Batch GEMM: where each operand and the result lie, and how a sum becomes an element.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/planning/step_plan.h"

namespace halyard::engine::gpu {

// A copy of the kernels' struct. Strides are in elements.
struct GemmNumbers {
    int32_t rows = 0;
    int32_t columns = 0;
    int32_t depth = 0;
    int32_t aRow = 0;  // from one row of a to the next
    int32_t aInner = 0;
    int32_t bColumn = 0;
    int32_t bInner = 0;
    int32_t row = 0;  // of the result
    int32_t column = 0;
    int32_t aZero = 0;
    int32_t bZero = 0;
    int32_t zero = 0;
    int32_t least = 0;
    int32_t most = 0;
    int32_t fraction = 0;
    int32_t left = 0;
    int32_t right = 0;
};

struct BatchGemm {
    Operand a = {};
    Operand b = {};
    Operand result = {};
    Operand starts = {};  // of each matrix in a, b and the result: int32
    int64_t batch = 0;
    int32_t aStarts = 0;  // divides where each matrix of a starts
    int32_t bStarts = 0;
    GemmNumbers numbers = {};
    Epilogue epilogue = {};
    std::string defines = {};  // of the three's types, and of the epilogue

    // Adds the arguments of GEMM_PARAMETERS and EPILOGUES_PARAMETERS.
    void addArguments(Launch& launch) const {
        launch.with(a).with(b).with(starts).with(result).with(numbers);
        launch.withAll(epilogue.arguments);
    }
};

// For texts of kernels, behind kEpilogueText: GEMM_PARAMETERS, which BIND_GEMM has names for,
// those of `matrix`, SUM, ADD(sum, x, y), of two elements, and PUT(sum, row, column), for an
// element of the result. Bytes go by fixed_requantize.h, step by step.
inline constexpr std::string_view kBatchGemmText = R"(
typedef struct {
    int rows;
    int columns;
    int depth;
    int a_row;
    int a_inner;
    int b_column;
    int b_inner;
    int row;
    int column;
    int x_zero;
    int weight_zero;
    int zero;
    int least;
    int most;
    int fraction;
    int left;
    int right;
} GemmNumbers;

int saturate(long value) {
    return (int)clamp(value, (long)-2147483647 - 1, (long)2147483647);
}

int scale(int sum, const GemmNumbers numbers) {
    const int x = saturate((long)sum << numbers.left);
    const int product = saturate(((long)x * (long)numbers.fraction + (1l << 30)) >> 31);
    const long half_step = numbers.right == 0 ? 0 : 1l << (numbers.right - 1);
    const long wide = product;
    const long magnitude = ((wide < 0 ? -wide : wide) + half_step) >> numbers.right;
    return (int)(product < 0 ? -magnitude : magnitude);
}

#define WEIGHT_ZERO numbers.weight_zero
#if defined(QUANTIZED)
#define SUM uint
#define ADD(sum, x, y) \
    (sum) + (uint)(((x) - numbers.x_zero) * ((y) - WEIGHT_ZERO))
#define FINISH(sum) \
    (int)clamp((long)scale((int)(sum), numbers) + numbers.zero, (long)numbers.least, \
               (long)numbers.most)
#elif defined(INTEGER)
#define SUM uint
#define ADD(sum, x, y) (sum) + (uint)(x) * (uint)(y)
#define FINISH(sum) (int)(sum)
#else
#define SUM float
#define ADD(sum, x, y) multiply_add(x, y, sum)
#define FINISH(sum) (sum)
#endif

#define GEMM_PARAMETERS IN(pa), IN(pb), IN(starts), OUT(pr), const GemmNumbers numbers
#define BIND_GEMM \
    BIND_IN(X, pa);      \
    BIND_IN(W, pb);      \
    BIND_IN(I32, starts); \
    BIND_OUT(R, pr);      \
    const int a_start = starts[3 * batch];     \
    const int b_start = starts[3 * batch + 1]; \
    const int r_start = starts[3 * batch + 2]
#define PUT(sum, at_row, at_column) \
    VALUE(R) value = FINISH(sum); \
    EPILOGUE(value, (batch * numbers.rows + (at_row)) * numbers.columns + (at_column)) \
    STORE(R, pr, r_start + (at_row) * numbers.row + (at_column) * numbers.column, value)
)";

}  // namespace halyard::engine::gpu
