// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/bf16_split_conv_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "engine/backends/cpu/gemm/bf16_split_weights.h"
#include "engine/backends/cpu/gemm/conv_gemm_plan.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

class ShapedBf16SplitConvGemm final : public WorkItemKernel {
  public:
    ShapedBf16SplitConvGemm(const Bf16SplitGemm& form, HiLoSplit parts,
                            const ConvGemmDefinition& definition, PackedConstant panels,
                            ConvGemmPlan plan)
        : mForm(form),
          mTuning(definition.tuning.bf16Split),
          mParts(parts),
          mDepth(withoutGaps(definition.filter, kSplitDepth).paddedDepth()),
          mGroupPanels(kTilePanels.panels(definition.filter.groupChannels())),
          mRange(rangeOf(definition.activation)),
          mPanels(panels),
          mEpilogue(definition.epilogue),
          mPlan(std::move(plan)) {}

    Status create() {
        if (mPlan.usesPaddedTile()) {
            HALYARD_ASSIGN_OR_RETURN(mPaddedTile, mMemory.add(mPlan.stripLength(), sizeof(float)));
        }
        mBlocksAtOnce = blocksAtOnce();
        const int64_t bytes = splitMemoryBytes(mBlocksAtOnce, mDepth, mParts.left);
        HALYARD_ASSIGN_OR_RETURN(mTiles, mMemory.add(static_cast<size_t>(bytes), 1));
        setWorkItems(mPlan.workItemCount(), mPlan.workItemOperations());
        return {};
    }

  private:
    int64_t blocksAtOnce() const {
        const int64_t columns = mPlan.workItemElements() / mPlan.workItemRows();
        const int64_t weights = kTilePanels.panels(columns) * splitPanelBytes(mDepth, mParts.right);
        if (weights <= mTuning.fewWeightBytes) {
            return 1;
        }
        const int64_t most =
                std::min(kMostSplitBlocks, ceilDivide(mPlan.workItemRows(), kSplitBlockRows));
        const int64_t bytes = std::min(weights / mTuning.rowShare, mTuning.mostRowBytes);
        return std::clamp<int64_t>(bytes / (kSplitBlockRows * splitRowBytes(mDepth, mParts.left)),
                                   1, most);
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const GemmWorkItem item = mPlan.item(index);
        const auto* const x = call.input(0).as<float>();
        const int64_t panel = item.group * mGroupPanels + item.column / kTileColumns;
        SplitBlock block;
        FloatBlock& matrix = block.matrix;
        if (mPlan.usesPaddedTile()) {
            auto* const paddedTile = reinterpret_cast<float*>(memory + mPaddedTile);
            mPlan.fillPaddedTile(item, x, paddedTile, 0.0F, std::identity());
            matrix.a = paddedTile;
        } else {
            matrix.a = x + mPlan.inputOffset(item);
        }
        mPlan.lay(item, matrix);
        matrix.c = call.output(0).as<float>() + mPlan.outputOffset(item);
        matrix.low = mRange.low;
        matrix.high = mRange.high;
        block.panels =
                mPanels.in(call.constants()).data() + panel * splitPanelBytes(mDepth, mParts.right);
        block.parts = mParts;
        block.depth = mDepth;
        block.blocksAtOnce = mBlocksAtOnce;
        block.chunkBytes = mTuning.chunkBytes;
        block.memory = memory + mTiles;
        mForm.compute(block);
        mEpilogue.apply(call, mPlan.outputRows(item));
    }

    const Bf16SplitGemm& mForm;
    const Bf16SplitTuning mTuning;
    const HiLoSplit mParts;
    const int64_t mDepth;
    const int64_t mGroupPanels;
    const RealRange mRange;
    const PackedConstant mPanels;
    const Epilogue mEpilogue;
    const ConvGemmPlan mPlan;
    int64_t mBlocksAtOnce = 1;
    size_t mPaddedTile = 0;
    size_t mTiles = 0;
};

// The panels of bf16_split_block.h.
struct PackedBf16SplitConvGemm {
    ConvGemmFilter filter;  // without gaps
    int32_t parts = 2;
    ConstantSource<float> weights;
    ConstantSource<float> bias;

    static constexpr std::string_view kName = "bf16 split GEMM";
    HALYARD_FIELDS(filter, parts, weights, bias)

