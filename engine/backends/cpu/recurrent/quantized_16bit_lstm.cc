// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZED_16BIT_LSTM: one product of x and the output state, side by side, whose sums the cell
// takes in fixed point, as the reference does.

#include <algorithm>
#include <string>
#include <utility>

#include "engine/backends/cpu/gemm/quantized_columns.h"
#include "engine/backends/cpu/gemm/row_gemm.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/recurrent/quantized_lstm_cell.h"

namespace halyard::engine::cpu {
namespace {

constexpr size_t kX = 0;
constexpr size_t kWeights = 1;
constexpr size_t kRecurrentWeights = 5;
constexpr size_t kBias = 9;
constexpr size_t kCellState = 13;
constexpr size_t kOutputState = 14;
constexpr int64_t kGates = 4;

// Longer sums are left to the reference, which looks out for the checkpoint inside.
constexpr int64_t kMostDepth = 1 << 16;

Result<fixed_point::Multiplier> factorOf(const Graph& graph, const Node& whole) {
    const float scale = inputType(graph, whole, kWeights).quantization.scale *
                        inputType(graph, whole, kX).quantization.scale;
    return fixed_point::quantizeMultiplier(static_cast<double>(scale) * 0x1p12);
}

struct Definition {
    fixed_point::Multiplier factor;
    int64_t inputSize = 0;
    int64_t units = 0;
    ByteColumns bytes;
    PackedConstant columns;
    L1dSets l1d = {};
};

class Shaped16BitLstm final : public ShapedKernel {
  public:
    Shaped16BitLstm(const Definition& definition, InstructionSet set, int64_t batch)
        : mDefinition(definition),
          mForm(quantizedGemm(set)),
          mCells(quantizedCells(set)),
          mBatch(batch),
          mRowBlock(std::clamp<int64_t>(batch, 1, 2 * mForm.tileRows)),
          mWidth(kVectorsOfBlock * kGates * mForm.lanes),
          mDepth(paddedDepth(mForm, definition.inputSize + definition.units)) {}

    Status create() {
        HALYARD_ASSIGN_OR_RETURN(
                mSums, mThreadMemory.add(static_cast<size_t>(mRowBlock * mWidth), sizeof(int32_t)));
        HALYARD_ASSIGN_OR_RETURN(
                mRowSums, mThreadMemory.add(static_cast<size_t>(mRowBlock), sizeof(int32_t)));
        HALYARD_ASSIGN_OR_RETURN(mRows, mWorkspace.add(static_cast<size_t>(mBatch * mDepth),
                                                       rowElementBytes(mForm)));
        return {};
    }

    size_t workspaceBytes() const override { return mWorkspace.bytes(); }
    size_t threadBytes() const override { return mThreadMemory.bytes(); }

    Status run(KernelCall& call) const override {
        HALYARD_RETURN_IF_ERROR(fillRows(call));
        const GemmBlocks blocks = {.rows = mBatch,
                                   .rowBlock = mRowBlock,
                                   .columns = mForm.panels(mDefinition.units) * groupWidth(),
                                   .columnBlock = mWidth,
                                   .lanes = mForm.lanes,
                                   .depth = mDepth / mForm.depthGroup};
        return forEachGemmBlock(
                call, blocks,
                [&](int64_t row, int64_t rows, int64_t column, int64_t width, size_t worker) {
                    compute(call, row, rows, column, width, call.memoryOf(worker));
                });
    }

  private:
    // Vectors of units whose gates are computed together.
    static constexpr int64_t kVectorsOfBlock = 4;

    int64_t groupWidth() const { return kGates * mForm.lanes; }
    std::byte* rowsOf(const KernelCall& call) const { return call.workspace() + mRows; }
    int64_t rowBytes() const { return mDepth * static_cast<int64_t>(rowElementBytes(mForm)); }

    // x, then the output state.
    Status fillRows(KernelCall& call) const {
        const Definition& d = mDefinition;
        const auto* const x = call.input(kX).as<uint8_t>();
        const auto* const state = call.input(kOutputState).as<uint8_t>();
        const auto each = static_cast<int64_t>(rowElementBytes(mForm));
        const int64_t length = (d.inputSize + d.units) * each;
        return call.inParallel(
                mBatch, mDepth / 4 + 1, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    for (int64_t i = begin; i < end; ++i) {
                        std::byte* const row = rowsOf(call) + i * rowBytes();
                        fillRow(mForm, d.bytes, x + i * d.inputSize, d.inputSize, row);
                        fillRow(mForm, d.bytes, state + i * d.units, d.units,
                                row + d.inputSize * each);
                        std::fill(row + length, row + rowBytes(), std::byte{0});
                    }
                });
    }

