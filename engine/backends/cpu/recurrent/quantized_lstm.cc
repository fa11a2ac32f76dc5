// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZED_LSTM: products of bytes whose sums the cell takes in fixed point, as the reference
// does.

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/gemm/quantized_columns.h"
#include "engine/backends/cpu/gemm/row_gemm.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/recurrent/quantized_lstm_cell.h"
#include "engine/backends/cpu/vectors/fixed_requantize.h"
#include "engine/graph/lstm_gates.h"
#include "engine/graph/recurrence.h"

namespace halyard::engine::cpu {
namespace {

// Longer sums are left to the reference, which looks out for the checkpoint inside.
constexpr int64_t kMostDepth = 1 << 16;

constexpr std::array kGates = {lstm::kInputGate, lstm::kForgetGate, lstm::kCellGate,
                               lstm::kOutputGate};

bool isThere(const Node& node, std::optional<size_t> input) {
    return input.has_value() && node.inputs[*input] != kNoTensor;
}

std::span<const lstm::GateInputs> gatesOf(const Node& node) {
    const std::span<const lstm::GateInputs> all = kGates;
    return isThere(node, lstm::kInputGate.weights) ? all : all.subspan(1);
}

// The numbers of a node, which its types and attributes tell. Fails where the reference does.
struct Numbers {
    QuantizedCell cell;
    FixedFactor projection;
};

Result<Numbers> numbersOf(const QuantizedLstm& node, const Graph& graph, const Node& whole) {
    const auto scaleOf = [&](size_t input) {
        return inputType(graph, whole, input).quantization.scale;
    };
    const TensorType& state = inputType(graph, whole, lstm::kOutputState);
    Numbers numbers;
    QuantizedCell& cell = numbers.cell;
    cell.coupled = !isThere(whole, lstm::kInputGate.weights);
    HALYARD_ASSIGN_OR_RETURN(cell.cellLog2, lstm::cellScaleLog2(scaleOf(lstm::kCellState)));
    const auto from = [&](float scale, size_t weights) {
        return fixed_point::quantizeMultiplier(scaleOf(weights) * scale / 0x1p-12F);
    };
    size_t number = 0;
    for (const lstm::GateInputs& inputs : gatesOf(whole)) {
        QuantizedGate& gate = cell.gates[number++];
        HALYARD_ASSIGN_OR_RETURN(gate.weights, from(scaleOf(lstm::kX), inputs.weights));
        HALYARD_ASSIGN_OR_RETURN(gate.recurrent,
                                 from(state.quantization.scale, inputs.recurrentWeights));
        if (isThere(whole, inputs.peephole)) {
            HALYARD_ASSIGN_OR_RETURN(gate.peephole,
                                     from(std::ldexp(1.0F, cell.cellLog2), *inputs.peephole));
        }
    }
    if (node.cellClip > 0.0F) {
        cell.cellClip =
                static_cast<int16_t>(std::min(node.cellClip / scaleOf(lstm::kCellState), 32767.0F));
    }
    HALYARD_ASSIGN_OR_RETURN(
            cell.hidden, fixed_point::quantizeMultiplier(0x1p-15F / node.hiddenScale * 0x1p-15F));
    cell.hiddenZeroPoint = node.hiddenZeroPoint;
    if (isThere(whole, lstm::kProjectionWeights)) {
        FixedFactor& projection = numbers.projection;
        const float factor =
                scaleOf(lstm::kProjectionWeights) * node.hiddenScale / state.quantization.scale;
        HALYARD_ASSIGN_OR_RETURN(projection.factor, fixed_point::quantizeMultiplier(factor));
        projection.zeroPoint = state.quantization.zeroPoint;
        projection.range = rangeOf(state.type);
        if (node.projectionClip > 0.0F) {
            const auto clip = static_cast<int32_t>(
                    std::min(node.projectionClip / state.quantization.scale, 512.0F));
            const QuantizedRange range = projection.range;
            projection.range.low = std::clamp(projection.zeroPoint - clip, range.low, range.high);
            projection.range.high = std::clamp(projection.zeroPoint + clip, range.low, range.high);
        }
    }
    return numbers;
}

// The weights and how they are packed.
struct Definition {
    Numbers numbers;
    bool projects = false;
    int64_t inputSize = 0;   // k
    int64_t units = 0;       // n
    int64_t outputSize = 0;  // m
    ByteColumns input;
    ByteColumns recurrent;
    ByteColumns hidden;
    PackedConstant inputColumns;
    PackedConstant recurrentColumns;
    PackedConstant projectionColumns;
    std::optional<PackedConstant> peepholes;
    L1dSets l1d = {};

