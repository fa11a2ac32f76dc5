// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices of bytes that are both computed: the right ones are packed, and the left
// ones become what the product reads, before they are multiplied.

#include <algorithm>
#include <string>
#include <utility>

#include "engine/backends/cpu/gemm/batch_matmul.h"
#include "engine/backends/cpu/gemm/quantized_columns.h"
#include "engine/backends/cpu/gemm/row_gemm.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/vectors/fixed_requantize.h"
#include "engine/numerics/fixed_requantize.h"

namespace halyard::engine::cpu {
namespace {

class ShapedQuantizedBatchMatmul final : public ShapedKernel {
  public:
    ShapedQuantizedBatchMatmul(const BatchMatmul& node, InstructionSet set, const L1dSets& l1d,
                               const StepTypes& types, MatrixExtents extents)
        : mNode(node),
          mL1d(l1d),
          mForm(quantizedGemm(set)),
          mRequantize(fixedRequantize(set)),
          mBytes(ByteColumns::of(mForm, *types.inputs[0], *types.inputs[1])),
          mExtents(std::move(extents)),
          mDepth(paddedDepth(mForm, mExtents.depth)),
          mPanelsOfMatrix(mForm.panels(mExtents.columns)),
          mWidth(4 * mForm.tileLanes) {
        const Quantization& output = types.outputs[0]->quantization;
        mFactor.factor = FixedRequantization(types.inputs[0]->quantization,
                                             types.inputs[1]->quantization, output)
                                 .factor();
        mFactor.zeroPoint = output.zeroPoint;
        mFactor.range = rangeOf(types.outputs[0]->type);
    }

    Status create() {
        const auto tile = static_cast<size_t>(mForm.tileRows * mWidth);
        HALYARD_ASSIGN_OR_RETURN(mSums, mThreadMemory.add(tile, sizeof(int32_t)));
        HALYARD_ASSIGN_OR_RETURN(
                mRowSums, mThreadMemory.add(static_cast<size_t>(mForm.tileRows), sizeof(int32_t)));
        HALYARD_ASSIGN_OR_RETURN(
                mRows, mWorkspace.add(static_cast<size_t>(countOf(mExtents.batchA) * mExtents.rows),
                                      static_cast<size_t>(mDepth) * rowElementBytes(mForm)));
        HALYARD_ASSIGN_OR_RETURN(
                mPanels,
                mWorkspace.add(static_cast<size_t>(countOf(mExtents.batchB) * mPanelsOfMatrix),
                               static_cast<size_t>(mForm.panelBytes(mDepth))));
        return {};
    }

    size_t workspaceBytes() const override { return mWorkspace.bytes(); }
    size_t threadBytes() const override { return mThreadMemory.bytes(); }

    Status run(KernelCall& call) const override {
        HALYARD_RETURN_IF_ERROR(fillRows(call));
        HALYARD_RETURN_IF_ERROR(pack(call));
        return multiply(call);
    }

  private:
    std::byte* row(const KernelCall& call, int64_t index) const {
        const int64_t size = mDepth * static_cast<int64_t>(rowElementBytes(mForm));
        return call.workspace() + mRows + index * size;
    }
    std::byte* panel(const KernelCall& call, int64_t index) const {
        return call.workspace() + mPanels + index * mForm.panelBytes(mDepth);
    }

    Status fillRows(KernelCall& call) const {
        const auto* const a = call.input(0).as<uint8_t>();
        return call.inParallel(countOf(mExtents.batchA) * mExtents.rows, mDepth / 8 + 4,
                               [&](int64_t begin, int64_t end, size_t /*worker*/) {
                                   for (int64_t i = begin; i < end; ++i) {
                                       fillOneRow(a, i, row(call, i));
                                   }
                               });
    }

    void fillOneRow(const uint8_t* a, int64_t index, std::byte* to) const {
        constexpr int64_t kChunk = 256;
        const auto each = static_cast<int64_t>(rowElementBytes(mForm));
        const int64_t depth = mExtents.depth;
        if (!mNode.transposeA) {
            fillRow(mForm, mBytes, a + index * depth, depth, to);
        } else {
            const int64_t rows = mExtents.rows;
            const uint8_t* from = a + index / rows * rows * depth + index % rows;
            for (int64_t first = 0; first < depth; first += kChunk) {
                uint8_t chunk[kChunk];
                const int64_t count = std::min(kChunk, depth - first);
                for (int64_t i = 0; i < count; ++i) {
                    chunk[i] = from[(first + i) * rows];
                }
                fillRow(mForm, mBytes, chunk, count, to + first * each);
            }
        }
        std::fill(to + depth * each, to + mDepth * each, std::byte{0});
    }

