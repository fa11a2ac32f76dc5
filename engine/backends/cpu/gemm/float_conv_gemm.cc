// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/float_conv_gemm.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/gemm/bfloat_weights.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/conv_gemm_plan.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/gemm/weight_prefetch.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/backends/cpu/vectors/half_conversion.h"
#include "engine/base/half.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

class ShapedFloatConvGemm final : public WorkItemKernel {
  public:
    ShapedFloatConvGemm(const FloatGemm& form, const HalfConversion& halves, bool bfloats,
                        const ConvGemmDefinition& definition, PackedConstant panels,
                        ConvGemmPlan plan)
        : mForm(form),
          mHalfConversion(halves),
          mCompute(bfloats ? form.computeBfloats : form.compute),
          mPanelLength(form.panelLength(definition.filter.paddedDepth(), bfloats)),
          mTuning(definition.tuning.vectors),
          mL1d(definition.tuning.l1d),
          mFilter(definition.filter),
          mScale(definition.scale),
          mRange(rangeOf(definition.activation)),
          mPanels(panels),
          mEpilogue(definition.epilogue),
          mPlan(std::move(plan)) {}

    // Halves are widened on the way in and narrowed on the way out.
    Status create(bool halves, size_t threads) {
        mHalves = halves;
        if (mPlan.usesPaddedTile()) {
            HALYARD_ASSIGN_OR_RETURN(mPaddedTile, mMemory.add(mPlan.stripLength(), sizeof(float)));
        }
        if (halves) {
            HALYARD_ASSIGN_OR_RETURN(
                    mResult,
                    mMemory.add(static_cast<size_t>(mPlan.workItemElements()), sizeof(float)));
        }
        mLater = bytesToLater(mPanels, mPlan.rowBlocks(), threads, mTuning.mostPrefetchBytes);
        mStreamsWeights = isStreamed(mPlan.rowBlocks() * mPlan.workItemRows(), mPanels.bytes,
                                     threads, mTuning)
                                  .ok();
        setWorkItems(mPlan.workItemCount(), mPlan.workItemOperations());
        return {};
    }

  private:
    // The work item's rows, each multiplied with the scales of its batch.
    void fillScaled(const KernelCall& call, const GemmWorkItem& item, float* paddedTile) const {
        const Shape& shape = call.input(mScale->x).shape();
        const int64_t pixels = int64_t{shape[1]} * shape[2];
        const int64_t channels = shape[3];
        const float* const x = call.input(mScale->x).as<float>();
        const float* const scales = call.input(mScale->scales).as<float>();
        const int64_t end = item.row + item.rows;
        for (int64_t row = item.row; row < end;) {
            const int64_t batch = row / pixels;
            const int64_t count = std::min(end, (batch + 1) * pixels) - row;
            mForm.scaleRows(x + row * channels, scales + batch * channels, count, channels,
                            paddedTile);
            paddedTile += count * channels;
            row += count;
        }
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const GemmWorkItem item = mPlan.item(index);
        const ConstTensorView& x = call.input(mScale.has_value() ? mScale->x : 0);
        const TensorView& output = call.output(0);
        const int64_t groupPanels = mForm.panels(mFilter.groupChannels());
        const int64_t panel = item.group * groupPanels + item.column / mForm.lanes;
        FloatBlock block;
        if (mPlan.usesPaddedTile()) {
            auto* paddedTile = reinterpret_cast<float*>(memory + mPaddedTile);
            if (mScale.has_value()) {
                fillScaled(call, item, paddedTile);
            } else if (mHalves) {
                mPlan.fillPaddedTile(item, x.as<Half>(), paddedTile, 0.0F,
                                     mHalfConversion.toFloats);
            } else {
                mPlan.fillPaddedTile(item, x.as<float>(), paddedTile, 0.0F,
                                     [](float value) { return value; });
            }
            block.a = paddedTile;
        } else {
            block.a = x.as<float>() + mPlan.inputOffset(item);
        }
        mPlan.lay(item, block);
        block.panels = reinterpret_cast<const float*>(mPanels.in(call.constants()).data()) +
                       panel * mPanelLength;
        block.later = mLater;
        block.l1d = mL1d;
        block.streamsWeights = mStreamsWeights;
        block.low = mRange.low;
        block.high = mRange.high;
        if (!mHalves) {
            block.c = output.as<float>() + mPlan.outputOffset(item);
            mCompute(block);
            mEpilogue.apply(call, mPlan.outputRows(item));
            return;
        }
        auto* result = reinterpret_cast<float*>(memory + mResult);
        block.c = result;
        block.cRow = item.columns;
        block.cLine = item.columns * item.rows;
        mCompute(block);
        Half* to = output.as<Half>() + mPlan.outputOffset(item);
        for (int64_t line = 0; line < item.lines; ++line) {
            for (int64_t row = 0; row < item.rows; ++row) {
                mHalfConversion.toHalves(result + line * block.cLine + row * block.cRow,
                                         item.columns,
                                         to + line * mPlan.cLine() + row * mPlan.cRow());
            }
        }
        mEpilogue.apply(call, mPlan.outputRows(item));
    }

    const FloatGemm& mForm;
    const HalfConversion& mHalfConversion;
    void (*const mCompute)(const FloatBlock& block);
    const int64_t mPanelLength;
    const VectorTuning mTuning;
    const L1dSets mL1d;
    const ConvGemmFilter mFilter;
    const std::optional<InputScale> mScale;
    const RealRange mRange;
    const PackedConstant mPanels;
    const Epilogue mEpilogue;
    const ConvGemmPlan mPlan;
    bool mHalves = false;
    ptrdiff_t mLater = 0;
    bool mStreamsWeights = false;
    size_t mPaddedTile = 0;
    size_t mResult = 0;
};

