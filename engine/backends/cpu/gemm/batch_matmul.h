// SPDX-License-Identifier: Apache-2.0
//
// Extents of BATCH_MATMUL and its reference kernel, for matrices of floats and of bytes.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"
#include "engine/numerics/elements.h"
#include "engine/plan/step_kernel.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::cpu {

// A longer sum is left to the reference, which looks out for the checkpoint inside.
inline constexpr int64_t kMostMatrixDepth = 1 << 16;

struct MatrixExtents {
    Shape batchA, batchB, batch;  // before the last two
    int64_t rows = 0, depth = 0, columns = 0;
};

inline Shape batchOf(const Shape& shape) {
    return Shape(shape.extents().first(shape.rank() - 2));
}

inline MatrixExtents extentsOf(const BatchMatmul& node, const Shape& a, const Shape& b,
                               const Shape& output) {
    const size_t rank = output.rank();
    return {.batchA = batchOf(a),
            .batchB = batchOf(b),
            .batch = batchOf(output),
            .rows = output[rank - 2],
            .depth = a[node.transposeA ? rank - 2 : rank - 1],
            .columns = output[rank - 1]};
}

// Which of the input's matrices serves number `index` of the result's. An extent of 1 serves all.
inline int64_t matrixOf(const Shape& input, const Shape& batch, int64_t index) {
    int64_t number = 0;
    int64_t stride = 1;
    for (size_t axis = batch.rank(); axis-- > 0;) {
        number += input[axis] == 1 ? 0 : index % batch[axis] * stride;
        stride *= input[axis];
        index /= batch[axis];
    }
    return number;
}

// For a depth that is too long for one tile.
class ReferenceBatchMatmul final : public ShapedKernel {
  public:
    explicit ReferenceBatchMatmul(const BatchMatmul& node) : mNode(node) {}
    Status run(KernelCall& call) const override { return ref::run(mNode, call); }

  private:
    const BatchMatmul mNode;
};

// Inputs and output of bytes.
Result<std::unique_ptr<const StepKernel>> compileQuantizedBatchMatmul(
        const BatchMatmul& node, const KernelArguments& arguments, const CpuTarget& target);

}  // namespace halyard::engine::cpu
