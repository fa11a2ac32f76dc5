// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise_floats.h"

#include <algorithm>
#include <utility>

#include "engine/backends/cpu/choice/fused_choice.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_conv_gemm.h"
#include "engine/backends/cpu/gemm/weight_prefetch.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

constexpr ptrdiff_t kRuns[] = {0};

const float* floatsOf(const KernelCall& call, PackedConstant packed) {
    return reinterpret_cast<const float*>(packed.in(call.constants()).data());
}

}  // namespace

Status FusedPointwiseDepthwiseFloats::create() {
    HALYARD_ASSIGN_OR_RETURN(
            mExpanded, mMemory.add(static_cast<size_t>(mCut.length(mFeatureMap)), sizeof(float)));
    mLater = bytesToLater(mDefinition.expansionPanels, mFeatureMap.batches * mCut.lineGroups,
                          mDefinition.depthwise.threads,
                          mDefinition.depthwise.tuning.vectors.mostPrefetchBytes);
    setWorkItems();
    return {};
}

void FusedPointwiseDepthwiseFloats::expand(const KernelCall& call, const FusedWorkItem& item,
                                           std::byte* memory) const {
    const FusedFeatureMap& p = mFeatureMap;
    const ReachedPart part = ReachedPart::of(p, mCut, item);
    auto* const to = reinterpret_cast<float*>(memory + mExpanded);
    part.pad(p, mCut, item, to, 0.0F);
    if (part.empty()) {
        return;
    }
    mProduct.compute({.a = call.input(0).as<float>() + inputOffset(item, part),
                      .aLine = p.width * p.depth,
                      .aRow = p.depth,
                      .runs = kRuns,
                      .runLength = p.depth,
                      .lines = part.endLine - part.firstLine,
                      .rows = part.pixels,
                      .panels = floatsOf(call, mDefinition.expansionPanels) +
                                item.channel / mProduct.lanes * mProduct.panelLength(p.depth),
                      .columns = item.channels,
                      .later = mLater,
                      .l1d = mDefinition.depthwise.tuning.l1d,
                      .c = to + part.offset,
                      .cLine = part.lineLength,
                      .cRow = mCut.channels,
                      .low = mDefinition.expansionRange.low,
                      .high = mDefinition.expansionRange.high});
    applyBetween(part, to);
}

void FusedPointwiseDepthwiseFloats::filter(const KernelCall& call, const FusedWorkItem& item,
                                           std::byte* memory) const {
    float* const y = call.output(0).as<float>() + outputOffset(item);
    const ptrdiff_t yPixel = mFeatureMap.channels;
    const FusedFeatureMap& p = mFeatureMap;
    auto* const expanded = reinterpret_cast<float*>(memory + mExpanded);
    const float* const panels =
            floatsOf(call, mDefinition.depthwisePanels) +
            item.channel / mDepthwise.lanes * mDepthwise.panelLength(p.side * p.side);
    if (mDefinition.mayPad) {
        mDepthwise.computeTile({.side = p.side,
                                .strideH = p.strideH,
                                .strideW = p.strideW,
                                .lines = item.lines,
                                .outputW = p.outputWidth,
                                .channels = item.channels,
                                .panels = panels,
                                .x = expanded,
                                .xPixel = mCut.channels,
                                .y = y,
                                .yPixel = yPixel,
                                .low = mDefinition.depthwiseRange.low,
                                .high = mDefinition.depthwiseRange.high});
        return;
    }
    const int64_t lineLength = p.reachedPixels() * mCut.channels;
    for (int64_t i = 0; i < item.lines; ++i) {
        const int64_t top = (item.line + i) * p.strideH - p.top;
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
                           .channels = item.channels},
                .x = expanded + i * p.strideH * lineLength + p.left * mCut.channels,
                .xPixel = mCut.channels,
                .panels = panels,
                .y = y + i * p.outputWidth * yPixel,
                .yPixel = yPixel,
                .low = mDefinition.depthwiseRange.low,
                .high = mDefinition.depthwiseRange.high};
        mDepthwise.compute(line);
    }
}

Result<FusedPointwiseDepthwiseFloatDefinition> FusedPointwiseDepthwiseFloatDefinition::of(
        const FusedPointwiseDepthwiseNodes& nodes, const CpuTarget& target) {
    const KernelArguments expansion = nodes.expansion();
    const KernelArguments depthwise = nodes.depthwise();
    const Conv2d& convolution = nodes.convolution();
    FusedPointwiseDepthwiseFloatDefinition definition;
    const ConvGemmFilter filter = filterOf({.window = &convolution.window},
                                           typeOf(expansion, expansion.node.inputs[1]).shape, 1);
    definition.expansionRange = rangeOf(convolution.activation);
    definition.depthwise = depthwiseDefinition(depthwise, target.tuning);
    definition.depthwiseRange = rangeOf(definition.depthwise.node.activation);
    HALYARD_ASSIGN_OR_RETURN(definition.mayPad, mayPadDepthwise(definition.depthwise, depthwise));
    HALYARD_ASSIGN_OR_RETURN(definition.expansionPanels,
                             packFloatConvGemm(target.set, filter, expansion));
    HALYARD_ASSIGN_OR_RETURN(definition.depthwisePanels,
                             packFloatDepthwise(target.set, definition.depthwise, depthwise));
    nodes.notePacked();
    definition.between = nodes.between(target.set);
    return definition;
}

Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwiseFloats(
        const KernelArguments& arguments, const CpuTarget& target) {
    const FusedPointwiseDepthwiseNodes nodes(arguments);
    HALYARD_ASSIGN_OR_RETURN(FusedPointwiseDepthwiseFloatDefinition definition,
                             FusedPointwiseDepthwiseFloatDefinition::of(nodes, target));
    definition.epilogue = nodes.epilogue(target.set);
    const auto forms = FusedPointwiseDepthwiseFloatForms::of(target.set);
    return std::unique_ptr<const StepKernel>(
            std::make_unique<FusedPointwiseDepthwiseKernel<FusedPointwiseDepthwiseFloats,
                                                           FusedPointwiseDepthwiseFloatForms,
                                                           FusedPointwiseDepthwiseFloatDefinition>>(
                    forms,
                    fusedFloatCosts(forms.product.lanes, forms.product.tileLanes,
                                    target.tuning.fused),
                    std::move(definition), "fused_pointwise_depthwise_float", target.set));
}

}  // namespace halyard::engine::cpu
