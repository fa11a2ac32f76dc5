// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/half_conv_gemm.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/backends/cpu/gemm/conv_gemm_plan.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/base/half.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

class ShapedHalfConvGemm final : public WorkItemKernel {
  public:
    ShapedHalfConvGemm(const HalfGemm& form, const ConvGemmDefinition& definition,
                       PackedConstant panels, ConvGemmPlan plan)
        : mForm(form),
          mFilter(definition.filter),
          mLow(toHalf(rangeOf(definition.activation).low)),
          mHigh(toHalf(rangeOf(definition.activation).high)),
          mPanels(panels),
          mEpilogue(definition.epilogue),
          mPlan(std::move(plan)) {}

    Status create() {
        if (mPlan.usesPaddedTile()) {
            HALYARD_ASSIGN_OR_RETURN(mPaddedTile, mMemory.add(mPlan.stripLength(), sizeof(Half)));
        }
        setWorkItems(mPlan.workItemCount(), mPlan.workItemOperations());
        return {};
    }

  private:
    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const GemmWorkItem item = mPlan.item(index);
        const int64_t panel =
                item.group * mForm.panels(mFilter.groupChannels()) + item.column / mForm.lanes;
        const Half* const x = call.input(0).as<Half>();
        HalfBlock block;
        if (mPlan.usesPaddedTile()) {
            auto* const paddedTile = reinterpret_cast<Half*>(memory + mPaddedTile);
            mPlan.fillPaddedTile(item, x, paddedTile, Half(), std::identity());
            block.a = paddedTile;
        } else {
            block.a = x + mPlan.inputOffset(item);
        }
        mPlan.lay(item, block);
        block.panels = reinterpret_cast<const Half*>(mPanels.in(call.constants()).data()) +
                       panel * mForm.panelLength(mFilter.depth());
        block.c = call.output(0).as<Half>() + mPlan.outputOffset(item);
        block.low = mLow;
        block.high = mHigh;
        mForm.compute(block);
        mEpilogue.apply(call, mPlan.outputRows(item));
    }

    const HalfGemm& mForm;
    const ConvGemmFilter mFilter;
    const Half mLow;
    const Half mHigh;
    const PackedConstant mPanels;
    const Epilogue mEpilogue;
    const ConvGemmPlan mPlan;
    size_t mPaddedTile = 0;
};

// [panel][bias, then each k][lane]
struct PackedHalfConvGemm {
    int64_t lanes = 1;
    ConvGemmFilter filter;
    ConstantSource<Half> weights;
    ConstantSource<Half> bias;

    static constexpr std::string_view kName = "half GEMM of FEAT_FP16";
    HALYARD_FIELDS(lanes, filter, weights, bias)

    int64_t panelsOfGroup() const { return (filter.groupChannels() + lanes - 1) / lanes; }
    Result<size_t> bytes() const {
        return packedBytes(panelsOfGroup() * filter.groups,
                           (filter.depth() + 1) * lanes * static_cast<int64_t>(sizeof(Half)));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        auto* to = reinterpret_cast<Half*>(bytes.data());
        for (int64_t panel = 0; panel < panelsOfGroup() * filter.groups; ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const PanelChannels channels = panelChannels(filter, lanes, panel);
            std::fill(std::copy_n(bias.data + channels.first, channels.count, to), to + lanes,
                      Half());
            layHalves({.first = weights.data + channels.first * filter.depth(),
                       .count = channels.count,
                       .apart = filter.depth(),
                       .depth = filter.depth()},
                      lanes, to + lanes);
            to += (filter.depth() + 1) * lanes;
        }
        return {};
    }
};

class HalfConvGemm final : public StepKernel {
  public:
    HalfConvGemm(const HalfGemm& form, ConvGemmDefinition definition, PackedConstant panels)
        : mForm(form),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mName("acc::gemm_half " + std::string(form.tile) + mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedHalfConvGemm>> make(const StepTypes& types) const {
        HALYARD_ASSIGN_OR_RETURN(
                const GemmShape shape,
                mDefinition.shapeFor(types.inputs[0]->shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(
                ConvGemmPlan plan,
                ConvGemmPlan::create(shape, {.tileRows = mForm.tileRows,
                                             .tileColumns = mForm.tileLanes,
                                             .elementBytes = sizeof(Half),
                                             .readsResults = !mDefinition.epilogue.empty(),
                                             .threads = mDefinition.threads,
                                             .tuning = mDefinition.tuning.tiling}));
        auto kernel =
                std::make_shared<ShapedHalfConvGemm>(mForm, mDefinition, mPanels, std::move(plan));
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedHalfConvGemm>(std::move(kernel));
    }

    const HalfGemm& mForm;
    const ConvGemmDefinition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileHalfConvGemm(ConvGemmDefinition definition,
                                                              const KernelArguments& arguments,
                                                              const HalfGemm& form) {
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            arguments.constants.add(PackedHalfConvGemm{.lanes = form.lanes,
                                                       .filter = definition.filter,
                                                       .weights = constantOf<Half>(arguments, 1),
                                                       .bias = constantOf<Half>(arguments, 2)}));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<HalfConvGemm>(form, std::move(definition), packed));
}

}  // namespace halyard::engine::cpu
