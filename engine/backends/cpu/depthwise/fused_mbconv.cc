// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/fused_mbconv.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise_floats.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/unit_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ptrdiff_t kRuns[] = {0};

// The channels between, one share a thread: whole panels.
struct ChannelShares {
    int64_t channels = 1;
    int64_t lanes = 1;
    int64_t count = 1;

    HALYARD_FIELDS(channels, lanes, count)

    static ChannelShares of(int64_t channels, int64_t lanes, size_t threads) {
        ChannelShares shares = {.channels = channels, .lanes = lanes};
        shares.count = std::clamp<int64_t>(static_cast<int64_t>(threads), 1, shares.panels());
        return shares;
    }
    int64_t panels() const { return (channels + lanes - 1) / lanes; }
    int64_t begin(int64_t share) const {
        return std::min(panels() * share / count * lanes, channels);
    }
    int64_t length(int64_t share) const { return begin(share + 1) - begin(share); }
    // At most; the last panel may have fewer channels than lanes.
    int64_t longest() const { return std::min((panels() + count - 1) / count * lanes, channels); }
};

// The projection's panels, for each share those of its channels: [share][panel][bias, then each
// channel][lane]. The first share has the bias.
struct PackedProjection {
    InstructionSet set = InstructionSet::PORTABLE;
    ConvGemmFilter filter;
    ChannelShares shares;
    ConstantSource<float> weights;
    ConstantSource<float> bias;

    static constexpr std::string_view kName = "projection by channels";
    HALYARD_FIELDS(set, filter, shares, weights, bias)

    // In floats, before a share's first panel.
    static int64_t offset(const FloatGemm& form, const ChannelShares& shares, int64_t columns,
                          int64_t share) {
        return form.panels(columns) * (shares.begin(share) + share) * form.lanes;
    }
    Result<size_t> bytes() const {
        const FloatGemm& form = floatGemm(set);
        return packedBytes(form.panels(filter.channels),
                           (shares.channels + shares.count) * form.lanes *
                                   static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        const FloatGemm& form = floatGemm(set);
        auto* to = reinterpret_cast<float*>(bytes.data());
        for (int64_t share = 0; share < shares.count; ++share) {
            for (int64_t panel = 0; panel < form.panels(filter.channels); ++panel) {
                HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
                const PanelChannels channels = panelChannels(filter, form.lanes, panel);
                std::fill_n(to, form.lanes, 0.0F);
                if (share == 0) {
                    std::copy_n(bias.data + channels.first, channels.count, to);
                }
                const int64_t depth = shares.length(share);
                layPanel<float>({.first = weights.data + channels.first * filter.depth() +
                                          shares.begin(share),
                                 .count = channels.count,
                                 .apart = filter.depth(),
                                 .depth = depth},
                                false, set, form.lanes, to + form.lanes);
                to += form.panelLength(depth);
            }
        }
        return {};
    }
};

struct Definition {
    FusedPointwiseDepthwiseFloatDefinition expansion;
    ChannelShares shares;
    PackedConstant projectionPanels;
    RealRange range;
    Epilogue epilogue;
};

class ShapedFusedMbconv final : public ShapedKernel {
  public:
    ShapedFusedMbconv(const FusedPointwiseDepthwiseFloatForms& forms, const Definition& definition,
                      const FusedFeatureMap& featureMap, int64_t columns)
        : mProduct(forms.product),
          mDefinition(definition),
          mFeatureMap(featureMap),
          mColumns(columns),
          mExpansion(forms, definition.expansion, featureMap, cutOf(forms.product, featureMap)) {}

    Status create() {
        HALYARD_RETURN_IF_ERROR(mExpansion.create());
        HALYARD_ASSIGN_OR_RETURN(mUnit, mMemory.add(mExpansion.threadBytes(), 1));
        HALYARD_ASSIGN_OR_RETURN(
                mFiltered, mMemory.add(static_cast<size_t>(pixels() * mDefinition.shares.longest()),
                                       sizeof(float)));
        HALYARD_ASSIGN_OR_RETURN(
                mParts, mWorkspace.add(static_cast<size_t>(mDefinition.shares.count * length()),
                                       sizeof(float)));
        return {};
    }

    size_t workspaceBytes() const override { return mWorkspace.bytes(); }
    size_t threadBytes() const override { return mMemory.bytes(); }

    Status run(KernelCall& call) const override {
        const ChannelShares& shares = mDefinition.shares;
        const FusedFeatureMap& p = mFeatureMap;
        auto* const parts = reinterpret_cast<float*>(call.workspace() + mParts);
        const int64_t operations = shares.longest() * (p.height * p.width * p.depth +
                                                       pixels() * (p.side * p.side + mColumns));
        HALYARD_RETURN_IF_ERROR(call.inParallel(
                shares.count, operations, [&](int64_t begin, int64_t end, size_t worker) {
                    for (int64_t share = begin; share < end; ++share) {
                        compute(call, share, call.memoryOf(worker), parts + share * length());
                    }
                }));
        const int64_t partitions =
                shares.count * mDefinition.expansion.depthwise.tuning.fused.mbconvPartsPerShare;
        return call.inParallel(partitions, length() / partitions,
                               [&](int64_t begin, int64_t end, size_t /*worker*/) {
                                   finish(call, pixels() * begin / partitions,
                                          pixels() * end / partitions, parts);
                               });
    }

