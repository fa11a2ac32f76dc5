// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/quantized_conv_gemm.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/conv_gemm_plan.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/quantized_weights.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

class ShapedQuantizedConvGemm final : public WorkItemKernel {
  public:
    ShapedQuantizedConvGemm(const QuantizedGemm& form, const ConvGemmDefinition& definition,
                            PackedConstant panels, ConvGemmPlan plan, ByteZeros zeros,
                            bool hasSmallWeights)
        : mForm(form),
          mL1d(definition.tuning.l1d),
          mFilter(definition.filter),
          mPanels(panels),
          mEpilogue(definition.epilogue),
          mPlan(std::move(plan)),
          mZeros(zeros),
          mHasSmallWeights(hasSmallWeights) {}

    Status create(const TensorType& x, const TensorType& output, Activation activation) {
        mSigned = x.type == DataType::QUANT8_ASYMM_SIGNED;
        mXZero = x.quantization.zeroPoint;
        mOutputZero = output.quantization.zeroPoint;
        mRange = rangeOf(activation, output);
        if (mPlan.usesPaddedTile()) {
            HALYARD_ASSIGN_OR_RETURN(mPaddedTile, mMemory.add(mPlan.stripLength(),
                                                              mForm.bytes ? 1 : sizeof(int16_t)));
        }
        mSumsRows = mForm.bytes && mZeros.weights != 0;
        if (mSumsRows) {
            HALYARD_ASSIGN_OR_RETURN(
                    mRowSums,
                    mMemory.add(static_cast<size_t>(mPlan.workItemRows()), sizeof(int32_t)));
        }
        setWorkItems(mPlan.workItemCount(), mPlan.workItemOperations());
        return {};
    }

  private:
    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const GemmWorkItem item = mPlan.item(index);
        const ConstTensorView& x = call.input(0);
        const int64_t groupPanels = mForm.panels(mFilter.groupChannels());
        const int64_t panel = item.group * groupPanels + item.column / mForm.lanes;
        QuantizedBlock block;
        if (!mPlan.usesPaddedTile()) {
            block.a = x.as<uint8_t>() + mPlan.inputOffset(item);
        } else if (mForm.bytes) {
            auto* paddedTile = reinterpret_cast<uint8_t*>(memory + mPaddedTile);
            const uint8_t flip = mZeros.flipX;
            mPlan.fillPaddedTile(
                    item, x.as<uint8_t>(), paddedTile, static_cast<uint8_t>(mZeros.x),
                    [flip](uint8_t value) { return static_cast<uint8_t>(value ^ flip); });
            block.a = paddedTile;
        } else {
            auto* paddedTile = reinterpret_cast<int16_t*>(memory + mPaddedTile);
            const auto difference = [zero = mXZero](auto value) {
                return static_cast<int16_t>(value - zero);
            };
            if (mSigned) {
                mPlan.fillPaddedTile(item, x.as<int8_t>(), paddedTile, int16_t{0}, difference);
            } else {
                mPlan.fillPaddedTile(item, x.as<uint8_t>(), paddedTile, int16_t{0}, difference);
            }
            block.a = paddedTile;
        }
        mPlan.lay(item, block);
        block.panels = mPanels.in(call.constants()).data() +
                       panel * mForm.panelBytes(mFilter.paddedDepth());
        block.c = call.output(0).as<uint8_t>() + mPlan.outputOffset(item);
        block.zeroPoint = mOutputZero;
        block.low = mRange.low;
        block.high = mRange.high;
        block.hasSmallWeights = mHasSmallWeights;
        block.l1d = mL1d;
        if (mSumsRows) {
            block.weightsZero = mZeros.weights;
            block.rowSums = reinterpret_cast<int32_t*>(memory + mRowSums);
        }
        mForm.compute(block);
        mEpilogue.apply(call, mPlan.outputRows(item));
    }

    const QuantizedGemm& mForm;
    const L1dSets mL1d;
    const ConvGemmFilter mFilter;
    const PackedConstant mPanels;
    const Epilogue mEpilogue;
    const ConvGemmPlan mPlan;
    const ByteZeros mZeros;
    const bool mHasSmallWeights;
    bool mSigned = false;
    bool mSumsRows = false;
    int32_t mXZero = 0;
    int32_t mOutputZero = 0;
    QuantizedRange mRange;
    size_t mPaddedTile = 0;
    size_t mRowSums = 0;
};

class QuantizedConvGemm final : public StepKernel {
  public:
    QuantizedConvGemm(const QuantizedGemm& form, InstructionSet set, ConvGemmDefinition definition,
                      PackedConstant panels, ByteZeros zeros, bool hasSmallWeights)
        : mForm(form),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mZeros(zeros),
          mHasSmallWeights(hasSmallWeights),
          mName("acc::gemm_int8 " + std::string(form.tile) + " " + std::string(toString(set)) +
                std::string(mDefinition.rowsName()) + mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedQuantizedConvGemm>> make(const StepTypes& types) const {
        const TensorType& x = *types.inputs[0];
        HALYARD_ASSIGN_OR_RETURN(const GemmShape shape,
                                 mDefinition.shapeFor(x.shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(
                ConvGemmPlan plan,
                ConvGemmPlan::create(shape, {.tileRows = mForm.tileRows,
                                             .tileColumns = mForm.tileLanes,
                                             .runMultiple = mForm.depthGroup,
                                             .elementBytes = mForm.bytes ? size_t{1} : size_t{2},
                                             .alwaysPaddedTile = !mForm.bytes || mZeros.flipX != 0,
                                             .readsResults = !mDefinition.epilogue.empty(),
                                             .threads = mDefinition.threads,
                                             .tuning = mDefinition.tuning.tiling}));
        auto kernel = std::make_shared<ShapedQuantizedConvGemm>(
                mForm, mDefinition, mPanels, std::move(plan), mZeros, mHasSmallWeights);
        HALYARD_RETURN_IF_ERROR(kernel->create(x, resultOf(types), mDefinition.activation));
        return std::shared_ptr<const ShapedQuantizedConvGemm>(std::move(kernel));
    }

    const QuantizedGemm& mForm;
    const ConvGemmDefinition mDefinition;
    const PackedConstant mPanels;
    const ByteZeros mZeros;
    const bool mHasSmallWeights;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileQuantizedConvGemm(ConvGemmDefinition definition,
                                                                   const KernelArguments& arguments,
                                                                   InstructionSet set) {
    const QuantizedGemm& form = quantizedGemm(set);
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    const ByteZeros zeros = byteZerosOf(x, weights, form.signedLeft);
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            packQuantizedConvGemm(form.layout(), definition.filter, zeros, arguments));
    bool hasSmallWeights = false;
    if (form.asksForSmallWeights) {
        HALYARD_ASSIGN_OR_RETURN(hasSmallWeights, haveSmallWeights(zeros, arguments));
    }
    return std::unique_ptr<const StepKernel>(std::make_unique<QuantizedConvGemm>(
            form, set, std::move(definition), packed, zeros, hasSmallWeights));
}

}  // namespace halyard::engine::cpu
