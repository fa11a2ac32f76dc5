// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/expanded_depthwise.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/products/epilogue.h"
#include "engine/backends/cpu/products/float_matmul.h"
#include "engine/backends/cpu/products/product_definition.h"
#include "engine/backends/cpu/products/weights.h"
#include "engine/backends/cpu/unit_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
// Of what a unit expands: some of a core's second cache.
constexpr int64_t kMostUnitBytes = int64_t{160} << 10;
// Multiply-adds of a unit, at most.
constexpr int64_t kMostUnitOperations = int64_t{1} << 24;
// A multiply-add of a depthwise convolution takes as long as so many of a product.
constexpr int64_t kDepthwiseWeight = 3;

int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

struct Extents {
    int64_t batches = 1;
    int64_t height = 1, width = 1;  // of the expanded picture
    int64_t outputHeight = 1, outputWidth = 1;
    int64_t depth = 1;  // channels of the input
    int64_t channels = 1;
    int64_t side = 3;  // of the filter
    int64_t strideH = 1, strideW = 1;
    int64_t top = 0, left = 0;  // padding

    static Result<Extents> of(const Shape& x, const Shape& output, const Window2d& window,
                              int64_t side) {
        HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                                 resolveWindow(window, x[1], x[2], static_cast<int32_t>(side),
                                               static_cast<int32_t>(side)));
        return Extents{.batches = x[0],
                       .height = x[1],
                       .width = x[2],
                       .outputHeight = output[1],
                       .outputWidth = output[2],
                       .depth = x[3],
                       .channels = output[3],
                       .side = side,
                       .strideH = window.strideH,
                       .strideW = window.strideW,
                       .top = resolved.top,
                       .left = resolved.left};
    }

    // Of the part of the expanded picture, with its padding, that the windows of so many lines
    // reach.
    int64_t reachedLines(int64_t lines) const { return (lines - 1) * strideH + side; }
    int64_t reachedPixels() const { return (outputWidth - 1) * strideW + side; }
};

// What a thread computes at a time: some lines of some channels.
struct Cut {
    int64_t lines = 1;
    int64_t channels = 1;  // whole vectors
    int64_t lineGroups = 1;
    int64_t channelGroups = 1;

    // Elements of what is expanded.
    int64_t length(const Extents& e) const {
        return e.reachedLines(lines) * e.reachedPixels() * channels;
    }
    // Multiply-adds for each channel, as long as those of a product take.
    int64_t channelOperations(const Extents& e) const {
        const int64_t expanded = std::min(e.reachedLines(lines), e.height) * e.width;
        return expanded * e.depth + kDepthwiseWeight * lines * e.outputWidth * e.side * e.side;
    }
    int64_t operations(const Extents& e) const { return channelOperations(e) * channels; }
    bool isSmall(const Extents& e) const {
        return length(e) * kFloatBytes <= kMostUnitBytes && operations(e) <= kMostUnitOperations;
    }

    // The quickest one on so many threads. All lines at once, but where threads would be without
    // work: neighbouring groups both expand the lines that both reach.
    static Cut best(const Extents& e, const FloatMatmul& product, int64_t threads) {
        constexpr int64_t kMostLineGroups = 4;
        constexpr int64_t kFewestLines = 4;
        constexpr int64_t kBegin = 1 << 14;  // operations that a unit takes besides
        Cut best;
        int64_t least = std::numeric_limits<int64_t>::max();
        for (int64_t groups = 1; groups <= kMostLineGroups; ++groups) {
            Cut cut = {.lines = ceilDivide(e.outputHeight, groups)};
            if (groups > 1 && cut.lines < kFewestLines) {
                break;
            }
            cut.lineGroups = ceilDivide(e.outputHeight, cut.lines);
            for (int64_t panels = 1; panels <= product.panels(e.channels); ++panels) {
                cut.channels = panels * product.lanes;
                if (panels > 2 && !cut.isSmall(e)) {
                    break;
                }
                cut.channelGroups = ceilDivide(e.channels, cut.channels);
                // A panel alone takes a quarter longer than half of a tile.
                const int64_t quarters = 4 * panels + panels % 2;
                const int64_t unit =
                        cut.channelOperations(e) * product.lanes * quarters / 4 + kBegin;
                const int64_t time =
                        ceilDivide(e.batches * cut.lineGroups * cut.channelGroups, threads) * unit;
                // Small units even out what threads are late by.
                if (time < least - least / 32) {
                    least = time;
                    best = cut;
                }
            }
        }
        return best;
    }
};

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

class ShapedExpandedDepthwise final : public UnitKernel {
  public:
    ShapedExpandedDepthwise(const FloatMatmul& product, const FloatDepthwise& depthwise,
                            const Definition& definition, const Extents& extents, const Cut& cut)
        : mProduct(product),
          mDepthwise(depthwise),
          mDefinition(definition),
          mExtents(extents),
          mCut(cut) {}