    Status pack(KernelCall& call) const {
        const auto* const b = call.input(1).as<uint8_t>();
        const int64_t depth = mExtents.depth;
        const int64_t columns = mExtents.columns;
        return call.inParallel(
                countOf(mExtents.batchB) * mPanelsOfMatrix, (depth + 8) * mForm.lanes,
                [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    for (int64_t i = begin; i < end; ++i) {
                        const uint8_t* const matrix = b + i / mPanelsOfMatrix * depth * columns;
                        const int64_t first = i % mPanelsOfMatrix * mForm.lanes;
                        const bool transposed = mNode.transposeB;
                        std::byte* const to = panel(call, i);
                        std::fill_n(to, mForm.panelBytes(mDepth), std::byte{0});
                        packPanel(mForm, mBytes,
                                  {.first = matrix + (transposed ? first * depth : first),
                                   .along = transposed ? 1 : columns,
                                   .across = transposed ? depth : 1,
                                   .depth = depth,
                                   .columns = std::min(mForm.lanes, columns - first)},
                                  to);
                    }
                });
    }

    Status multiply(KernelCall& call) const {
        static constexpr ptrdiff_t kRun[] = {0};
        auto* const output = call.output(0).as<uint8_t>();
        const int64_t tileRows = mForm.tileRows;
        const int64_t down = (mExtents.rows + tileRows - 1) / tileRows;
        const int64_t across = (mExtents.columns + mWidth - 1) / mWidth;
        const int64_t steps = mDepth / mForm.depthGroup + 8;
        return call.inParallel(
                countOf(mExtents.batch) * across * down,
                tileRows * steps * (std::min(mExtents.columns, mWidth) / mForm.lanes + 1),
                [&](int64_t begin, int64_t end, size_t worker) {
                    std::byte* const memory = call.memoryOf(worker);
                    auto* const sums = reinterpret_cast<int32_t*>(memory + mSums);
                    for (int64_t i = begin; i < end; ++i) {
                        const int64_t matrix = i / down / across;
                        const int64_t first = i % down * tileRows;
                        const int64_t column = i / down % across * mWidth;
                        const int64_t ofA = matrixOf(mExtents.batchA, mExtents.batch, matrix);
                        const int64_t ofB = matrixOf(mExtents.batchB, mExtents.batch, matrix);
                        QuantizedBlock block;
                        block.a = row(call, ofA * mExtents.rows + first);
                        block.aRow = mDepth;
                        block.runs = kRun;
                        block.runLength = mDepth;
                        block.lines = 1;
                        block.rows = std::min(tileRows, mExtents.rows - first);
                        block.panels = panel(call, ofB * mPanelsOfMatrix + column / mForm.lanes);
                        block.columns = std::min(mWidth, mExtents.columns - column);
                        block.cRow = mWidth;
                        block.sums = sums;
                        block.l1d = mL1d;
                        if (mForm.bytes && mBytes.zeros.weights != 0) {
                            block.weightsZero = mBytes.zeros.weights;
                            block.rowSums = reinterpret_cast<int32_t*>(memory + mRowSums);
                        }
                        mForm.compute(block);
                        uint8_t* const to = output +
                                            (matrix * mExtents.rows + first) * mExtents.columns +
                                            column;
                        for (int64_t j = 0; j < block.rows; ++j) {
                            mRequantize(mFactor, sums + j * mWidth, to + j * mExtents.columns,
                                        block.columns);
                        }
                    }
                });
    }

    const BatchMatmul mNode;
    const L1dSets mL1d;
    const QuantizedGemm& mForm;
    const FixedRequantize mRequantize;
    const ByteColumns mBytes;
    const MatrixExtents mExtents;
    const int64_t mDepth;  // padded
    const int64_t mPanelsOfMatrix;
    const int64_t mWidth;  // columns of a block
    FixedFactor mFactor;
    MemoryParts mThreadMemory;
    size_t mSums = 0;
    size_t mRowSums = 0;
    MemoryParts mWorkspace;
    size_t mRows = 0;
    size_t mPanels = 0;
};

class QuantizedBatchMatmul final : public StepKernel {
  public:
    QuantizedBatchMatmul(std::string name, const BatchMatmul& node, const CpuTarget& target)
        : mName(std::move(name)), mNode(node), mSet(target.set), mL1d(target.tuning.l1d) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        const Shape& output = types.outputs[0]->shape;
        if (countOf(output) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        MatrixExtents extents =
                extentsOf(mNode, types.inputs[0]->shape, types.inputs[1]->shape, output);
        if (extents.depth > kMostMatrixDepth) {
            return std::shared_ptr<const ShapedKernel>(
                    std::make_shared<ReferenceBatchMatmul>(mNode));
        }
        auto kernel = std::make_shared<ShapedQuantizedBatchMatmul>(mNode, mSet, mL1d, types,
                                                                   std::move(extents));
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

  private:
    const std::string mName;
    const BatchMatmul mNode;
    const InstructionSet mSet;
    const L1dSets mL1d;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileQuantizedBatchMatmul(
        const BatchMatmul& node, const KernelArguments& arguments, const CpuTarget& target) {
    return std::unique_ptr<const StepKernel>(std::make_unique<QuantizedBatchMatmul>(
            kernelName(arguments, std::string(quantizedGemm(target.set).tile) + " " +
                                          std::string(toString(target.set))),
            node, target));
}

}  // namespace halyard::engine::cpu
