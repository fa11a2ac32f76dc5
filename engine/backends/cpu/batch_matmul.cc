// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices that are both computed: the right ones are packed, and the left ones
// transposed where they have to be, before they are multiplied.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/backends/cpu/float_matmul.h"
#include "engine/backends/cpu/kernels.h"
#include "engine/backends/cpu/plain_kernel.h"
#include "engine/backends/cpu/strided_copy.h"
#include "engine/backends/ref/kernels.h"
#include "engine/base/checked_math.h"

namespace halyard::engine::cpu {
namespace {

// A longer sum is left to the reference, which looks out for the checkpoint inside.
constexpr int64_t kMostDepth = 1 << 16;

struct Extents {
    Shape batchA, batchB, batch;  // before the last two
    int64_t rows = 0, depth = 0, columns = 0;
};

Shape batchOf(const Shape& shape) {
    return Shape(shape.extents().first(shape.rank() - 2));
}

Extents extentsOf(const BatchMatmul& node, const Shape& a, const Shape& b, const Shape& output) {
    const size_t rank = output.rank();
    return {.batchA = batchOf(a),
            .batchB = batchOf(b),
            .batch = batchOf(output),
            .rows = output[rank - 2],
            .depth = a[node.transposeA ? rank - 2 : rank - 1],
            .columns = output[rank - 1]};
}

// Which of the input's matrices serves number `index` of the result's. An extent of 1 serves all.
int64_t matrixOf(const Shape& input, const Shape& batch, int64_t index) {
    int64_t number = 0;
    int64_t stride = 1;
    for (size_t axis = batch.rank(); axis-- > 0;) {
        number += input[axis] == 1 ? 0 : index % batch[axis] * stride;
        stride *= input[axis];
        index /= batch[axis];
    }
    return number;
}

class ShapedBatchMatmul final : public ShapedKernel {
  public:
    ShapedBatchMatmul(const BatchMatmul& node, InstructionSet set, Extents extents)
        : mNode(node), mSet(set), mForm(floatMatmul(set)), mExtents(std::move(extents)) {}

    Status create() {
        mMatrixLength = mForm.panels(mExtents.columns) * mForm.panelLength(mExtents.depth);
        const auto countA = static_cast<size_t>(
                mNode.transposeA ? countOf(mExtents.batchA) * mExtents.rows * mExtents.depth : 0);
        const std::optional<size_t> packed = checkedMultiply(
                static_cast<size_t>(countOf(mExtents.batchB)), static_cast<size_t>(mMatrixLength));
        const std::optional<size_t> count =
                packed.has_value() ? checkedAdd(*packed, countA) : std::nullopt;
        const std::optional<size_t> bytes =
                count.has_value() ? checkedMultiply(*count, sizeof(float)) : std::nullopt;
        if (!bytes.has_value()) {
            return Status(StatusCode::RESOURCE_EXHAUSTED, "its memory is out of reach");
        }
        mPacked = *packed;
        mBytes = *bytes;
        return {};
    }

    size_t workspaceBytes() const override { return mBytes; }

    Status run(KernelCall& call) const override {
        auto* const panels = reinterpret_cast<float*>(call.workspace().data());
        HALYARD_RETURN_IF_ERROR(pack(call, panels));
        const float* a = call.input(0).as<float>();
        if (mNode.transposeA) {
            HALYARD_RETURN_IF_ERROR(transpose(call, panels + mPacked));
            a = panels + mPacked;
        }
        return multiply(call, a, panels);
    }

  private:
    Status pack(KernelCall& call, float* panels) const {
        const auto* b = call.input(1).as<float>();
        const int64_t depth = mExtents.depth;
        const int64_t columns = mExtents.columns;
        const int64_t lanes = mForm.lanes;
        const int64_t each = mForm.panels(columns);
        return call.inParallel(
                countOf(mExtents.batchB) * each, (depth + 1) * (mNode.transposeB ? lanes : 2),
                [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    for (int64_t i = begin; i < end; ++i) {
                        const int64_t column = i % each * lanes;
                        const int64_t count = std::min(lanes, columns - column);
                        const float* from = b + i / each * depth * columns +
                                            (mNode.transposeB ? column * depth : column);
                        float* to = panels + i * mForm.panelLength(depth);
                        std::fill(to, to + mForm.panelLength(depth), 0.0F);
                        to += lanes;  // no bias
                        for (int64_t k = 0; k < depth; ++k, to += lanes) {
                            if (!mNode.transposeB) {
                                std::copy(from + k * columns, from + k * columns + count, to);
                                continue;
                            }
                            for (int64_t lane = 0; lane < count; ++lane) {
                                to[lane] = from[lane * depth + k];
                            }
                        }
                    }
                });
    }