    Status create(size_t threads) {
        HALYARD_ASSIGN_OR_RETURN(
                mExpanded, mMemory.add(static_cast<size_t>(mCut.length(mExtents)), sizeof(float)));
        return finish(mExtents.batches * mCut.lineGroups * mCut.channelGroups,
                      mCut.operations(mExtents), threads);
    }

  private:
    // Lines and channels of one picture that a unit has.
    struct Unit {
        int64_t batch = 0;
        int64_t line = 0, lines = 0;
        int64_t channel = 0, channels = 0;
    };
    Unit unitOf(int64_t index) const {
        const int64_t lineGroup = index / mCut.channelGroups;
        Unit unit = {.batch = lineGroup / mCut.lineGroups,
                     .line = lineGroup % mCut.lineGroups * mCut.lines,
                     .channel = index % mCut.channelGroups * mCut.channels};
        unit.lines = std::min(mCut.lines, mExtents.outputHeight - unit.line);
        unit.channels = std::min(mCut.channels, mExtents.channels - unit.channel);
        return unit;
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const Unit unit = unitOf(index);
        auto* const expanded = reinterpret_cast<float*>(memory + mExpanded);
        expand(call, unit, expanded);
        filter(call, unit, expanded);
        const Extents& e = mExtents;
        mDefinition.epilogue.apply(call, {.begin = outputOffset(unit),
                                          .rows = unit.lines * e.outputWidth,
                                          .row = e.channels,
                                          .columns = unit.channels});
    }

    ptrdiff_t outputOffset(const Unit& unit) const {
        const Extents& e = mExtents;
        return (unit.batch * e.outputHeight + unit.line) * e.outputWidth * e.channels +
               unit.channel;
    }

    // What the unit's windows reach, as [line][pixel][channel of the cut], zeros for the padding.
    void expand(const KernelCall& call, const Unit& unit, float* to) const {
        const Extents& e = mExtents;
        const int64_t pixels = e.reachedPixels();
        const int64_t lineLength = pixels * mCut.channels;
        const int64_t top = unit.line * e.strideH - e.top;
        const int64_t reached = e.reachedLines(unit.lines);
        const int64_t first = std::clamp<int64_t>(-top, 0, reached);
        const int64_t end = std::clamp<int64_t>(e.height - top, first, reached);
        const int64_t left = std::min(e.left, pixels);
        const int64_t inside = std::min(e.width, pixels - left);
        std::fill_n(to, first * lineLength, 0.0F);
        for (int64_t line = first; line < end; ++line) {
            float* const begin = to + line * lineLength;
            std::fill_n(begin, left * mCut.channels, 0.0F);
            std::fill(begin + (left + inside) * mCut.channels, begin + lineLength, 0.0F);
        }
        std::fill_n(to + end * lineLength, (reached - end) * lineLength, 0.0F);
        if (first == end || inside <= 0) {
            return;
        }
        float* const result = to + first * lineLength + left * mCut.channels;
        const FloatBlock block = {
                .a = call.input(0).as<float>() +
                     (unit.batch * e.height + top + first) * e.width * e.depth,
                .aLine = e.width * e.depth,
                .aRow = e.depth,
                .runs = kRuns,
                .runLength = e.depth,
                .lines = end - first,
                .rows = inside,
                .panels = floatsOf(call, mDefinition.expansionPanels) +
                          unit.channel / mProduct.lanes * mProduct.panelLength(e.depth),
                .columns = unit.channels,
                .c = result,
                .cLine = lineLength,
                .cRow = mCut.channels,
                .low = mDefinition.expansionRange.low,
                .high = mDefinition.expansionRange.high};
        mProduct.compute(block);
        if (!mDefinition.between.empty()) {
            for (int64_t line = 0; line < end - first; ++line) {
                mDefinition.between.applyTo(
                        reinterpret_cast<std::byte*>(result + line * lineLength),
                        inside * mCut.channels);
            }
        }
    }

