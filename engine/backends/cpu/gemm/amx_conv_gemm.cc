// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/amx_conv_gemm.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/gemm/conv_gemm_plan.h"
#include "engine/backends/cpu/gemm/quantized_weights.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

static_assert(kMostTileMultiplier == kMostAmxMultiplier);

class ShapedAmxConvGemm final : public WorkItemKernel {
  public:
    ShapedAmxConvGemm(const AmxInt8Gemm& form, const ConvGemmDefinition& definition,
                      PackedConstant panels, ConvGemmPlan plan, ByteZeros zeros)
        : mForm(form),
          mTuning(definition.tuning.amx),
          mDepth(withoutGaps(definition.filter, kTileDepth).paddedDepth()),
          mGroupPanels(kTilePanels.panels(definition.filter.groupChannels())),
          mPanels(panels),
          mEpilogue(definition.epilogue),
          mPlan(std::move(plan)),
          mZeros(zeros) {}

    Status create(const TensorType& x, const TensorType& output, Activation activation,
                  size_t threads) {
        mIsAlone = threads == 1;
        mSigned = x.type == DataType::QUANT8_ASYMM_SIGNED;
        mOutputZero = output.quantization.zeroPoint;
        mRange = rangeOf(activation, output);
        if (mEpilogue.addition().has_value()) {
            mAddition.numbers = *mEpilogue.addition();
        }
        if (mPlan.usesPaddedTile()) {
            HALYARD_ASSIGN_OR_RETURN(mPaddedTile, mMemory.add(mPlan.stripLength(), 1));
        }
        mRowsAtOnce = rowsToCopy();
        HALYARD_ASSIGN_OR_RETURN(mTiles,
                                 mMemory.add(static_cast<size_t>(tileMemoryBytes(
                                                     std::max(mRowsAtOnce, kTileRows), mDepth,
                                                     static_cast<int64_t>(mPlan.runs().size()))),
                                             1));
        setWorkItems(mPlan.workItemCount(), mPlan.workItemOperations());
        return {};
    }

    // Each byte of it is read just before a sum takes its place, once.
    std::optional<size_t> replaceableInput() const override {
        return mEpilogue.addition().has_value() ? mEpilogue.addedInput() : std::nullopt;
    }

  private:
    // 0 where a work item's rows are better read where they lie.
    int64_t rowsToCopy() const {
        const int64_t rows = mPlan.workItemRows();
        const int64_t lines = mPlan.linesPerWorkItem();
        const int64_t tiles = ceilDivide(rows, kTileRows);
        if (mPlan.runLength() % kTileDepth == 0 && rows >= kTileRows &&
            (lines == 1 || mPlan.aLine() % mPlan.aRow() == 0)) {
            const int64_t all = rowsInPlace(lines, rows / lines, mPlan.aLine(), mPlan.aRow());
            const int64_t columns = mPlan.workItemElements() / rows;
            if (ceilDivide(all, kTileRows) * columns <= tiles * (columns + mTuning.copy)) {
                return 0;
            }
        }
        const int64_t weights = mGroupPanels * kTilePanels.panelBytes(mDepth);
        const int64_t bytes =
                std::clamp(weights / mTuning.copyShare, mTuning.copyBytes, mTuning.mostCopyBytes);
        // In pairs of tiles, as they are multiplied, and in parts of about the same length.
        const int64_t pairs = ceilDivide(tiles, 2);
        const int64_t atOnce = std::clamp<int64_t>(bytes / mDepth / (2 * kTileRows), 1, pairs);
        return ceilDivide(pairs, ceilDivide(pairs, atOnce)) * 2 * kTileRows;
    }