    int64_t panels() const { return kTilePanels.panels(filter.groupChannels()) * filter.groups; }
    Result<size_t> bytes() const {
        return packedBytes(panels(), splitPanelBytes(filter.paddedDepth(), parts));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        std::byte* at = bytes.data();
        for (int64_t panel = 0; panel < panels(); ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const PanelChannels channels = panelChannels(filter, kTileColumns, panel);
            auto* const biases = reinterpret_cast<float*>(at);
            std::fill(std::copy_n(bias.data + channels.first, channels.count, biases),
                      biases + kTileColumns, 0.0F);
            splitColumns({.first = weights.data + channels.first * filter.depth(),
                          .count = channels.count,
                          .apart = filter.depth(),
                          .depth = filter.depth()},
                         parts, bestInstructionSet(Tiles::LEAVE),
                         at + kTileColumns * sizeof(float));
            at += splitPanelBytes(filter.paddedDepth(), parts);
        }
        return {};
    }
};

bool isWithin(float value, float least, float most) {
    return value >= least && value <= most;
}

// Whether weights and bias are such that products by parts of tame rows are those of the floats.
struct AreInSafeRangeColumns {
    ConvGemmFilter filter;
    ConstantSource<float> weights;
    ConstantSource<float> bias;

    static constexpr std::string_view kName = "are tame columns";
    HALYARD_FIELDS(filter, weights, bias)

    bool holds() const {
        for (int64_t channel = 0; channel < filter.channels; ++channel) {
            if (!isInSafeRange(weights.data + channel * filter.depth(),
                               std::abs(bias.data[channel]))) {
                return false;
            }
        }
        return true;
    }

  private:
    // Columns that contribute nothing, as pruned networks have them, are full of very small
    // numbers: these do not show in results of a larger bias.
    bool isInSafeRange(const float* column, float addend) const {
        // Bits of absolute values are in their order, and those of what is no number above.
        int32_t bits = 0;
        for (int64_t k = 0; k < filter.depth(); ++k) {
            bits = std::max(bits, std::bit_cast<int32_t>(column[k]) & 0x7FFFFFFF);
        }
        const auto largest = std::bit_cast<float>(bits);
        if (!(largest <= kSafeRangeMax)) {
            return false;
        }
        return (addend == 0.0F || isWithin(addend, kSafeRangeMinBias, kSafeRangeMaxBias)) &&
               (largest == 0.0F || largest >= kSafeRangeMin || addend >= kSafeRangeMin);
    }
};

// "3xbf16 by bf16": of rows and of weights.
std::string nameOf(HiLoSplit parts) {
    return std::to_string(parts.left) + "xbf16" + (parts.right == 1 ? " by bf16" : "");
}

class Bf16SplitConvGemmKernel final : public StepKernel {
  public:
    Bf16SplitConvGemmKernel(const Bf16SplitGemm& form, HiLoSplit parts, std::string_view set,
                            ConvGemmDefinition definition, PackedConstant panels)
        : mForm(form),
          mParts(parts),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mName("acc::gemm_float " + std::string(form.tile) + " " + nameOf(parts) + " " +
                std::string(set) + mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedBf16SplitConvGemm>> make(const StepTypes& types) const {
        HALYARD_ASSIGN_OR_RETURN(
                const GemmShape shape,
                mDefinition.shapeFor(types.inputs[0]->shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(
                ConvGemmPlan plan,
                ConvGemmPlan::create(shape, {.tileRows = kSplitBlockRows,
                                             .tileColumns = 2 * kTileColumns,
                                             .readsResults = !mDefinition.epilogue.empty(),
                                             .threads = mDefinition.threads,
                                             .tuning = mDefinition.tuning.tiling}));
        auto kernel = std::make_shared<ShapedBf16SplitConvGemm>(mForm, mParts, mDefinition, mPanels,
                                                                std::move(plan));
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedBf16SplitConvGemm>(std::move(kernel));
    }

    const Bf16SplitGemm& mForm;
    const HiLoSplit mParts;
    const ConvGemmDefinition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

}  // namespace

Result<bool> areInSafeRange(const ConvGemmDefinition& definition,
                            const KernelArguments& arguments) {
    return arguments.constants.holds(
            AreInSafeRangeColumns{.filter = definition.filter,
                                  .weights = constantOf<float>(arguments, 1),
                                  .bias = constantOf<float>(arguments, 2)});
}

Result<std::unique_ptr<const StepKernel>> compileBf16SplitConvGemm(ConvGemmDefinition definition,
                                                                   const KernelArguments& arguments,
                                                                   const Bf16SplitGemm& form,
                                                                   HiLoSplit parts,
                                                                   std::string_view set) {
    HALYARD_ASSIGN_OR_RETURN(const PackedConstant packed,
                             arguments.constants.add(PackedBf16SplitConvGemm{
                                     .filter = withoutGaps(definition.filter, kSplitDepth),
                                     .parts = parts.right,
                                     .weights = constantOf<float>(arguments, 1),
                                     .bias = constantOf<float>(arguments, 2)}));
    return std::unique_ptr<const StepKernel>(std::make_unique<Bf16SplitConvGemmKernel>(
            form, parts, set, std::move(definition), packed));
}

}  // namespace halyard::engine::cpu
