// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/expanded_depthwise.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/depthwise/expanded_picture.h"
#include "engine/backends/cpu/products/epilogue.h"
#include "engine/backends/cpu/products/float_matmul.h"
#include "engine/backends/cpu/products/product_definition.h"
#include "engine/backends/cpu/products/weights.h"
#include "engine/backends/cpu/unit_kernel.h"
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

struct Definition {
    ProductDefinition expansion;
    RealRange expansionRange;
    Epilogue between;
    DepthwiseDefinition depthwise;
    RealRange depthwiseRange;
    bool mayPad = false;  // with zeros, which any weight may be multiplied with
    PackedConstant expansionPanels, depthwisePanels;
    Epilogue epilogue;
};

class ShapedExpandedFloats final : public UnitKernel {
  public:
    ShapedExpandedFloats(const FloatMatmul& product, const FloatDepthwise& depthwise,
                         const Definition& definition, const ExpandedPicture& picture,
                         const ExpandedCut& cut)
        : mProduct(product),
          mDepthwise(depthwise),
          mDefinition(definition),
          mPicture(picture),
          mCut(cut) {}

    Status create(size_t threads) {
        HALYARD_ASSIGN_OR_RETURN(
                mExpanded, mMemory.add(static_cast<size_t>(mCut.length(mPicture)), sizeof(float)));
        return finish(mCut.units(mPicture), mCut.operations(mPicture), threads);
    }

  private:
    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const ExpandedUnit unit = mCut.unit(mPicture, index);
        auto* const expanded = reinterpret_cast<float*>(memory + mExpanded);
        expand(call, unit, expanded);
        filter(call, unit, expanded);
        const ExpandedPicture& p = mPicture;
        mDefinition.epilogue.apply(call, {.begin = outputOffset(unit),
                                          .rows = unit.lines * p.outputWidth,
                                          .row = p.channels,
                                          .columns = unit.channels});
    }

    ptrdiff_t outputOffset(const ExpandedUnit& unit) const {
        const ExpandedPicture& p = mPicture;
        return (unit.batch * p.outputHeight + unit.line) * p.outputWidth * p.channels +
               unit.channel;
    }

    void expand(const KernelCall& call, const ExpandedUnit& unit, float* to) const {
        const ExpandedPicture& p = mPicture;
        const ReachedPart part = ReachedPart::of(p, mCut, unit);
        part.pad(p, mCut, unit, to, 0.0F);
        if (part.empty()) {
            return;
        }
        float* const result = to + part.offset;
        const int64_t lines = part.endLine - part.firstLine;
        const FloatBlock block = {
                .a = call.input(0).as<float>() +
                     (unit.batch * p.height + part.line) * p.width * p.depth,
                .aLine = p.width * p.depth,
                .aRow = p.depth,
                .runs = kRuns,
                .runLength = p.depth,
                .lines = lines,
                .rows = part.pixels,
                .panels = floatsOf(call, mDefinition.expansionPanels) +
                          unit.channel / mProduct.lanes * mProduct.panelLength(p.depth),
                .columns = unit.channels,
                .c = result,
                .cLine = part.lineLength,
                .cRow = mCut.channels,
                .low = mDefinition.expansionRange.low,
                .high = mDefinition.expansionRange.high};
        mProduct.compute(block);
        if (!mDefinition.between.empty()) {
            for (int64_t line = 0; line < lines; ++line) {
                mDefinition.between.applyTo(
                        reinterpret_cast<std::byte*>(result + line * part.lineLength),
                        part.pixels * mCut.channels);
            }
        }
    }

    void filter(const KernelCall& call, const ExpandedUnit& unit, float* expanded) const {
        const ExpandedPicture& p = mPicture;
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
    const Definition& mDefinition;  // of the kernel that made this one
    const ExpandedPicture mPicture;
    const ExpandedCut mCut;
    size_t mExpanded = 0;
};

class ExpandedFloats final : public StepKernel {
  public:
    ExpandedFloats(const FloatMatmul& product, const FloatDepthwise& depthwise, InstructionSet set,
                   Definition definition)
        : mProduct(product),
          mDepthwise(depthwise),
          mDefinition(std::move(definition)),
          mName("acc::expanded_depthwise_float " + std::string(product.tile) + " " +
                std::string(toString(set)) + mDefinition.between.name() +
                mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedExpandedFloats>> make(const StepTypes& types) const {
        HALYARD_ASSIGN_OR_RETURN(
                const ExpandedPicture picture,
                ExpandedPicture::of(types.inputs[0]->shape, types.outputs[0]->shape,
                                    mDefinition.depthwise.node.window,
                                    mDefinition.depthwise.filterH));
        const size_t threads = mDefinition.depthwise.threads;
        auto kernel = std::make_shared<ShapedExpandedFloats>(
                mProduct, mDepthwise, mDefinition, picture,
                ExpandedCut::best(picture, costsOf(mProduct), static_cast<int64_t>(threads)));
        HALYARD_RETURN_IF_ERROR(kernel->create(threads));
        return std::shared_ptr<const ShapedExpandedFloats>(std::move(kernel));
    }

    const FloatMatmul& mProduct;
    const FloatDepthwise& mDepthwise;
    const Definition mDefinition;
    const std::string mName;
};

}  // namespace

bool floatsPayByChannels(const ExpandedPicture& picture, InstructionSet set) {
    const FloatMatmul& product = floatMatmul(set);
    return product.lanes == floatDepthwise(set).lanes &&
           ExpandedCut::pays(picture, costsOf(product));
}

Result<std::unique_ptr<const StepKernel>> compileExpandedFloats(const KernelArguments& arguments,
                                                                InstructionSet set) {
    const Graph& graph = arguments.graph;
    const bool activates = arguments.others[0]->kind() == NodeKind::Activate;
    const Node& last = *arguments.others[activates ? 1 : 0];
    const auto& expansion = *std::get_if<Conv2d>(&arguments.node.descriptor);
    Definition definition;
    definition.expansion =
            productDefinition({.window = &expansion.window, .activation = expansion.activation},
                              argumentsOf(arguments, arguments.node), 1);
    definition.expansionRange = rangeOf(expansion.activation);
    definition.depthwise = depthwiseDefinition(argumentsOf(arguments, last));
    definition.depthwiseRange = rangeOf(definition.depthwise.node.activation);
    HALYARD_ASSIGN_OR_RETURN(definition.mayPad,
                             mayPadDepthwise(definition.depthwise, argumentsOf(arguments, last)));
    HALYARD_ASSIGN_OR_RETURN(definition.expansionPanels,
                             packFloatProduct(set, definition.expansion.filter,
                                              argumentsOf(arguments, arguments.node)));
    HALYARD_ASSIGN_OR_RETURN(
            definition.depthwisePanels,
            packFloatDepthwise(set, definition.depthwise, argumentsOf(arguments, last)));
    size_t inputs = 1;
    for (const Node* node : {&arguments.node, &last}) {
        arguments.packed.push_back(node->inputs[1]);
        arguments.packed.push_back(node->inputs[2]);
        inputs += 2;
    }
    definition.between = Epilogue::of(graph, arguments.node.outputs[0],
                                      arguments.others.subspan(0, activates ? 1 : 0), inputs, set);
    definition.epilogue = Epilogue::of(graph, last.outputs[0],
                                       arguments.others.subspan(activates ? 2 : 1), inputs, set);
    return std::unique_ptr<const StepKernel>(std::make_unique<ExpandedFloats>(
            floatMatmul(set), floatDepthwise(set), set, std::move(definition)));
}

}  // namespace halyard::engine::cpu
