// SPDX-License-Identifier: Apache-2.0
//
// LSTM and its sequences with floats. What the gates take of x is computed for many steps at once;
// a step then multiplies the output state, updates the cell where the products are still at hand,
// and projects what comes out.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/row_gemm.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/recurrent/lstm_cell.h"
#include "engine/backends/cpu/recurrent/lstm_definition.h"
#include "engine/backends/cpu/vectors/half_conversion.h"
#include "engine/graph/lstm_gates.h"
#include "engine/graph/recurrence.h"

namespace halyard::engine::cpu {
namespace {

// Longer sums are left to the reference, which looks out for the checkpoint inside.
constexpr int64_t kMostDepth = 1 << 16;

// Where things lie in the tensors of a call.
struct Layout {
    int64_t batch = 0;
    int64_t steps = 0;
    // Rows of x and of the output, from an element of the batch, and from a step, to the next.
    int64_t rowsOfElement = 1;
    int64_t rowsOfStep = 1;
    int64_t firstRow = 0;  // of the first step
    size_t output = 0;
    size_t outputState = 1;
    size_t cellState = 2;
    std::optional<size_t> scratch;
};

class ShapedLstm final : public ShapedKernel {
  public:
    ShapedLstm(const LstmDefinition& definition, const FloatGemm& form, const LstmCell& cell,
               const HalfConversion& halves, Layout layout)
        : mDefinition(definition),
          mForm(form),
          mCell(cell),
          mHalfConversion(halves),
          mLayout(layout) {}

    Status create() {
        const LstmDefinition& d = mDefinition;
        // Enough rows for the product to be a fast one.
        mSteps = std::clamp<int64_t>(4 * mForm.tileRows / std::max<int64_t>(mLayout.batch, 1), 1,
                                     std::max<int64_t>(mLayout.steps, 1));
        mStateStride = d.projects ? d.outputSize : d.paddedUnits();
        const auto add = [&](int64_t rows, int64_t columns) {
            return mMemory.add(static_cast<size_t>(rows * columns), sizeof(float));
        };
        const int64_t rows = mSteps * mLayout.batch;
        HALYARD_ASSIGN_OR_RETURN(mSums, add(rows, d.columns()));
        HALYARD_ASSIGN_OR_RETURN(mRecurrent, add(mLayout.batch, d.columns()));
        HALYARD_ASSIGN_OR_RETURN(mCellState, add(mLayout.batch, d.paddedUnits()));
        HALYARD_ASSIGN_OR_RETURN(mState, add(mLayout.batch, mStateStride));
        HALYARD_ASSIGN_OR_RETURN(mHidden, add(mLayout.batch, d.paddedUnits()));
        if (d.halves) {
            HALYARD_ASSIGN_OR_RETURN(mWidened, add(rows, d.inputSize));
        }
        return {};
    }

    size_t workspaceBytes() const override { return mMemory.bytes(); }

    Status run(KernelCall& call) const override {
        return mDefinition.halves ? runAs<Half>(call) : runAs<float>(call);
    }

  private:
    // The memory of one run. The state of a step without projection is what the cell lets through,
    // and takes the place of the one before only when that has been read.
    struct Buffers {
        float* sums;
        float* recurrent;
        float* cellState;
        float* state;
        float* hidden;
        float* widened;
    };

