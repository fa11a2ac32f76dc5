// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices that are both computed: the right ones are packed, and the left ones
// transposed where they have to be, before they are multiplied.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/backends/cpu/gemm/batch_matmul.h"

#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/kernels/strided_copy.h"
#include "engine/base/half.h"

namespace halyard::engine::cpu {
namespace {

// Multiplies floats, or halves that are widened while matrices are packed and narrowed when they
// are stored.
template <typename T>
class ShapedBatchMatmul final : public ShapedKernel {
  public:
    ShapedBatchMatmul(const BatchMatmul& node, InstructionSet set, const L1dSets& l1d,
                      MatrixExtents extents)
        : mNode(node),
          mSet(set),
          mL1d(l1d),
          mForm(floatGemm(set)),
          mExtents(std::move(extents)),
          mTileColumns(4 * mForm.tileLanes) {}

    Status create() {
        mMatrixLength = mForm.panels(mExtents.columns) * mForm.panelLength(mExtents.depth);
        const auto tile = static_cast<size_t>(kHalves ? mForm.tileRows * mTileColumns : 0);
        HALYARD_ASSIGN_OR_RETURN(mTile, mThreadMemory.add(tile, sizeof(float)));
        HALYARD_ASSIGN_OR_RETURN(
                mPanels, mWorkspace.add(static_cast<size_t>(countOf(mExtents.batchB)),
                                        static_cast<size_t>(mMatrixLength) * sizeof(float)));
        const int64_t rows = packsA() ? countOf(mExtents.batchA) * mExtents.rows : 0;
        HALYARD_ASSIGN_OR_RETURN(
                mRows, mWorkspace.add(static_cast<size_t>(rows),
                                      static_cast<size_t>(mExtents.depth) * sizeof(float)));
        return {};
    }

    size_t workspaceBytes() const override { return mWorkspace.bytes(); }
    size_t threadBytes() const override { return mThreadMemory.bytes(); }

    Status run(KernelCall& call) const override {
        auto* const panels = reinterpret_cast<float*>(call.workspace() + mPanels);
        auto* const rows = reinterpret_cast<float*>(call.workspace() + mRows);
        HALYARD_RETURN_IF_ERROR(pack(call, panels));
        if constexpr (kHalves) {
            HALYARD_RETURN_IF_ERROR(widen(call, rows));
            return multiply(call, rows, panels);
        } else {
            if (mNode.transposeA) {
                HALYARD_RETURN_IF_ERROR(transpose(call, rows));
                return multiply(call, rows, panels);
            }
            return multiply(call, call.input(0).as<float>(), panels);
        }
    }

  private:
    static constexpr bool kHalves = std::is_same_v<T, Half>;

    bool packsA() const { return kHalves || mNode.transposeA; }

    Status pack(KernelCall& call, float* panels) const {
        const auto* b = call.input(1).as<T>();
        const int64_t depth = mExtents.depth;
        const int64_t columns = mExtents.columns;
        const int64_t lanes = mForm.lanes;
        const int64_t each = mForm.panels(columns);
        return call.inParallel(countOf(mExtents.batchB) * each, (depth + 1) * lanes,
                               [&](int64_t begin, int64_t end, size_t /*worker*/) {
                                   for (int64_t i = begin; i < end; ++i) {
                                       const int64_t column = i % each * lanes;
                                       float* const to = panels + i * mForm.panelLength(depth);
                                       std::fill_n(to, lanes, 0.0F);  // no bias
                                       packColumns(b + i / each * depth * columns, column,
                                                   std::min(lanes, columns - column), to + lanes);
                                   }
                               });
    }

    // `count` columns of a right matrix from `column` on, as a panel has them.
    void packColumns(const T* matrix, int64_t column, int64_t count, float* to) const {
        const int64_t depth = mExtents.depth;
        const int64_t columns = mExtents.columns;
        const int64_t lanes = mForm.lanes;
        if (mNode.transposeB) {
            layPanel<T>({.first = matrix + column * depth,
                         .count = count,
                         .apart = depth,
                         .depth = depth},
                        false, mSet, lanes, to);
            return;
        }
        const T* from = matrix + column;
        if constexpr (!kHalves) {
            if (count == 4 && lanes == 4) {
                copyRows<4>(from, to);
                return;
            }
            if (count == 8 && lanes == 8) {
                copyRows<8>(from, to);
                return;
            }
            if (count == 16 && lanes == 16) {
                copyRows<16>(from, to);
                return;
            }
        }
        for (int64_t k = 0; k < depth; ++k, from += columns, to += lanes) {
            std::fill(std::transform(from, from + count, to, [](T value) { return toReal(value); }),
                      to + lanes, 0.0F);
        }
    }