    int64_t gates() const { return numbers.cell.coupled ? 3 : 4; }
};

class ShapedQuantizedLstm final : public ShapedKernel {
  public:
    ShapedQuantizedLstm(const Definition& definition, InstructionSet set, int64_t batch)
        : mDefinition(definition),
          mForm(quantizedGemm(set)),
          mCells(quantizedCells(set)),
          mRequantize(fixedRequantize(set)),
          mBatch(batch),
          mRowBlock(std::clamp<int64_t>(batch, 1, 2 * mForm.tileRows)),
          mWidth(kVectorsOfBlock * definition.gates() * mForm.lanes),
          mXDepth(paddedDepth(mForm, definition.inputSize)),
          mStateDepth(paddedDepth(mForm, definition.outputSize)),
          mHiddenDepth(paddedDepth(mForm, definition.units)) {}

    Status create() {
        const auto count = static_cast<size_t>(mRowBlock * mWidth);
        HALYARD_ASSIGN_OR_RETURN(mSums, mThreadMemory.add(count, sizeof(int32_t)));
        HALYARD_ASSIGN_OR_RETURN(mRecurrent, mThreadMemory.add(count, sizeof(int32_t)));
        const auto addRows = [&](int64_t depth) {
            return mWorkspace.add(static_cast<size_t>(mBatch * depth), rowElementBytes(mForm));
        };
        HALYARD_ASSIGN_OR_RETURN(mX, addRows(mXDepth));
        HALYARD_ASSIGN_OR_RETURN(mState, addRows(mStateDepth));
        if (mDefinition.projects) {
            HALYARD_ASSIGN_OR_RETURN(
                    mHidden, mWorkspace.add(static_cast<size_t>(mBatch * mDefinition.units), 1));
            HALYARD_ASSIGN_OR_RETURN(mHiddenRows, addRows(mHiddenDepth));
        }
        return {};
    }

    size_t workspaceBytes() const override { return mWorkspace.bytes(); }
    size_t threadBytes() const override { return mThreadMemory.bytes(); }

    Status run(KernelCall& call) const override {
        const Definition& d = mDefinition;
        HALYARD_RETURN_IF_ERROR(fillRows(call, d.input, call.input(lstm::kX).as<uint8_t>(),
                                         d.inputSize, mX, mXDepth));
        HALYARD_RETURN_IF_ERROR(fillRows(call, d.recurrent,
                                         call.input(lstm::kOutputState).as<uint8_t>(), d.outputSize,
                                         mState, mStateDepth));
        HALYARD_RETURN_IF_ERROR(updateCells(call));
        if (d.projects) {
            HALYARD_RETURN_IF_ERROR(fillRows(
                    call, d.hidden, reinterpret_cast<const uint8_t*>(call.workspace() + mHidden),
                    d.units, mHiddenRows, mHiddenDepth));
            HALYARD_RETURN_IF_ERROR(project(call));
        }
        const auto* const output = call.output(2).as<int8_t>();
        auto* const state = call.output(0).as<int8_t>();
        return call.inParallel(
                mBatch, d.outputSize / 16 + 1, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    std::copy(output + begin * d.outputSize, output + end * d.outputSize,
                              state + begin * d.outputSize);
                });
    }

  private:
    // Vectors of units whose gates are computed together.
    static constexpr int64_t kVectorsOfBlock = 4;