  private:
    static FusedTiling cutOf(const FloatGemm& product, const FusedFeatureMap& featureMap) {
        return {.lines = featureMap.outputHeight, .channels = product.tileLanes};
    }

    int64_t pixels() const { return mFeatureMap.outputHeight * mFeatureMap.outputWidth; }
    // Elements of a part.
    int64_t length() const { return pixels() * mColumns; }

    // What a share adds to the projection.
    void compute(const KernelCall& call, int64_t share, std::byte* memory, float* part) const {
        const ChannelShares& shares = mDefinition.shares;
        const int64_t begin = shares.begin(share);
        const int64_t channels = shares.length(share);
        auto* const filtered = reinterpret_cast<float*>(memory + mFiltered);
        for (int64_t channel = 0; channel < channels; channel += mProduct.tileLanes) {
            mExpansion.computeTo(call,
                                 {.lines = mFeatureMap.outputHeight,
                                  .channel = begin + channel,
                                  .channels = std::min(mProduct.tileLanes, channels - channel)},
                                 memory + mUnit, filtered + channel, channels);
        }
        mProduct.compute(
                {.a = filtered,
                 .aRow = channels,
                 .runs = kRuns,
                 .runLength = channels,
                 .lines = 1,
                 .rows = pixels(),
                 .panels = reinterpret_cast<const float*>(
                                   mDefinition.projectionPanels.in(call.constants()).data()) +
                           PackedProjection::offset(mProduct, shares, mColumns, share),
                 .columns = mColumns,
                 .l1d = mDefinition.expansion.depthwise.tuning.l1d,
                 .c = part,
                 .cRow = mColumns,
                 .low = -kInfinity,
                 .high = kInfinity});
    }

    void finish(const KernelCall& call, int64_t begin, int64_t end, const float* parts) const {
        const ptrdiff_t first = begin * mColumns;
        mProduct.addParts({.parts = parts + first,
                           .count = mDefinition.shares.count,
                           .apart = length(),
                           .length = (end - begin) * mColumns,
                           .low = mDefinition.range.low,
                           .high = mDefinition.range.high},
                          call.output(0).as<float>() + first);
        mDefinition.epilogue.apply(
                call, {.begin = first, .rows = end - begin, .row = mColumns, .columns = mColumns});
    }

    const FloatGemm& mProduct;
    const Definition& mDefinition;  // of the kernel that made this one
    const FusedFeatureMap mFeatureMap;
    const int64_t mColumns;
    FusedPointwiseDepthwiseFloats mExpansion;
    MemoryParts mMemory;
    MemoryParts mWorkspace;
    size_t mUnit = 0;
    size_t mFiltered = 0;
    size_t mParts = 0;
};

class FusedMbconv final : public StepKernel {
  public:
    FusedMbconv(const FusedPointwiseDepthwiseFloatForms& forms, InstructionSet set,
                Definition definition)
        : mForms(forms),
          mDefinition(std::move(definition)),
          mName("acc::inverted_residual_float by channels " + std::string(forms.product.tile) +
                " " + std::string(toString(set)) + mDefinition.expansion.between.name() +
                mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedFusedMbconv>> make(const StepTypes& types) const {
        const DepthwiseDefinition& depthwise = mDefinition.expansion.depthwise;
        const size_t filtered = mDefinition.expansion.between.empty() ? 1 : 2;
        HALYARD_ASSIGN_OR_RETURN(
                const FusedFeatureMap featureMap,
                FusedFeatureMap::of(types.inputs[0]->shape, types.inside[filtered]->shape,
                                    depthwise.node.window, depthwise.filterH));
        auto kernel = std::make_shared<ShapedFusedMbconv>(mForms, mDefinition, featureMap,
                                                          types.outputs[0]->shape[3]);
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const ShapedFusedMbconv>(std::move(kernel));
    }

    const FusedPointwiseDepthwiseFloatForms mForms;
    const Definition mDefinition;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileFusedMbconv(const KernelArguments& arguments,
                                                             const CpuTarget& target) {
    const FusedPointwiseDepthwiseNodes nodes(arguments);
    const Node& projection = nodes.behind();
    const KernelArguments last = argumentsOf(arguments, projection);
    const auto& convolution = *std::get_if<Conv2d>(&projection.descriptor);
    const auto forms = FusedPointwiseDepthwiseFloatForms::of(target.set);
    Definition definition;
    HALYARD_ASSIGN_OR_RETURN(definition.expansion,
                             FusedPointwiseDepthwiseFloatDefinition::of(nodes, target));
    definition.shares = ChannelShares::of(definition.expansion.depthwise.channels,
                                          forms.product.lanes, arguments.threads);
    definition.range = rangeOf(convolution.activation);
    HALYARD_ASSIGN_OR_RETURN(
            definition.projectionPanels,
            arguments.constants.add(PackedProjection{
                    .set = target.set,
                    .filter = filterOf({.window = &convolution.window},
                                       typeOf(last, projection.inputs[1]).shape, 1),
                    .shares = definition.shares,
                    .weights = constantOf<float>(last, 1),
                    .bias = constantOf<float>(last, 2)}));
    arguments.packed.push_back(projection.inputs[1]);
    arguments.packed.push_back(projection.inputs[2]);
    definition.epilogue = nodes.epilogueBehind(target.set);
    return std::unique_ptr<const StepKernel>(
            std::make_unique<FusedMbconv>(forms, target.set, std::move(definition)));
}

}  // namespace halyard::engine::cpu