    template <typename T>
    Status runAs(KernelCall& call) const {
        const LstmDefinition& d = mDefinition;
        const auto at = [&](size_t offset) {
            return reinterpret_cast<float*>(call.workspace() + offset);
        };
        Buffers b = {.sums = at(mSums),
                     .recurrent = at(mRecurrent),
                     .cellState = at(mCellState),
                     .state = at(mState),
                     .hidden = at(mHidden),
                     .widened = at(mWidened)};
        HALYARD_RETURN_IF_ERROR(
                load<T>(call, lstm::kOutputState, d.outputSize, b.state, mStateStride));
        HALYARD_RETURN_IF_ERROR(
                load<T>(call, lstm::kCellState, d.units, b.cellState, d.paddedUnits()));
        for (int64_t first = 0; first < mLayout.steps; first += mSteps) {
            const int64_t count = std::min(mSteps, mLayout.steps - first);
            HALYARD_RETURN_IF_ERROR(multiplyInput<T>(call, b, first, count));
            for (int64_t step = 0; step < count; ++step) {
                HALYARD_RETURN_IF_ERROR(takeStep<T>(
                        call, b, step, mLayout.firstRow + (first + step) * mLayout.rowsOfStep));
            }
        }
        HALYARD_RETURN_IF_ERROR(clearScratch<T>(call));
        HALYARD_RETURN_IF_ERROR(
                store<T>(call, b.state, mStateStride, d.outputSize, mLayout.outputState));
        return store<T>(call, b.cellState, d.paddedUnits(), d.units, mLayout.cellState);
    }

    // Calls body(row) for each element of the batch.
    template <typename Body>
    Status forEachElement(KernelCall& call, int64_t operations, Body body) const {
        return call.inParallel(mLayout.batch, operations,
                               [&](int64_t begin, int64_t end, size_t /*worker*/) {
                                   for (int64_t i = begin; i < end; ++i) {
                                       body(i);
                                   }
                               });
    }

    template <typename T>
    Status load(KernelCall& call, size_t input, int64_t size, float* to, int64_t stride) const {
        const T* from = call.input(input).as<T>();
        return forEachElement(call, size, [=, this](int64_t row) {
            this->copy(from + row * size, size, to + row * stride);
            std::fill(to + row * stride + size, to + (row + 1) * stride, 0.0F);
        });
    }

    static void copy(const float* from, int64_t count, float* to) { std::copy_n(from, count, to); }
    void copy(const Half* from, int64_t count, float* to) const {
        mHalfConversion.toFloats(from, count, to);
    }
    void copy(const float* from, int64_t count, Half* to) const {
        mHalfConversion.toHalves(from, count, to);
    }

    template <typename T>
    Status store(KernelCall& call, const float* from, int64_t stride, int64_t size,
                 size_t output) const {
        auto* to = call.output(output).as<T>();
        return forEachElement(call, size, [=, this](int64_t row) {
            this->copy(from + row * stride, size, to + row * size);
        });
    }

    // Undefined, but not whatever lay in memory before.
    template <typename T>
    Status clearScratch(KernelCall& call) const {
        if (!mLayout.scratch.has_value()) {
            return {};
        }
        if (!call.output(*mLayout.scratch).shape().isFullyKnown()) {
            const int64_t width = mDefinition.gates() * mDefinition.units;
            HALYARD_RETURN_IF_ERROR(
                    call.allocate(*mLayout.scratch, {static_cast<int32_t>(mLayout.batch),
                                                     static_cast<int32_t>(width)})
                            .status());
        }
        const TensorView& scratch = call.output(*mLayout.scratch);
        const int64_t width = scratch.shape()[1];
        auto* to = scratch.as<T>();
        return forEachElement(call, width,
                              [=](int64_t row) { std::fill_n(to + row * width, width, T()); });
    }

    struct Matrix {
        const float* panels = nullptr;
        bool bfloats = false;
        int64_t depth = 0;
        GemmBlocks blocks;
    };
    Matrix matrixOf(const KernelCall& call, const PackedConstant& packed, bool bfloats,
                    int64_t depth, int64_t columns, int64_t columnBlock, int64_t rows) const {
        return {.panels = reinterpret_cast<const float*>(packed.in(call.constants()).data()),
                .bfloats = bfloats,
                .depth = depth,
                .blocks = {.rows = rows,
                           .rowBlock = 2 * mForm.tileRows,
                           .columns = columns,
                           .columnBlock = columnBlock,
                           .lanes = mForm.lanes,
                           .depth = depth}};
    }