    Status transpose(KernelCall& call, float* to) const {
        const int64_t size = mExtents.rows * mExtents.depth;
        StridedCopy copy;
        copy.addAxis(countOf(mExtents.batchA), size, size);
        copy.addAxis(mExtents.rows, 1, mExtents.depth);
        copy.addAxis(mExtents.depth, mExtents.rows, 1);
        return copy.run(call, sizeof(float), call.input(0).data, to, mSet);
    }

    Status multiply(KernelCall& call, const float* a, const float* panels) const {
        static constexpr ptrdiff_t kRun[] = {0};
        auto* output = call.output(0).as<float>();
        const int64_t tileRows = mForm.tileRows;
        const int64_t tileColumns = 4 * mForm.tileLanes;
        const int64_t down = (mExtents.rows + tileRows - 1) / tileRows;
        const int64_t across = (mExtents.columns + tileColumns - 1) / tileColumns;
        const int64_t operations = tileRows * (mExtents.depth + 8) * 8;
        return call.inParallel(
                countOf(mExtents.batch) * across * down, operations,
                [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    for (int64_t i = begin; i < end; ++i) {
                        const int64_t matrix = i / down / across;
                        const int64_t row = i % down * tileRows;
                        const int64_t column = i / down % across * tileColumns;
                        const int64_t ofA = matrixOf(mExtents.batchA, mExtents.batch, matrix);
                        const int64_t ofB = matrixOf(mExtents.batchB, mExtents.batch, matrix);
                        FloatBlock block;
                        block.a = a + (ofA * mExtents.rows + row) * mExtents.depth;
                        block.aRow = mExtents.depth;
                        block.runs = kRun;
                        block.runLength = mExtents.depth;
                        block.lines = 1;
                        block.rows = std::min(tileRows, mExtents.rows - row);
                        block.panels = panels + ofB * mMatrixLength +
                                       column / mForm.lanes * mForm.panelLength(mExtents.depth);
                        block.columns = std::min(tileColumns, mExtents.columns - column);
                        block.c =
                                output + (matrix * mExtents.rows + row) * mExtents.columns + column;
                        block.cRow = mExtents.columns;
                        block.low = -std::numeric_limits<float>::infinity();
                        block.high = std::numeric_limits<float>::infinity();
                        mForm.compute(block);
                    }
                });
    }

    const BatchMatmul mNode;
    const InstructionSet mSet;
    const FloatMatmul& mForm;
    const Extents mExtents;
    int64_t mMatrixLength = 0;  // floats of a packed matrix
    size_t mPacked = 0;         // floats of all
    size_t mBytes = 0;
};

// What is too long for one tile.
class ReferenceBatchMatmul final : public ShapedKernel {
  public:
    explicit ReferenceBatchMatmul(const BatchMatmul& node) : mNode(node) {}
    Status run(KernelCall& call) const override { return ref::run(mNode, call); }

  private:
    const BatchMatmul mNode;
};

class FloatBatchMatmul final : public StepKernel {
  public:
    FloatBatchMatmul(std::string name, const BatchMatmul& node, InstructionSet set)
        : mName(std::move(name)), mNode(node), mSet(set) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        const Shape& output = types.outputs[0]->shape;
        if (countOf(output) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        const Extents extents =
                extentsOf(mNode, types.inputs[0]->shape, types.inputs[1]->shape, output);
        if (extents.depth > kMostDepth) {
            return std::shared_ptr<const ShapedKernel>(
                    std::make_shared<ReferenceBatchMatmul>(mNode));
        }
        auto kernel = std::make_shared<ShapedBatchMatmul>(mNode, mSet, extents);
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

  private:
    const std::string mName;
    const BatchMatmul mNode;
    const InstructionSet mSet;
};

}  // namespace

Status supports(const BatchMatmul& /*node*/, const Graph& graph, const Node& whole) {
    const DataType type = inputType(graph, whole).type;
    if (type != DataType::FLOAT32) {
        return unsupported("multiplies computed matrices of FLOAT32, not of " +
                           std::string(toString(type)));
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const BatchMatmul& node,
                                                  const KernelArguments& arguments,
                                                  InstructionSet set) {
    return std::unique_ptr<const StepKernel>(std::make_unique<FloatBatchMatmul>(
            kernelName(arguments,
                       std::string(floatMatmul(set).tile) + " " + std::string(toString(set))),
            node, set));
}

}  // namespace halyard::engine::cpu