    Status fillRows(KernelCall& call, const ByteColumns& bytes, const uint8_t* from, int64_t size,
                    size_t to, int64_t depth) const {
        const auto each = static_cast<int64_t>(rowElementBytes(mForm));
        std::byte* const rows = call.workspace() + to;
        return call.inParallel(
                mBatch, size / 4 + 1, [=, this](int64_t begin, int64_t end, size_t /*worker*/) {
                    for (int64_t i = begin; i < end; ++i) {
                        std::byte* const row = rows + i * depth * each;
                        fillRow(mForm, bytes, from + i * size, size, row);
                        std::fill(row + size * each, row + depth * each, std::byte{0});
                    }
                });
    }

    // Sums of rows of `depth` elements, for a block.
    void multiply(const KernelCall& call, const PackedConstant& columns, size_t rows, int64_t depth,
                  int64_t row, int64_t count, int64_t column, int64_t width, int32_t* sums) const {
        static constexpr ptrdiff_t kRun[] = {0};
        const auto each = static_cast<int64_t>(rowElementBytes(mForm));
        QuantizedBlock block;
        block.a = call.workspace() + rows + row * depth * each;
        block.aRow = depth;
        block.runs = kRun;
        block.runLength = depth;
        block.lines = 1;
        block.rows = count;
        block.panels = columns.in(call.constants()).data() +
                       column / mForm.lanes * mForm.panelBytes(depth);
        block.columns = width;
        block.cRow = mWidth;
        block.sums = sums;
        block.l1d = mDefinition.l1d;
        mForm.compute(block);
    }

    GemmBlocks blocksOf(int64_t columns, int64_t columnBlock, int64_t depth) const {
        return {.rows = mBatch,
                .rowBlock = mRowBlock,
                .columns = columns,
                .columnBlock = columnBlock,
                .lanes = mForm.lanes,
                .depth = depth / mForm.depthGroup};
    }

    Status updateCells(KernelCall& call) const {
        const Definition& d = mDefinition;
        const int64_t group = d.gates() * mForm.lanes;
        const int64_t columns = mForm.panels(d.units) * group;
        auto* const hidden = d.projects ? reinterpret_cast<int8_t*>(call.workspace() + mHidden)
                                        : call.output(2).as<int8_t>();
        return forEachGemmBlock(
                call, blocksOf(columns, mWidth, mXDepth + mStateDepth),
                [&](int64_t row, int64_t rows, int64_t column, int64_t width, size_t worker) {
                    std::byte* const memory = call.memoryOf(worker);
                    auto* const sums = reinterpret_cast<int32_t*>(memory + mSums);
                    auto* const recurrent = reinterpret_cast<int32_t*>(memory + mRecurrent);
                    multiply(call, d.inputColumns, mX, mXDepth, row, rows, column, width, sums);
                    multiply(call, d.recurrentColumns, mState, mStateDepth, row, rows, column,
                             width, recurrent);
                    for (int64_t i = 0; i < rows; ++i) {
                        updateCell(call, hidden, row + i, column, width, sums + i * mWidth,
                                   recurrent + i * mWidth);
                    }
                });
    }

    // The units of the columns [column, column + width). What is computed of them starts with their
    // first one, what belongs to all units with the first of all.
    void updateCell(const KernelCall& call, int8_t* hidden, int64_t row, int64_t column,
                    int64_t width, const int32_t* sums, const int32_t* recurrent) const {
        const Definition& d = mDefinition;
        const int64_t group = d.gates() * mForm.lanes;
        const int64_t unit = column / group * mForm.lanes;
        const int64_t at = row * d.units + unit;
        QuantizedCellRow cells = {.units = d.units - unit,
                                  .together = mForm.lanes,
                                  .begin = 0,
                                  .end = width / group * (mForm.lanes / mCells.lanes),
                                  .sums = sums,
                                  .recurrent = recurrent,
                                  .peepholes = nullptr,
                                  .previousCell = call.input(lstm::kCellState).as<int16_t>() + at,
                                  .cell = call.output(1).as<int16_t>() + at,
                                  .hidden = hidden + at};
        if (d.peepholes.has_value()) {
            cells.peepholes =
                    reinterpret_cast<const int32_t*>(d.peepholes->in(call.constants()).data()) +
                    column;
        }
        mCells.compute(d.numbers.cell, cells);
    }