    // c = a * matrix, and then(row, rows, column, columns) for each block that is ready.
    template <typename Then>
    Status multiply(KernelCall& call, const Matrix& matrix, const float* a, ptrdiff_t aRow,
                    float* c, ptrdiff_t cRow, float limit, Then then) const {
        static constexpr ptrdiff_t kRun[] = {0};
        const auto compute = matrix.bfloats ? mForm.computeBfloats : mForm.compute;
        const int64_t panel = mForm.panelLength(matrix.depth, matrix.bfloats);
        return forEachGemmBlock(
                call, matrix.blocks,
                [&](int64_t row, int64_t rows, int64_t column, int64_t columns, size_t /*worker*/) {
                    FloatBlock block;
                    block.a = a + row * aRow;
                    block.aRow = aRow;
                    block.runs = kRun;
                    block.runLength = matrix.depth;
                    block.lines = 1;
                    block.rows = rows;
                    block.panels = matrix.panels + column / mForm.lanes * panel;
                    block.columns = columns;
                    block.c = c + row * cRow + column;
                    block.cRow = cRow;
                    block.low = -limit;
                    block.high = limit;
                    block.l1d = mDefinition.l1d;
                    compute(block);
                    then(row, rows, column, columns);
                });
    }

    // Vectors of units whose gates are computed together.
    static constexpr int64_t kVectorsOfBlock = 4;
    static constexpr float kNoLimit = std::numeric_limits<float>::infinity();

    // The gates' input GEMM over x, in `count` steps: rows of [step, element].
    template <typename T>
    Status multiplyInput(KernelCall& call, const Buffers& b, int64_t first, int64_t count) const {
        const LstmDefinition& d = mDefinition;
        const T* const x = call.input(lstm::kX).as<T>() +
                           (mLayout.firstRow + first * mLayout.rowsOfStep) * d.inputSize;
        const int64_t batch = mLayout.batch;
        const auto product = [&](int64_t rows, const float* a, ptrdiff_t aRow, int64_t row,
                                 ptrdiff_t cRow) {
            const int64_t width = kVectorsOfBlock * d.gates() * d.lanes;
            return multiply(
                    call,
                    matrixOf(call, d.input, d.inputBfloats, d.inputSize, d.columns(), width, rows),
                    a, aRow, b.sums + row * d.columns(), cRow * d.columns(), kNoLimit,
                    [](int64_t, int64_t, int64_t, int64_t) {});
        };
        if constexpr (std::is_same_v<T, Half>) {
            HALYARD_RETURN_IF_ERROR(call.inParallel(
                    count * batch, d.inputSize, [&](int64_t begin, int64_t end, size_t) {
                        for (int64_t i = begin; i < end; ++i) {
                            const int64_t row = i / batch * mLayout.rowsOfStep +
                                                i % batch * mLayout.rowsOfElement;
                            copy(x + row * d.inputSize, d.inputSize, b.widened + i * d.inputSize);
                        }
                    }));
            return product(count * batch, b.widened, d.inputSize, 0, 1);
        } else {
            // Along the longer axis.
            if (count > batch) {
                for (int64_t i = 0; i < batch; ++i) {
                    HALYARD_RETURN_IF_ERROR(product(count,
                                                    x + i * mLayout.rowsOfElement * d.inputSize,
                                                    mLayout.rowsOfStep * d.inputSize, i, batch));
                }
                return {};
            }
            for (int64_t step = 0; step < count; ++step) {
                HALYARD_RETURN_IF_ERROR(product(batch, x + step * mLayout.rowsOfStep * d.inputSize,
                                                mLayout.rowsOfElement * d.inputSize, step * batch,
                                                1));
            }
            return {};
        }
    }

    const float* constantsOf(const KernelCall& call,
                             const std::optional<PackedConstant>& packed) const {
        return packed.has_value()
                       ? reinterpret_cast<const float*>(packed->in(call.constants()).data())
                       : nullptr;
    }