    // Of whole vectors.
    template <int64_t kLanes>
    void copyRows(const T* from, T* to) const {
        for (int64_t k = 0; k < mExtents.depth; ++k, from += mExtents.columns, to += kLanes) {
            std::memcpy(to, from, kLanes * sizeof(T));
        }
    }

    Status widen(KernelCall& call, float* to) const {
        const auto* a = call.input(0).as<T>();
        const int64_t rows = mExtents.rows;
        const int64_t depth = mExtents.depth;
        const int64_t step = mNode.transposeA ? rows : 1;
        return call.inParallel(
                countOf(mExtents.batchA) * rows, depth * 2,
                [=, this](int64_t begin, int64_t end, size_t /*worker*/) {
                    for (int64_t i = begin; i < end; ++i) {
                        const T* from = a + (mNode.transposeA ? i / rows * rows * depth + i % rows
                                                              : i * depth);
                        for (int64_t k = 0; k < depth; ++k) {
                            to[i * depth + k] = toReal(from[k * step]);
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
        auto* output = call.output(0).as<T>();
        const int64_t tileRows = mForm.tileRows;
        const int64_t tileColumns = mTileColumns;
        const int64_t down = (mExtents.rows + tileRows - 1) / tileRows;
        const int64_t across = (mExtents.columns + tileColumns - 1) / tileColumns;
        const int64_t operations = tileRows * (mExtents.depth + 8) * 8;
        return call.inParallel(
                countOf(mExtents.batch) * across * down, operations,
                [&](int64_t begin, int64_t end, size_t worker) {
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
                        block.low = -std::numeric_limits<float>::infinity();
                        block.high = std::numeric_limits<float>::infinity();
                        block.l1d = mL1d;
                        T* const to =
                                output + (matrix * mExtents.rows + row) * mExtents.columns + column;
                        if constexpr (kHalves) {
                            block.c = reinterpret_cast<float*>(call.memoryOf(worker) + mTile);
                            block.cRow = tileColumns;
                            mForm.compute(block);
                            narrow(block, to);
                        } else {
                            block.c = to;
                            block.cRow = mExtents.columns;
                            mForm.compute(block);
                        }
                    }
                });
    }

    void narrow(const FloatBlock& block, T* to) const {
        for (int64_t row = 0; row < block.rows; ++row) {
            const float* const from = block.c + row * block.cRow;
            std::transform(from, from + block.columns, to + row * mExtents.columns,
                           [](float value) { return fromReal<T>(value); });
        }
    }

    const BatchMatmul mNode;
    const InstructionSet mSet;
    const L1dSets mL1d;
    const FloatGemm& mForm;
    const MatrixExtents mExtents;
    const int64_t mTileColumns;
    int64_t mMatrixLength = 0;  // floats of a packed matrix
    MemoryParts mThreadMemory;
    size_t mTile = 0;
    MemoryParts mWorkspace;
    size_t mPanels = 0;
    size_t mRows = 0;
};

class FloatBatchMatmul final : public StepKernel {
  public:
    FloatBatchMatmul(std::string name, const BatchMatmul& node, const CpuTarget& target)
        : mName(std::move(name)), mNode(node), mSet(target.set), mL1d(target.tuning.l1d) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        const Shape& output = types.outputs[0]->shape;
        if (countOf(output) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        const MatrixExtents extents =
                extentsOf(mNode, types.inputs[0]->shape, types.inputs[1]->shape, output);
        if (extents.depth > kMostMatrixDepth) {
            return std::shared_ptr<const ShapedKernel>(
                    std::make_shared<ReferenceBatchMatmul>(mNode));
        }
        return types.inputs[0]->type == DataType::FLOAT16 ? shaped<Half>(extents)
                                                          : shaped<float>(extents);
    }

  private:
    template <typename T>
    Result<std::shared_ptr<const ShapedKernel>> shaped(const MatrixExtents& extents) const {
        auto kernel = std::make_shared<ShapedBatchMatmul<T>>(mNode, mSet, mL1d, extents);
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

    const std::string mName;
    const BatchMatmul mNode;
    const InstructionSet mSet;
    const L1dSets mL1d;
};

}  // namespace

Status supports(const BatchMatmul& /*node*/, const Graph& graph, const Node& whole) {
    const DataType type = inputType(graph, whole).type;
    if (!isFloat(type) && !isOfBytes(type)) {
        return unsupported("multiplies computed matrices of floats and of bytes, not of " +
                           std::string(toString(type)));
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const BatchMatmul& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    if (isOfBytes(inputType(arguments.graph, arguments.node).type)) {
        return compileQuantizedBatchMatmul(node, arguments, target);
    }
    return std::unique_ptr<const StepKernel>(std::make_unique<FloatBatchMatmul>(
            kernelName(arguments, std::string(floatGemm(target.set).tile) + " " +
                                          std::string(toString(target.set))),
            node, target));
}

}  // namespace halyard::engine::cpu