    Status project(KernelCall& call) const {
        const Definition& d = mDefinition;
        auto* const output = call.output(2).as<uint8_t>();
        return forEachGemmBlock(
                call, blocksOf(d.outputSize, kVectorsOfBlock * mForm.lanes, mHiddenDepth),
                [&](int64_t row, int64_t rows, int64_t column, int64_t width, size_t worker) {
                    auto* const sums = reinterpret_cast<int32_t*>(call.memoryOf(worker) + mSums);
                    multiply(call, d.projectionColumns, mHiddenRows, mHiddenDepth, row, rows,
                             column, width, sums);
                    for (int64_t i = 0; i < rows; ++i) {
                        mRequantize(d.numbers.projection, sums + i * mWidth,
                                    output + (row + i) * d.outputSize + column, width);
                    }
                });
    }

    const Definition& mDefinition;
    const QuantizedGemm& mForm;
    const QuantizedCells& mCells;
    const FixedRequantize mRequantize;
    const int64_t mBatch;
    const int64_t mRowBlock;
    const int64_t mWidth;  // columns of a block
    // Padded sizes.
    const int64_t mXDepth;
    const int64_t mStateDepth;
    const int64_t mHiddenDepth;
    MemoryParts mThreadMemory;
    size_t mSums = 0;
    size_t mRecurrent = 0;
    MemoryParts mWorkspace;
    size_t mX = 0;
    size_t mState = 0;
    size_t mHidden = 0;
    size_t mHiddenRows = 0;
};

class ByteLstm final : public StepKernel {
  public:
    ByteLstm(std::string name, Definition definition, InstructionSet set)
        : mName(std::move(name)), mDefinition(std::move(definition)), mSet(set) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        auto kernel = std::make_shared<ShapedQuantizedLstm>(mDefinition, mSet,
                                                            types.inputs[lstm::kX]->shape[0]);
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

  private:
    const std::string mName;
    const Definition mDefinition;
    const InstructionSet mSet;
};

// A vector of weights of each gate by turns.
struct PackedPeepholes {
    std::vector<ConstantSource<int16_t>> gates;  // left out: zeros
    int64_t units = 0;
    int64_t lanes = 1;

    static constexpr std::string_view kName = "byte lstm peepholes";
    HALYARD_FIELDS(gates, units, lanes)

    int64_t vectors() const { return (units + lanes - 1) / lanes; }
    Result<size_t> bytes() const {
        return packedBytes(vectors() * static_cast<int64_t>(gates.size()),
                           lanes * static_cast<int64_t>(sizeof(int32_t)));
    }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        auto* weight = reinterpret_cast<int32_t*>(to.data());
        for (int64_t first = 0; first < units; first += lanes) {
            for (const ConstantSource<int16_t>& gate : gates) {
                for (int64_t i = first; i < first + lanes; ++i) {
                    *weight++ = gate.present() && i < units ? gate.data[i] : 0;
                }
            }
        }
        return checkpoint.check("while weights were packed");
    }
};

// Packs a node's weights, once for all nodes that have the same ones.
class Packer {
  public:
    Packer(const KernelArguments& arguments, InstructionSet set, Definition& definition)
        : mArguments(arguments), mSet(set), mDefinition(definition) {}

    Status pack() {
        PackedByteColumns input = columns(mDefinition.input, mDefinition.units);
        PackedByteColumns recurrent = columns(mDefinition.recurrent, mDefinition.units);
        PackedPeepholes peepholes = {
                .gates = {}, .units = mDefinition.units, .lanes = quantizedGemm(mSet).lanes};
        for (const lstm::GateInputs& gate : gatesOf(mArguments.node)) {
            input.sources.push_back(source(gate.weights, mDefinition.inputSize, gate.bias));
            recurrent.sources.push_back(
                    source(gate.recurrentWeights, mDefinition.outputSize, std::nullopt));
            peepholes.gates.push_back(constant<int16_t>(gate.peephole));
        }
        ConstantStore& store = mArguments.constants;
        HALYARD_ASSIGN_OR_RETURN(mDefinition.inputColumns, store.add(std::move(input)));
        HALYARD_ASSIGN_OR_RETURN(mDefinition.recurrentColumns, store.add(std::move(recurrent)));
        if (peepholes.gates.back().present()) {
            HALYARD_ASSIGN_OR_RETURN(mDefinition.peepholes, store.add(std::move(peepholes)));
        }
        if (mDefinition.projects) {
            PackedByteColumns projection = columns(mDefinition.hidden, mDefinition.outputSize);
            projection.sources.push_back(
                    source(lstm::kProjectionWeights, mDefinition.units, lstm::kProjectionBias));
            HALYARD_ASSIGN_OR_RETURN(mDefinition.projectionColumns,
                                     store.add(std::move(projection)));
        }
        return {};
    }