    void compute(const KernelCall& call, int64_t row, int64_t rows, int64_t column, int64_t width,
                 std::byte* memory) const {
        static constexpr ptrdiff_t kRun[] = {0};
        const Definition& d = mDefinition;
        auto* const sums = reinterpret_cast<int32_t*>(memory + mSums);
        QuantizedBlock block;
        block.a = rowsOf(call) + row * rowBytes();
        block.aRow = mDepth;
        block.runs = kRun;
        block.runLength = mDepth;
        block.lines = 1;
        block.rows = rows;
        block.panels = d.columns.in(call.constants()).data() +
                       column / mForm.lanes * mForm.panelBytes(mDepth);
        block.columns = width;
        block.cRow = mWidth;
        block.sums = sums;
        block.l1d = d.l1d;
        if (mForm.bytes && d.bytes.zeros.weights != 0) {
            block.weightsZero = d.bytes.zeros.weights;
            block.rowSums = reinterpret_cast<int32_t*>(memory + mRowSums);
        }
        mForm.compute(block);
        const int64_t unit = column / groupWidth() * mForm.lanes;
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t at = (row + i) * d.units + unit;
            mCells.compute16Bit({.units = d.units - unit,
                                 .together = mForm.lanes,
                                 .begin = 0,
                                 .end = width / groupWidth() * (mForm.lanes / mCells.lanes),
                                 .factor = d.factor,
                                 .sums = sums + i * mWidth,
                                 .previousCell = call.input(kCellState).as<int16_t>() + at,
                                 .cell = call.output(0).as<int16_t>() + at,
                                 .output = call.output(1).as<uint8_t>() + at});
        }
    }

    const Definition& mDefinition;
    const QuantizedGemm& mForm;
    const QuantizedCells& mCells;
    const int64_t mBatch;
    const int64_t mRowBlock;
    const int64_t mWidth;  // columns of a block
    const int64_t mDepth;  // padded
    MemoryParts mThreadMemory;
    size_t mSums = 0;
    size_t mRowSums = 0;
    MemoryParts mWorkspace;
    size_t mRows = 0;
};

class Lstm16Bit final : public StepKernel {
  public:
    Lstm16Bit(std::string name, Definition definition, InstructionSet set)
        : mName(std::move(name)), mDefinition(std::move(definition)), mSet(set) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        auto kernel =
                std::make_shared<Shaped16BitLstm>(mDefinition, mSet, types.inputs[kX]->shape[0]);
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

  private:
    const std::string mName;
    const Definition mDefinition;
    const InstructionSet mSet;
};

}  // namespace

Status supports(const Quantized16BitLstm& /*node*/, const Graph& graph, const Node& whole) {
    for (size_t i = kWeights; i < kCellState; ++i) {
        const Tensor& tensor = graph.tensor(whole.inputs[i]);
        if (!tensor.isConstant()) {
            return unsupported("packs weights and bias beforehand, and here they are computed");
        }
        if (std::ranges::any_of(tensor.type.shape.extents(),
                                [](int32_t extent) { return extent > kMostDepth; })) {
            return unsupported("has no kernel for so many units");
        }
    }
    if (!factorOf(graph, whole).ok()) {
        return unsupported("has no kernel for scales whose product is out of range");
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Quantized16BitLstm& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const QuantizedGemm& form = quantizedGemm(target.set);
    const TensorType& weights = inputType(arguments.graph, arguments.node, kWeights);
    Definition definition;
    definition.l1d = target.tuning.l1d;
    HALYARD_ASSIGN_OR_RETURN(definition.factor, factorOf(arguments.graph, arguments.node));
    definition.units = weights.shape[0];
    definition.inputSize = weights.shape[1];
    definition.bytes =
            ByteColumns::of(form, inputType(arguments.graph, arguments.node, kX), weights);
    PackedByteColumns columns = {.set = target.set,
                                 .zeros = definition.bytes,
                                 .sources = {},
                                 .columns = definition.units};
    const auto constant = [&]<typename T>(size_t input, ConstantSource<T>& to) {
        arguments.packed.push_back(arguments.node.inputs[input]);
        to = constantOf<T>(arguments, input);
    };
    for (size_t gate = 0; gate < kGates; ++gate) {
        // In this order, as the reference explains.
        PackedByteColumns::Source source = {
                .parts = {{.weights = {}, .depth = definition.units},
                          {.weights = {}, .depth = definition.inputSize}},
                .bias = {}};
        constant(kRecurrentWeights + gate, source.parts[0].weights);
        constant(kWeights + gate, source.parts[1].weights);
        constant(kBias + gate, source.bias);
        columns.sources.push_back(std::move(source));
    }
    HALYARD_ASSIGN_OR_RETURN(definition.columns, arguments.constants.add(std::move(columns)));
    return std::unique_ptr<const StepKernel>(std::make_unique<Lstm16Bit>(
            kernelName(arguments, std::string(form.tile) + " " + std::string(toString(target.set))),
            std::move(definition), target.set));
}

}  // namespace halyard::engine::cpu