// [panel][bias, then each k][lane]
template <typename T>
struct PackedFloatConvGemm {
    InstructionSet set = InstructionSet::PORTABLE;
    ConvGemmFilter filter;
    bool bfloats = false;  // the weights are, and lie there in two bytes
    ConstantSource<T> weights;
    ConstantSource<T> bias;

    static constexpr std::string_view kName = std::is_same_v<T, Half> ? "half GEMM" : "float GEMM";
    HALYARD_FIELDS(set, filter, bfloats, weights, bias)

    int64_t panels() const { return floatGemm(set).panels(filter.groupChannels()) * filter.groups; }
    Result<size_t> bytes() const {
        return packedBytes(panels(), floatGemm(set).panelLength(filter.depth(), bfloats) *
                                             static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        const FloatGemm& form = floatGemm(set);
        TapReader<T> reader(filter.taps, weights.data, filter.depth());
        auto* to = reinterpret_cast<float*>(bytes.data());
        for (int64_t panel = 0; panel < panels(); ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const PanelChannels channels = panelChannels(filter, form.lanes, panel);
            for (int64_t lane = 0; lane < form.lanes; ++lane) {
                to[lane] = lane < channels.count
                                   ? toReal(bias.data[filter.taps.sourceOf(channels.first + lane)])
                                   : 0.0F;
            }
            layPanel<T>({.first = reader.channels(channels.first, channels.count),
                         .count = channels.count,
                         .apart = filter.depth(),
                         .depth = filter.depth()},
                        bfloats, set, form.lanes, to + form.lanes);
            to += form.panelLength(filter.depth(), bfloats);
        }
        return {};
    }
};

template <typename T>
PackedFloatConvGemm<T> packedOf(InstructionSet set, const ConvGemmFilter& filter, bool bfloats,
                                const KernelArguments& arguments) {
    return {.set = set,
            .filter = filter,
            .bfloats = bfloats,
            .weights = constantOf<T>(arguments, 1),
            .bias = constantOf<T>(arguments, 2)};
}

class FloatConvGemm final : public StepKernel {
  public:
    FloatConvGemm(const FloatGemm& form, bool bfloats, InstructionSet set,
                  ConvGemmDefinition definition, PackedConstant panels)
        : mForm(form),
          mHalfConversion(halfConversion(set)),
          mBfloats(bfloats),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mName("acc::gemm_float " + std::string(form.tile) + (bfloats ? " by bf16 " : " ") +
                std::string(toString(set)) + std::string(mDefinition.rowsName()) +
                mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedFloatConvGemm>> make(const StepTypes& types) const {
        const std::optional<InputScale>& scale = mDefinition.scale;
        const TensorType& x = *types.inputs[scale.has_value() ? scale->x : 0];
        const bool halves = x.type == DataType::FLOAT16;
        HALYARD_ASSIGN_OR_RETURN(const GemmShape shape,
                                 mDefinition.shapeFor(x.shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(
                ConvGemmPlan plan,
                ConvGemmPlan::create(shape, {.tileRows = mForm.tileRows,
                                             .tileColumns = mForm.tileLanes,
                                             .alwaysPaddedTile = halves || scale.has_value(),
                                             .readsResults = !mDefinition.epilogue.empty(),
                                             .threads = mDefinition.threads,
                                             .tuning = mDefinition.tuning.tiling}));
        auto kernel = std::make_shared<ShapedFloatConvGemm>(mForm, mHalfConversion, mBfloats,
                                                            mDefinition, mPanels, std::move(plan));
        HALYARD_RETURN_IF_ERROR(kernel->create(halves, mDefinition.threads));
        return std::shared_ptr<const ShapedFloatConvGemm>(std::move(kernel));
    }

    const FloatGemm& mForm;
    const HalfConversion& mHalfConversion;
    const bool mBfloats;
    const ConvGemmDefinition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

}  // namespace

Result<PackedConstant> packFloatConvGemm(InstructionSet set, const ConvGemmFilter& filter,
                                         const KernelArguments& arguments) {
    return typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT16
                   ? arguments.constants.add(packedOf<Half>(set, filter, false, arguments))
                   : arguments.constants.add(packedOf<float>(set, filter, false, arguments));
}

Result<bool> areBf16(const ConvGemmDefinition& definition, const KernelArguments& arguments) {
    return arguments.constants.holds(
            AreBfloat16{.filter = definition.filter, .weights = constantOf<float>(arguments, 1)});
}

Result<std::unique_ptr<const StepKernel>> compileFloatConvGemm(ConvGemmDefinition definition,
                                                               const KernelArguments& arguments,
                                                               InstructionSet set,
                                                               bool hasBf16Weights) {
    const FloatGemm& form = floatGemm(set);
    HALYARD_ASSIGN_OR_RETURN(const PackedConstant packed,
                             hasBf16Weights ? arguments.constants.add(packedOf<float>(
                                                      set, definition.filter, true, arguments))
                                            : packFloatConvGemm(set, definition.filter, arguments));
    return std::unique_ptr<const StepKernel>(std::make_unique<FloatConvGemm>(
            form, hasBf16Weights, set, std::move(definition), packed));
}

}  // namespace halyard::engine::cpu
