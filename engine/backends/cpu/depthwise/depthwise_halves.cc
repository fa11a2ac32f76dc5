// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/depthwise_halves.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/base/half.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

class ShapedHalfDepthwise final : public WorkItemKernel {
  public:
    ShapedHalfDepthwise(const HalfDepthwise& form, const DepthwiseDefinition& definition,
                        PackedConstant panels, const DepthwiseLines& lines)
        : mForm(form),
          mLow(toHalf(rangeOf(definition.node.activation).low)),
          mHigh(toHalf(rangeOf(definition.node.activation).high)),
          mEpilogue(definition.epilogue),
          mPanels(panels),
          mLines(lines) {}

    Status create(int64_t filterH) {
        if (mLines.multiplier() > 1) {
            HALYARD_ASSIGN_OR_RETURN(
                    mPaddedTile,
                    mMemory.add(static_cast<size_t>(filterH * mLines.widenedLine()), sizeof(Half)));
        }
        setWorkItems(mLines.items(), mLines.workItemOperations());
        return {};
    }

  private:
    void compute(const KernelCall& call, int64_t item, std::byte* memory) const override {
        ptrdiff_t first = 0;
        HalfDepthwiseLine line;
        line.window = mLines.windowOf(item, first);
        line.x = call.input(0).as<Half>() + first;
        if (mLines.multiplier() > 1) {
            auto* const paddedTile = reinterpret_cast<Half*>(memory + mPaddedTile);
            mLines.widen(line.x, paddedTile, line.window, std::identity());
            line.x = paddedTile;
        }
        line.panels = reinterpret_cast<const Half*>(mPanels.in(call.constants()).data());
        line.y = call.output(0).as<Half>() + mLines.lineOf(item) * mLines.outputLine();
        line.low = mLow;
        line.high = mHigh;
        mForm.compute(line);
        mEpilogue.apply(call, mLines.outputRows(item));
    }

    const HalfDepthwise& mForm;
    const Half mLow;
    const Half mHigh;
    const Epilogue mEpilogue;
    const PackedConstant mPanels;
    const DepthwiseLines mLines;
    size_t mPaddedTile = 0;
};

// [block of channels][bias, then each tap][lane]
struct PackedHalfDepthwise {
    int64_t lanes = 1;
    int64_t channels = 0;
    int64_t taps = 0;
    ConstantSource<Half> weights;
    ConstantSource<Half> bias;

    static constexpr std::string_view kName = "half depthwise of FEAT_FP16";
    HALYARD_FIELDS(lanes, channels, taps, weights, bias)

    Result<size_t> bytes() const {
        return packedBytes((channels + lanes - 1) / lanes,
                           lanes * (taps + 1) * static_cast<int64_t>(sizeof(Half)));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        auto* to = reinterpret_cast<Half*>(bytes.data());
        for (int64_t block = 0; block < channels; block += lanes) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const int64_t count = std::min(lanes, channels - block);
            for (int64_t row = 0; row <= taps; ++row) {
                const Half* const from =
                        (row == 0 ? bias.data : weights.data + (row - 1) * channels) + block;
                std::fill(std::copy_n(from, count, to), to + lanes, Half());
                to += lanes;
            }
        }
        return {};
    }
};

class HalfDepthwiseKernel final : public StepKernel {
  public:
    HalfDepthwiseKernel(const HalfDepthwise& form, const DepthwiseDefinition& definition,
                        PackedConstant panels)
        : mForm(form),
          mDefinition(definition),
          mPanels(panels),
          mName("acc::depthwise_half" + mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedHalfDepthwise>> make(const StepTypes& types) const {
        HALYARD_ASSIGN_OR_RETURN(const DepthwiseLines lines,
                                 DepthwiseLines::create(mDefinition, types.inputs[0]->shape,
                                                        types.outputs[0]->shape));
        auto kernel = std::make_shared<ShapedHalfDepthwise>(mForm, mDefinition, mPanels, lines);
        HALYARD_RETURN_IF_ERROR(kernel->create(mDefinition.filterH));
        return std::shared_ptr<const ShapedHalfDepthwise>(std::move(kernel));
    }

    const HalfDepthwise& mForm;
    const DepthwiseDefinition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileHalfDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        const HalfDepthwise& form) {
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            arguments.constants.add(PackedHalfDepthwise{.lanes = form.lanes,
                                                        .channels = definition.channels,
                                                        .taps = definition.taps(),
                                                        .weights = constantOf<Half>(arguments, 1),
                                                        .bias = constantOf<Half>(arguments, 2)}));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<HalfDepthwiseKernel>(form, definition, packed));
}

}  // namespace halyard::engine::cpu