  private:
    // The node reads it no more.
    template <typename T>
    ConstantSource<T> constant(std::optional<size_t> input) {
        if (!isThere(mArguments.node, input)) {
            return {};
        }
        mArguments.packed.push_back(mArguments.node.inputs[*input]);
        return constantOf<T>(mArguments, *input);
    }

    PackedByteColumns::Source source(size_t weights, int64_t depth, std::optional<size_t> bias) {
        return {.parts = {{.weights = constant<uint8_t>(weights), .depth = depth}},
                .bias = constant<int32_t>(bias)};
    }

    PackedByteColumns columns(const ByteColumns& zeros, int64_t count) const {
        return {.set = mSet, .zeros = zeros, .sources = {}, .columns = count};
    }

    const KernelArguments& mArguments;
    const InstructionSet mSet;
    Definition& mDefinition;
};

}  // namespace

Status supports(const QuantizedLstm& node, const Graph& graph, const Node& whole) {
    if (isThere(whole, lstm::kForgetGate.layerNorm)) {
        return unsupported("has no kernel for layer normalisation in fixed point");
    }
    for (size_t i = 0; i < whole.inputs.size(); ++i) {
        const bool computed = i == lstm::kX || i == lstm::kOutputState || i == lstm::kCellState;
        if (computed || whole.inputs[i] == kNoTensor) {
            continue;
        }
        const Tensor& tensor = graph.tensor(whole.inputs[i]);
        if (!tensor.isConstant()) {
            return unsupported("packs weights and bias beforehand, and here they are computed");
        }
        if (std::ranges::any_of(tensor.type.shape.extents(),
                                [](int32_t extent) { return extent > kMostDepth; })) {
            return unsupported("has no kernel for so many units");
        }
    }
    if (!numbersOf(node, graph, whole).ok()) {
        return unsupported("has no kernel for scales whose ratios are out of range");
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const QuantizedLstm& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const Node& whole = arguments.node;
    const auto type = [&](size_t input) -> const TensorType& {
        return inputType(arguments.graph, whole, input);
    };
    const QuantizedGemm& form = quantizedGemm(target.set);
    Definition definition;
    definition.l1d = target.tuning.l1d;
    HALYARD_ASSIGN_OR_RETURN(definition.numbers, numbersOf(node, arguments.graph, whole));
    definition.projects = isThere(whole, lstm::kProjectionWeights);
    definition.units = type(lstm::kForgetGate.weights).shape[0];
    definition.inputSize = type(lstm::kForgetGate.weights).shape[1];
    definition.outputSize = type(lstm::kForgetGate.recurrentWeights).shape[1];
    definition.input = ByteColumns::of(form, type(lstm::kX), type(lstm::kForgetGate.weights));
    definition.recurrent = ByteColumns::of(form, type(lstm::kOutputState),
                                           type(lstm::kForgetGate.recurrentWeights));
    if (definition.projects) {
        TensorType hidden = type(lstm::kOutputState);
        hidden.quantization.zeroPoint = node.hiddenZeroPoint;
        definition.hidden = ByteColumns::of(form, hidden, type(lstm::kProjectionWeights));
    }
    HALYARD_RETURN_IF_ERROR(Packer(arguments, target.set, definition).pack());
    return std::unique_ptr<const StepKernel>(std::make_unique<ByteLstm>(
            kernelName(arguments, std::string(form.tile) + " " + std::string(toString(target.set))),
            std::move(definition), target.set));
}

}  // namespace halyard::engine::cpu
