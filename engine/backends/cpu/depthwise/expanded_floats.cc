// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/expanded_depthwise.h"

#include <algorithm>
#include <utility>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/depthwise/expanded_kernel.h"
#include "engine/backends/cpu/products/float_matmul.h"
#include "engine/backends/cpu/products/product_definition.h"
#include "engine/backends/cpu/products/weights.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
// Multiply-adds of a unit, at most.
constexpr int64_t kMostUnitOperations = int64_t{1} << 24;

// A multiply-add of a depthwise convolution takes as long as three of a product.
ExpandedCosts costsOf(const FloatMatmul& product) {
    return {.lanes = product.lanes,
            .tileLanes = product.tileLanes,
            .elementBytes = kFloatBytes,
            .depthwise = 3,
            .unit = int64_t{1} << 14,
            .mostTime = kMostUnitOperations};
}

struct Definition : ExpandedDefinition {
    RealRange expansionRange;
    RealRange depthwiseRange;
    bool mayPad = false;  // with zeros, which any weight may be multiplied with
};

struct Forms {
    const FloatMatmul& product;
    const FloatDepthwise& depthwise;
};

class ExpandedFloats final : public ExpandedUnits {
  public:
    ExpandedFloats(const Forms& forms, const Definition& definition, const ExpandedPicture& picture,
                   const ExpandedCut& cut)
        : ExpandedUnits(definition, picture, cut),
          mProduct(forms.product),
          mDepthwise(forms.depthwise),
          mDefinition(definition) {}

    Status create() {
        HALYARD_ASSIGN_OR_RETURN(
                mExpanded, mMemory.add(static_cast<size_t>(mCut.length(mPicture)), sizeof(float)));
        setUnits();
        return {};
    }

  private:
    void expand(const KernelCall& call, const ExpandedUnit& unit,
                std::byte* memory) const override {
        const ExpandedPicture& p = mPicture;
        const ReachedPart part = ReachedPart::of(p, mCut, unit);
        auto* const to = reinterpret_cast<float*>(memory + mExpanded);
        part.pad(p, mCut, unit, to, 0.0F);
        if (part.empty()) {
            return;
        }
        mProduct.compute({.a = call.input(0).as<float>() + inputOffset(unit, part),
                          .aLine = p.width * p.depth,
                          .aRow = p.depth,
                          .runs = kRuns,
                          .runLength = p.depth,
                          .lines = part.endLine - part.firstLine,
                          .rows = part.pixels,
                          .panels = floatsOf(call, mDefinition.expansionPanels) +
                                    unit.channel / mProduct.lanes * mProduct.panelLength(p.depth),
                          .columns = unit.channels,
                          .c = to + part.offset,
                          .cLine = part.lineLength,
                          .cRow = mCut.channels,
                          .low = mDefinition.expansionRange.low,
                          .high = mDefinition.expansionRange.high});
        applyBetween(part, to);
    }

    void filter(const KernelCall& call, const ExpandedUnit& unit,
                std::byte* memory) const override {
        const ExpandedPicture& p = mPicture;
        auto* const expanded = reinterpret_cast<float*>(memory + mExpanded);
        const float* const panels = floatsOf(call, mDefinition.depthwisePanels);
        const int64_t firstBlock = unit.channel / mDepthwise.lanes;
        if (mDefinition.mayPad) {
            mDepthwise.computeCopied(
                    {.side = p.side,
                     .strideH = p.strideH,
                     .strideW = p.strideW,
                     .lines = unit.lines,
                     .outputW = p.outputWidth,
                     .channels = p.channels,
                     .firstBlock = firstBlock,
                     .endBlock =
                             firstBlock + (unit.channels + mDepthwise.lanes - 1) / mDepthwise.lanes,
                     .panels = panels,
                     .copy = expanded,
                     .copyPixel = mCut.channels,
                     .y = call.output(0).as<float>() + outputOffset(unit) - unit.channel,
                     .low = mDefinition.depthwiseRange.low,
                     .high = mDefinition.depthwiseRange.high});
            return;
        }
        const int64_t lineLength = p.reachedPixels() * mCut.channels;
        for (int64_t i = 0; i < unit.lines; ++i) {
            const int64_t top = (unit.line + i) * p.strideH - p.top;
            const int64_t firstRow = std::clamp<int64_t>(-top, 0, p.side);
            const FloatDepthwiseLine line = {
                    .window = {.filterH = p.side,
                               .filterW = p.side,
                               .firstRow = firstRow,
                               .endRow = std::clamp<int64_t>(p.height - top, firstRow, p.side),
                               .row = lineLength,
                               .column = mCut.channels,
                               .strideW = p.strideW,
                               .left = p.left,
                               .inputW = p.width,
                               .outputW = p.outputWidth,
                               .firstPixel = 0,
                               .endPixel = p.outputWidth,
                               .channels = unit.channels},
                    .x = expanded + i * p.strideH * lineLength + p.left * mCut.channels,
                    .xPixel = mCut.channels,
                    .panels = panels + firstBlock * mDepthwise.panelLength(p.side * p.side),
                    .y = call.output(0).as<float>() + outputOffset(unit) +
                         i * p.outputWidth * p.channels,
                    .yPixel = p.channels,
                    .low = mDefinition.depthwiseRange.low,
                    .high = mDefinition.depthwiseRange.high};
            mDepthwise.compute(line);
        }
    }

    static const float* floatsOf(const KernelCall& call, PackedConstant packed) {
        return reinterpret_cast<const float*>(packed.in(call.constants()).data());
    }

    static constexpr ptrdiff_t kRuns[] = {0};

    const FloatMatmul& mProduct;
    const FloatDepthwise& mDepthwise;
    const Definition& mDefinition;
    size_t mExpanded = 0;
};

}  // namespace

bool floatsPayByChannels(const ExpandedPicture& picture, InstructionSet set) {
    const FloatMatmul& product = floatMatmul(set);
    return product.lanes == floatDepthwise(set).lanes &&
           ExpandedCut::pays(picture, costsOf(product));
}

Result<std::unique_ptr<const StepKernel>> compileExpandedFloats(const KernelArguments& arguments,
                                                                InstructionSet set) {
    const ExpandedNodes nodes(arguments);
    const KernelArguments expansion = nodes.expansion();
    const KernelArguments depthwise = nodes.depthwise();
    const Conv2d& convolution = nodes.convolution();
    Definition definition;
    const ProductFilter filter = filterOf({.window = &convolution.window},
                                          typeOf(expansion, expansion.node.inputs[1]).shape, 1);
    definition.expansionRange = rangeOf(convolution.activation);
    definition.depthwise = depthwiseDefinition(depthwise);
    definition.depthwiseRange = rangeOf(definition.depthwise.node.activation);
    HALYARD_ASSIGN_OR_RETURN(definition.mayPad, mayPadDepthwise(definition.depthwise, depthwise));
    HALYARD_ASSIGN_OR_RETURN(definition.expansionPanels, packFloatProduct(set, filter, expansion));
    HALYARD_ASSIGN_OR_RETURN(definition.depthwisePanels,
                             packFloatDepthwise(set, definition.depthwise, depthwise));
    nodes.notePacked();
    definition.between = nodes.between(set);
    definition.epilogue = nodes.epilogue(set);
    const FloatMatmul& product = floatMatmul(set);
    return std::unique_ptr<const StepKernel>(
            std::make_unique<ExpandedKernel<ExpandedFloats, Forms, Definition>>(
                    Forms{.product = product, .depthwise = floatDepthwise(set)}, costsOf(product),
                    std::move(definition), "expanded_depthwise_float", set));
}

}  // namespace halyard::engine::cpu