    // `step` of those whose sums there are; `row` is its first one's in the output.
    template <typename T>
    Status takeStep(KernelCall& call, Buffers& b, int64_t step, int64_t outputRow) const {
        const LstmDefinition& d = mDefinition;
        const int64_t batch = mLayout.batch;
        const int64_t gates = d.gates();
        auto* const output = call.output(mLayout.output).as<T>();
        const auto give = [&](const float* from, int64_t element, int64_t first, int64_t count) {
            T* const to =
                    output + (outputRow + element * mLayout.rowsOfElement) * d.outputSize + first;
            copy(from, count, to);
        };
        const auto updateCell = [&](int64_t element, int64_t begin, int64_t end) {
            mCell.compute({.attributes = d.attributes,
                           .coupled = d.coupled,
                           .units = d.units,
                           .begin = begin,
                           .end = end,
                           .sums = b.sums + (step * batch + element) * d.columns(),
                           .recurrent = b.recurrent + element * d.columns(),
                           .peepholes = constantsOf(call, d.peepholes),
                           .layerNorm = constantsOf(call, d.layerNorm),
                           .biases = constantsOf(call, d.biases),
                           .cellState = b.cellState + element * d.paddedUnits(),
                           .hidden = b.hidden + element * d.paddedUnits()});
            if (!d.projects) {
                const int64_t first = begin * d.lanes;
                give(b.hidden + element * d.paddedUnits() + first, element, first,
                     std::min(end * d.lanes, d.units) - first);
            }
        };
        const bool inBlocks = !d.layerNorm.has_value();
        HALYARD_RETURN_IF_ERROR(
                multiply(call,
                         matrixOf(call, d.recurrent, d.bfloats, d.outputSize, d.columns(),
                                  kVectorsOfBlock * gates * d.lanes, batch),
                         b.state, mStateStride, b.recurrent, d.columns(), kNoLimit,
                         [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
                             for (int64_t i = row; inBlocks && i < row + rows; ++i) {
                                 updateCell(i, column / gates / d.lanes,
                                            (column + columns) / gates / d.lanes);
                             }
                         }));
        if (!inBlocks) {
            HALYARD_RETURN_IF_ERROR(forEachElement(
                    call, d.vectors() * 200, [&](int64_t i) { updateCell(i, 0, d.vectors()); }));
        }
        if (!d.projects) {
            std::swap(b.state, b.hidden);
            return {};
        }
        const float clip = d.attributes.projectionClip;
        return multiply(call,
                        matrixOf(call, d.projection, d.bfloats, d.units, d.outputSize,
                                 kVectorsOfBlock * d.lanes, batch),
                        b.hidden, d.paddedUnits(), b.state, mStateStride,
                        clip > 0.0F ? clip : kNoLimit,
                        [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
                            for (int64_t i = row; i < row + rows; ++i) {
                                give(b.state + i * mStateStride + column, i, column, columns);
                            }
                        });
    }

    const LstmDefinition& mDefinition;
    const FloatGemm& mForm;
    const LstmCell& mCell;
    const HalfConversion& mHalfConversion;
    const Layout mLayout;
    int64_t mSteps = 1;  // whose x is multiplied together
    int64_t mStateStride = 0;
    MemoryParts mMemory;
    size_t mSums = 0;
    size_t mRecurrent = 0;
    size_t mCellState = 0;
    size_t mState = 0;
    size_t mHidden = 0;
    size_t mWidened = 0;
};

Layout layoutOf(const Lstm& /*node*/, const Shape& x) {
    return {.batch = x[0], .steps = 1, .output = 3, .outputState = 1, .cellState = 2, .scratch = 0};
}

Layout layoutOf(const LstmSequence& node, const Shape& x) {
    const int64_t time = x[node.timeMajor ? 0 : 1];
    Layout layout = {.batch = x[node.timeMajor ? 1 : 0], .steps = time, .scratch = std::nullopt};
    layout.rowsOfElement = node.timeMajor ? 1 : time;
    layout.rowsOfStep = node.timeMajor ? layout.batch : 1;
    if (node.backward) {
        layout.firstRow = (time - 1) * layout.rowsOfStep;
        layout.rowsOfStep = -layout.rowsOfStep;
    }
    return layout;
}

template <typename Descriptor>
class FloatLstm final : public StepKernel {
  public:
    FloatLstm(std::string name, const Descriptor& node, LstmDefinition definition,
              InstructionSet set)
        : mName(std::move(name)), mNode(node), mDefinition(std::move(definition)), mSet(set) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        auto kernel = std::make_shared<ShapedLstm>(mDefinition, floatGemm(mSet), lstmCell(mSet),
                                                   halfConversion(mSet),
                                                   layoutOf(mNode, types.inputs[lstm::kX]->shape));
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

