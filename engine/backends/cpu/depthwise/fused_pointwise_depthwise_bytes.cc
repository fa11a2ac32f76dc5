// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "engine/backends/cpu/choice/fused_choice.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"
#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise_kernel.h"
#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/quantized_weights.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

static_assert(kTileGroupColumns == 64, "as fusedInt8Costs() has it");

// How the results of one of the nodes are made bytes.
struct ByteResult {
    int32_t zeroPoint = 0;
    QuantizedRange range;

    static ByteResult of(Activation activation, const TensorType& output) {
        return {.zeroPoint = output.quantization.zeroPoint, .range = rangeOf(activation, output)};
    }
};

struct Definition : FusedPointwiseDepthwiseDefinition {
    int64_t depth = 0;  // of the panels
    ByteZeros zeros;
    bool isSigned = false;
    ByteResult expanded;
    uint8_t padding = 0;
    ByteResult result;
};

struct Forms {
    const AmxInt8Gemm& product;
    const QuantizedDepthwise& depthwise;
};

class FusedPointwiseDepthwiseBytes final : public FusedWorkItems {
  public:
    FusedPointwiseDepthwiseBytes(const Forms& forms, const Definition& definition,
                                 const FusedFeatureMap& featureMap, const FusedTiling& cut)
        : FusedWorkItems(definition, featureMap, cut),
          mProduct(forms.product),
          mDepthwise(forms.depthwise),
          mDefinition(definition) {}

    Status create() {
        const FusedFeatureMap& p = mFeatureMap;
        const auto bytes = [](int64_t count) { return static_cast<size_t>(count); };
        HALYARD_ASSIGN_OR_RETURN(mExpanded, mMemory.add(bytes(mCut.length(p)), 1));
        HALYARD_ASSIGN_OR_RETURN(mPadding, mMemory.add(bytes(mCut.channels), 1));
        HALYARD_ASSIGN_OR_RETURN(mTaps,
                                 mMemory.add(bytes(p.side * p.side), sizeof(const uint8_t*)));
        HALYARD_ASSIGN_OR_RETURN(
                mTiles, mMemory.add(bytes(tileMemoryBytes(mostRows(), mDefinition.depth, 1)), 1));
        setWorkItems();
        return {};
    }

  private:
    // That are copied at a time, where they are.
    int64_t mostRows() const {
        const int64_t pairs = mDefinition.depthwise.tuning.fused.int8CopyBytes / mDefinition.depth /
                              (2 * kTileRows);
        return std::max<int64_t>(pairs, 1) * 2 * kTileRows;
    }

    void expand(const KernelCall& call, const FusedWorkItem& item,
                std::byte* memory) const override {
        static constexpr ptrdiff_t kRun[] = {0};
        const FusedFeatureMap& p = mFeatureMap;
        const ReachedPart part = ReachedPart::of(p, mCut, item);
        auto* const to = reinterpret_cast<uint8_t*>(memory + mExpanded);
        part.pad(p, mCut, item, to, mDefinition.padding);
        if (part.empty()) {
            return;
        }
        const int64_t lines = part.endLine - part.firstLine;
        TileBlock block;
        block.matrix = {
                .a = call.input(0).as<uint8_t>() + inputOffset(item, part),
                .aLine = p.width * p.depth,
                .aRow = p.depth,
                .runs = kRun,
                .runLength = p.depth,
                .lines = lines,
                .rows = part.pixels,
                .panels = mDefinition.expansionPanels.in(call.constants()).data() +
                          item.channel / kTileColumns * kTilePanels.panelBytes(mDefinition.depth),
                .columns = item.channels,
                .c = to + part.offset,
                .cLine = part.lineLength,
                .cRow = mCut.channels,
                .zeroPoint = mDefinition.expanded.zeroPoint,
                .low = mDefinition.expanded.range.low,
                .high = mDefinition.expanded.range.high,
                .weightsZero = mDefinition.zeros.weights};
        block.signedLeft = mDefinition.isSigned;
        block.depth = mDefinition.depth;
        block.memory = memory + mTiles;
        block.tuning = mDefinition.depthwise.tuning.amx;
        const bool inPlace = p.depth % kTileDepth == 0 && lines * part.pixels >= kTileRows;
        block.rowsAtOnce = inPlace ? 0 : mostRows();
        mProduct.compute(block);
        applyBetween(part, to);
    }

