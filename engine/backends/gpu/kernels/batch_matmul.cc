// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices, an element of the output for each item.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/fixed_requantize.h"

namespace halyard::engine::gpu {
namespace {

// A copy of the kernel's struct.
struct Numbers {
    int32_t rows = 0;
    int32_t columns = 0;
    int32_t inner = 0;
    int32_t aRow = 0;  // from one row of a to the next
    int32_t aInner = 0;
    int32_t bColumn = 0;
    int32_t bInner = 0;
    int32_t aZero = 0;
    int32_t bZero = 0;
    int32_t zero = 0;
    int32_t least = 0;
    int32_t most = 0;
    int32_t fraction = 0;
    int32_t left = 0;
    int32_t right = 0;
};

// Bytes go by fixed_requantize.h, step by step.
constexpr KernelFamily kMatmul = {.kernel = "multiply",
                                  .text = R"(
typedef struct {
    int rows;
    int columns;
    int inner;
    int a_row;
    int a_inner;
    int b_column;
    int b_inner;
    int a_zero;
    int b_zero;
    int zero;
    int least;
    int most;
    int fraction;
    int left;
    int right;
} Numbers;

int saturate(long value) {
    return (int)clamp(value, (long)-2147483647 - 1, (long)2147483647);
}

int scale(int sum, const Numbers n) {
    const int x = saturate((long)sum << n.left);
    const int product = saturate(((long)x * (long)n.fraction + (1l << 30)) >> 31);
    const long half_step = n.right == 0 ? 0 : 1l << (n.right - 1);
    const long wide = product;
    const long magnitude = ((wide < 0 ? -wide : wide) + half_step) >> n.right;
    return (int)(product < 0 ? -magnitude : magnitude);
}

#if defined(QUANTIZED)
#define SUM uint
#define ADD(sum, x, y) (sum) + (uint)(((x) - n.a_zero) * ((y) - n.b_zero))
#define FINISH(sum) \
    (int)clamp((long)scale((int)(sum), n) + n.zero, (long)n.least, (long)n.most)
#elif defined(INTEGER)
#define SUM uint
#define ADD(sum, x, y) (sum) + (uint)(x) * (uint)(y)
#define FINISH(sum) (int)(sum)
#else
#define SUM float
#define ADD(sum, x, y) multiply_add(x, y, sum)
#define FINISH(sum) (sum)
#endif

__kernel __attribute__((reqd_work_group_size(16, 8, 1))) void multiply(
        IN(pa), IN(pb), IN(starts), OUT(pr), const Numbers n) {
    const int column = (int)get_global_id(0);
    const int row = (int)get_global_id(1);
    const int matrix = (int)get_global_id(2);
    if (column >= n.columns || row >= n.rows) {
        return;
    }
    BIND_IN(A, pa);
    BIND_IN(B, pb);
    BIND_IN(I32, starts);
    BIND_OUT(R, pr);
    int a = starts[2 * matrix] + row * n.a_row;
    int b = starts[2 * matrix + 1] + column * n.b_column;
    SUM sum = 0;
    for (int k = 0; k < n.inner; ++k) {
        sum = ADD(sum, LOAD(A, pa, a), LOAD(B, pb, b));
        a += n.a_inner;
        b += n.b_inner;
    }
    STORE(R, pr, (matrix * n.rows + row) * n.columns + column, FINISH(sum));
}
)",
                                  .local = {16, 8, 1}};

// Where each matrix of the output has its matrix of `shape`: an extent of 1 serves all.
int32_t startOf(const Shape& shape, const Shape& output, int64_t matrix) {
    const size_t batchRank = output.rank() - 2;
    int64_t number = 0;
    int64_t stride = 1;
    for (size_t axis = batchRank; axis-- > 0;) {
        number += shape[axis] == 1 ? 0 : matrix % output[axis] * stride;
        stride *= shape[axis];
        matrix /= output[axis];
    }
    return static_cast<int32_t>(number * shape[batchRank] * shape[batchRank + 1]);
}

}  // namespace

Status supports(const BatchMatmul& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const BatchMatmul& node, StepPlan& step) {
    const TensorType& a = step.input(0);
    const TensorType& b = step.input(1);
    const TensorType& output = step.output();
    const size_t rank = output.shape.rank();
    Numbers n = {.rows = output.shape[rank - 2],
                 .columns = output.shape[rank - 1],
                 .inner = a.shape[node.transposeA ? rank - 2 : rank - 1]};
    n.aRow = node.transposeA ? 1 : n.inner;
    n.aInner = node.transposeA ? n.rows : 1;
    n.bColumn = node.transposeB ? n.inner : 1;
    n.bInner = node.transposeB ? 1 : n.columns;
    std::string defines;
    defines.append("#define A ").append(storageOf(a.type)).append("\n");
    defines.append("#define B ").append(storageOf(b.type)).append("\n");
    defines.append("#define R ").append(storageOf(output.type)).append("\n");
    if (isQuantized(output.type)) {
        defines += "#define QUANTIZED 1\n";
        n.aZero = a.quantization.zeroPoint;
        n.bZero = b.quantization.zeroPoint;
        n.zero = output.quantization.zeroPoint;
        n.least = minValue(output.type);
        n.most = maxValue(output.type);
        const fixed_point::Multiplier factor =
                FixedRequantization(a.quantization, b.quantization, output.quantization).factor();
        n.fraction = factor.fraction;
        n.left = std::clamp(factor.shift, 0, 31);
        n.right = std::clamp(-factor.shift, 0, 31);
    } else if (output.type == DataType::INT32) {
        defines += "#define INTEGER 1\n";
    }
    const int64_t matrices = countOf(output.shape) / n.rows / n.columns;
    std::vector<int32_t> starts;
    for (int64_t matrix = 0; matrix < matrices; ++matrix) {
        starts.push_back(startOf(a.shape, output.shape, matrix));
        starts.push_back(startOf(b.shape, output.shape, matrix));
    }
    const Operand table = step.table(std::span<const int32_t>(starts));
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kMatmul, defines));
    launch->with(step.in(0)).with(step.in(1)).with(table).with(step.out()).with(n);
    launch->items = {static_cast<size_t>(n.columns), static_cast<size_t>(n.rows),
                     static_cast<size_t>(matrices)};
    launch->work =
            static_cast<uint64_t>(countOf(output.shape)) * (static_cast<uint64_t>(n.inner) + 4);
    return {};
}

}  // namespace halyard::engine::gpu