  private:
    const std::string mName;
    const Descriptor mNode;
    const LstmDefinition mDefinition;
    const InstructionSet mSet;
};

Status supportsLstm(const Graph& graph, const Node& whole) {
    for (size_t i = 0; i < whole.inputs.size(); ++i) {
        if (whole.inputs[i] == kNoTensor) {
            continue;
        }
        if (i >= lstm::kAux) {
            return unsupported("has no kernel for an auxiliary input");
        }
        const bool computed = i == lstm::kX || i == lstm::kOutputState || i == lstm::kCellState;
        const Tensor& tensor = graph.tensor(whole.inputs[i]);
        if (!computed && !tensor.isConstant()) {
            return unsupported("packs weights and bias beforehand, and here they are computed");
        }
        if (!computed && std::ranges::any_of(tensor.type.shape.extents(),
                                             [](int32_t extent) { return extent > kMostDepth; })) {
            return unsupported("has no kernel for so many units");
        }
    }
    return {};
}

template <typename Descriptor>
Result<std::unique_ptr<const StepKernel>> compileLstm(const Descriptor& node,
                                                      const KernelArguments& arguments,
                                                      const CpuTarget& target) {
    const Node& whole = arguments.node;
    const Shape& forget = inputType(arguments.graph, whole, lstm::kForgetGate.weights).shape;
    LstmDefinition definition;
    definition.attributes = node.attributes;
    definition.coupled = whole.inputs[lstm::kInputGate.weights] == kNoTensor;
    definition.halves = inputType(arguments.graph, whole).type == DataType::FLOAT16;
    definition.projects = whole.inputs[lstm::kProjectionWeights] != kNoTensor;
    definition.units = forget[0];
    definition.inputSize = forget[1];
    definition.outputSize =
            inputType(arguments.graph, whole, lstm::kForgetGate.recurrentWeights).shape[1];
    const FloatGemm& matmul = floatGemm(target.set);
    definition.lanes = matmul.lanes;
    definition.l1d = target.tuning.l1d;
    // Few rows wait for the weights: half of the bytes take half of the time. Those of x are
    // multiplied with many steps at once.
    const Shape& x = inputType(arguments.graph, whole).shape;
    if (!definition.halves && x.isFullyKnown() && layoutOf(node, x).batch <= matmul.fewRows) {
        HALYARD_ASSIGN_OR_RETURN(definition.bfloats, areBfloats(arguments, definition));
        definition.inputBfloats = definition.bfloats && layoutOf(node, x).steps == 1;
    }
    HALYARD_RETURN_IF_ERROR(packWeights(arguments, target.set, definition));
    const std::string form = std::string(matmul.tile) + (definition.bfloats ? " by bf16 " : " ") +
                             std::string(toString(target.set));
    return std::unique_ptr<const StepKernel>(std::make_unique<FloatLstm<Descriptor>>(
            kernelName(arguments, form), node, std::move(definition), target.set));
}

}  // namespace

Status supports(const Lstm& /*node*/, const Graph& graph, const Node& whole) {
    return supportsLstm(graph, whole);
}
Result<std::unique_ptr<const StepKernel>> compile(const Lstm& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileLstm(node, arguments, target);
}

Status supports(const LstmSequence& /*node*/, const Graph& graph, const Node& whole) {
    return supportsLstm(graph, whole);
}
Result<std::unique_ptr<const StepKernel>> compile(const LstmSequence& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileLstm(node, arguments, target);
}

}  // namespace halyard::engine::cpu