    void filter(const KernelCall& call, const Unit& unit, float* expanded) const {
        const Extents& e = mExtents;
        const float* const panels = floatsOf(call, mDefinition.depthwisePanels);
        const int64_t firstBlock = unit.channel / mDepthwise.lanes;
        if (mDefinition.mayPad) {
            mDepthwise.computeCopied(
                    {.side = e.side,
                     .strideH = e.strideH,
                     .strideW = e.strideW,
                     .lines = unit.lines,
                     .outputW = e.outputWidth,
                     .channels = e.channels,
                     .firstBlock = firstBlock,
                     .endBlock = firstBlock + ceilDivide(unit.channels, mDepthwise.lanes),
                     .panels = panels,
                     .copy = expanded,
                     .copyPixel = mCut.channels,
                     .y = call.output(0).as<float>() + outputOffset(unit) - unit.channel,
                     .low = mDefinition.depthwiseRange.low,
                     .high = mDefinition.depthwiseRange.high});
            return;
        }
        const int64_t lineLength = e.reachedPixels() * mCut.channels;
        for (int64_t i = 0; i < unit.lines; ++i) {
            const int64_t top = (unit.line + i) * e.strideH - e.top;
            const int64_t firstRow = std::clamp<int64_t>(-top, 0, e.side);
            const FloatDepthwiseLine line = {
                    .window = {.filterH = e.side,
                               .filterW = e.side,
                               .firstRow = firstRow,
                               .endRow = std::clamp<int64_t>(e.height - top, firstRow, e.side),
                               .row = lineLength,
                               .column = mCut.channels,
                               .strideW = e.strideW,
                               .left = e.left,
                               .inputW = e.width,
                               .outputW = e.outputWidth,
                               .firstPixel = 0,
                               .endPixel = e.outputWidth,
                               .channels = unit.channels},
                    .x = expanded + i * e.strideH * lineLength + e.left * mCut.channels,
                    .xPixel = mCut.channels,
                    .panels = panels + firstBlock * mDepthwise.panelLength(e.side * e.side),
                    .y = call.output(0).as<float>() + outputOffset(unit) +
                         i * e.outputWidth * e.channels,
                    .yPixel = e.channels,
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
    const Extents mExtents;
    const Cut mCut;
    size_t mExpanded = 0;
};

class ExpandedDepthwiseKernel final : public StepKernel {
  public:
    ExpandedDepthwiseKernel(const FloatMatmul& product, const FloatDepthwise& depthwise,
                            InstructionSet set, Definition definition)
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
    Result<std::shared_ptr<const ShapedExpandedDepthwise>> make(const StepTypes& types) const {
        HALYARD_ASSIGN_OR_RETURN(
                const Extents extents,
                Extents::of(types.inputs[0]->shape, types.outputs[0]->shape,
                            mDefinition.depthwise.node.window, mDefinition.depthwise.filterH));
        const size_t threads = mDefinition.depthwise.threads;
        auto kernel = std::make_shared<ShapedExpandedDepthwise>(
                mProduct, mDepthwise, mDefinition, extents,
                Cut::best(extents, mProduct, static_cast<int64_t>(threads)));
        HALYARD_RETURN_IF_ERROR(kernel->create(threads));
        return std::shared_ptr<const ShapedExpandedDepthwise>(std::move(kernel));
    }

    const FloatMatmul& mProduct;
    const FloatDepthwise& mDepthwise;
    const Definition mDefinition;
    const std::string mName;
};

}  // namespace

bool paysByChannels(const Graph& graph, const ExpandedDepthwise& nodes, InstructionSet set) {
    const auto* expansion = std::get_if<Conv2d>(&nodes.expansion.descriptor);
    const auto* depthwise = std::get_if<DepthwiseConv2d>(&nodes.depthwise.descriptor);
    if (expansion == nullptr || depthwise == nullptr) {
        return false;
    }
    const TensorType& x = graph.tensor(nodes.expansion.inputs[0]).type;
    const Shape& output = graph.tensor(nodes.depthwise.outputs[0]).type.shape;
    const Shape& filter = graph.tensor(nodes.depthwise.inputs[1]).type.shape;
    const Window2d& window = depthwise->window;
    if (x.type != DataType::FLOAT32 || !x.shape.isFullyKnown() || !output.isFullyKnown() ||
        countOf(output) == 0 || depthwise->multiplier != 1 || window.dilationH != 1 ||
        window.dilationW != 1 || filter[1] != filter[2] || (filter[1] != 3 && filter[1] != 5) ||
        !isPointwise(*expansion, graph.tensor(nodes.expansion.inputs[1]).type.shape)) {
        return false;
    }
    const Result<Extents> extents = Extents::of(x.shape, output, window, filter[1]);
    if (!extents.ok()) {
        return false;
    }
    const FloatMatmul& product = floatMatmul(set);
    const Cut whole = {.lines = extents->outputHeight, .channels = product.tileLanes};
    return product.lanes == floatDepthwise(set).lanes && whole.isSmall(*extents);
}

Result<std::unique_ptr<const StepKernel>> compileExpandedDepthwise(const KernelArguments& arguments,
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
    return std::unique_ptr<const StepKernel>(std::make_unique<ExpandedDepthwiseKernel>(
            floatMatmul(set), floatDepthwise(set), set, std::move(definition)));
}

}  // namespace halyard::engine::cpu