    // The part has its padding, so that all windows lie in it.
    void filter(const KernelCall& call, const FusedWorkItem& item,
                std::byte* memory) const override {
        const FusedFeatureMap& p = mFeatureMap;
        auto* const padding = reinterpret_cast<uint8_t*>(memory + mPadding);
        std::fill_n(padding, mCut.channels, mDefinition.padding);
        const int64_t lineLength = p.reachedPixels() * mCut.channels;
        QuantizedDepthwiseLine line = {
                .window = {.filterH = p.side,
                           .filterW = p.side,
                           .firstRow = 0,
                           .endRow = p.side,
                           .row = lineLength,
                           .column = mCut.channels,
                           .strideW = p.strideW,
                           .inputW = p.reachedPixels(),
                           .outputW = p.outputWidth,
                           .endPixel = p.outputWidth,
                           .channels = item.channels},
                .x = reinterpret_cast<const uint8_t*>(memory + mExpanded),
                .padding = padding,
                .taps = reinterpret_cast<const uint8_t**>(memory + mTaps),
                .xPixel = mCut.channels,
                .flip = static_cast<uint8_t>(mDefinition.isSigned ? 0x80 : 0),
                .panels = mDefinition.depthwisePanels.in(call.constants()).data() +
                          item.channel / mDepthwise.lanes * mDepthwise.panelBytes(p.side, p.side),
                .blocksOverlap = false,
                .y = call.output(0).as<uint8_t>() + outputOffset(item),
                .yPixel = p.channels,
                .zeroPoint = mDefinition.result.zeroPoint,
                .low = mDefinition.result.range.low,
                .high = mDefinition.result.range.high};
        for (int64_t i = 0; i < item.lines; ++i) {
            mDepthwise.compute(line);
            line.x += p.strideH * lineLength;
            line.y += p.outputWidth * p.channels;
        }
    }

    const AmxInt8Gemm& mProduct;
    const QuantizedDepthwise& mDepthwise;
    const Definition& mDefinition;
    size_t mExpanded = 0;
    size_t mPadding = 0;
    size_t mTaps = 0;
    size_t mTiles = 0;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwiseBytes(
        const KernelArguments& arguments, const AmxInt8Gemm& form, const CpuTarget& target) {
    const FusedPointwiseDepthwiseNodes nodes(arguments);
    const KernelArguments expansion = nodes.expansion();
    const KernelArguments depthwise = nodes.depthwise();
    const Conv2d& convolution = nodes.convolution();
    const TensorType& x = typeOf(expansion, expansion.node.inputs[0]);
    const TensorType& weights = typeOf(expansion, expansion.node.inputs[1]);
    const ConvGemmFilter filter = withoutGaps(
            filterOf({.window = &convolution.window}, weights.shape, kTilePanels.depthGroup),
            kTileDepth);
    Definition definition;
    definition.depth = filter.paddedDepth();
    definition.isSigned = x.type == DataType::QUANT8_ASYMM_SIGNED;
    definition.zeros = byteZerosOf(x, weights, definition.isSigned);
    definition.expanded =
            ByteResult::of(convolution.activation, typeOf(expansion, expansion.node.outputs[0]));
    definition.padding = static_cast<uint8_t>(
            typeOf(depthwise, depthwise.node.inputs[0]).quantization.zeroPoint);
    definition.depthwise = depthwiseDefinition(depthwise, target.tuning);
    definition.result = ByteResult::of(definition.depthwise.node.activation,
                                       typeOf(depthwise, depthwise.node.outputs[0]));
    HALYARD_ASSIGN_OR_RETURN(
            definition.expansionPanels,
            packQuantizedConvGemm(kTilePanels, filter, definition.zeros, expansion));
    HALYARD_ASSIGN_OR_RETURN(
            const DepthwiseChoice choice,
            chooseQuantizedDepthwise(definition.depthwise, false, depthwise, target.set));
    HALYARD_ASSIGN_OR_RETURN(definition.depthwisePanels,
                             packQuantizedDepthwise(target.set, choice.form, definition.depthwise,
                                                    false, depthwise));
    nodes.notePacked();
    definition.between = nodes.between(target.set);
    definition.epilogue = nodes.epilogue(target.set);
    return std::unique_ptr<const StepKernel>(
            std::make_unique<
                    FusedPointwiseDepthwiseKernel<FusedPointwiseDepthwiseBytes, Forms, Definition>>(
                    Forms{.product = form,
                          .depthwise = quantizedDepthwise(target.set, choice.form)},
                    fusedInt8Costs(target.tuning.fused), std::move(definition),
                    "fused_pointwise_depthwise_8bit", target.set));
}

}  // namespace halyard::engine::cpu