    // A thread alone goes from columns to columns, and from these to the next node's, which are
    // packed behind them.
    int64_t bytesBehind(const KernelCall& call, int64_t index, const GemmWorkItem& item) const {
        if (!mIsAlone) {
            return 0;
        }
        if (index + 1 == mPlan.workItemCount()) {
            return static_cast<int64_t>(call.constants().size() - mPanels.offset - mPanels.bytes);
        }
        const GemmWorkItem next = mPlan.item(index + 1);
        return next.group == item.group && next.column == item.column + item.columns
                       ? kTilePanels.panels(next.columns) * kTilePanels.panelBytes(mDepth)
                       : 0;
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const GemmWorkItem item = mPlan.item(index);
        const auto* const x = call.input(0).as<uint8_t>();
        const int64_t panel = item.group * mGroupPanels + item.column / kTileColumns;
        TileBlock block;
        QuantizedBlock& matrix = block.matrix;
        if (mPlan.usesPaddedTile()) {
            auto* const paddedTile = reinterpret_cast<uint8_t*>(memory + mPaddedTile);
            mPlan.fillPaddedTile(item, x, paddedTile, static_cast<uint8_t>(mZeros.x),
                                 std::identity());
            matrix.a = paddedTile;
        } else {
            matrix.a = x + mPlan.inputOffset(item);
        }
        mPlan.lay(item, matrix);
        matrix.panels =
                mPanels.in(call.constants()).data() + panel * kTilePanels.panelBytes(mDepth);
        matrix.c = call.output(0).as<uint8_t>() + mPlan.outputOffset(item);
        matrix.zeroPoint = mOutputZero;
        matrix.low = mRange.low;
        matrix.high = mRange.high;
        matrix.weightsZero = mZeros.weights;
        block.signedLeft = mSigned;
        block.tuning = mTuning;
        block.depth = mDepth;
        block.memory = memory + mTiles;
        block.bytesBehind = bytesBehind(call, index, item);
        // A last work item of few rows has none to read in their place.
        const bool fewRows = item.lines * item.rows < kTileRows;
        block.rowsAtOnce = mRowsAtOnce == 0 && fewRows ? kTileRows : mRowsAtOnce;
        if (mEpilogue.addition().has_value()) {
            block.addition = mAddition;
            block.addition.addend = reinterpret_cast<const uint8_t*>(mEpilogue.addend(call)) +
                                    mPlan.outputOffset(item);
        }
        mForm.compute(block);
        if (!mEpilogue.addition().has_value()) {
            mEpilogue.apply(call, mPlan.outputRows(item));
        }
    }

    const AmxInt8Gemm& mForm;
    const AmxTuning mTuning;
    const int64_t mDepth;
    const int64_t mGroupPanels;
    const PackedConstant mPanels;
    const Epilogue mEpilogue;
    const ConvGemmPlan mPlan;
    const ByteZeros mZeros;
    bool mIsAlone = false;  // whoever computes a work item computes all
    bool mSigned = false;
    int32_t mOutputZero = 0;
    QuantizedRange mRange;
    TileAddition mAddition;
    int64_t mRowsAtOnce = 0;
    size_t mPaddedTile = 0;
    size_t mTiles = 0;
};

class AmxConvGemmKernel final : public StepKernel {
  public:
    AmxConvGemmKernel(const AmxInt8Gemm& form, std::string_view set, ConvGemmDefinition definition,
                      PackedConstant panels, ByteZeros zeros)
        : mForm(form),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mZeros(zeros),
          mName("acc::gemm_int8 " + std::string(form.tile) + " " + std::string(set) +
                std::string(mDefinition.rowsName()) + mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedAmxConvGemm>> make(const StepTypes& types) const {
        const TensorType& x = *types.inputs[0];
        HALYARD_ASSIGN_OR_RETURN(const GemmShape shape,
                                 mDefinition.shapeFor(x.shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(
                ConvGemmPlan plan,
                ConvGemmPlan::create(shape, {.tileRows = 2 * kTileRows,
                                             .tileColumns = kTileGroupColumns,
                                             .smallTileRows = kTileRows,
                                             .smallTileColumns = kTileGroupColumns / 2,
                                             .runMultiple = 1,
                                             .phaseMultiple = kTileDepth,
                                             .elementBytes = 1,
                                             .alwaysPaddedTile = false,
                                             .readsResults = !mDefinition.epilogue.empty() &&
                                                             !mDefinition.epilogue.addition(),
                                             .threads = mDefinition.threads,
                                             .tuning = mDefinition.tuning.tiling}));
        auto kernel = std::make_shared<ShapedAmxConvGemm>(mForm, mDefinition, mPanels,
                                                          std::move(plan), mZeros);
        HALYARD_RETURN_IF_ERROR(
                kernel->create(x, resultOf(types), mDefinition.activation, mDefinition.threads));
        return std::shared_ptr<const ShapedAmxConvGemm>(std::move(kernel));
    }

    const AmxInt8Gemm& mForm;
    const ConvGemmDefinition mDefinition;
    const PackedConstant mPanels;
    const ByteZeros mZeros;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileAmxConvGemm(ConvGemmDefinition definition,
                                                             const KernelArguments& arguments,
                                                             const AmxInt8Gemm& form,
                                                             std::string_view set) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    // Signed rows and unsigned ones are multiplied as they are.
    const ByteZeros zeros = byteZerosOf(x, weights, x.type == DataType::QUANT8_ASYMM_SIGNED);
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            packQuantizedConvGemm(kTilePanels, withoutGaps(definition.filter, kTileDepth), zeros,
                                  arguments));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<AmxConvGemmKernel>(form, set, std::move(definition), packed, zeros));
}

}  // namespace halyard::engine::cpu
