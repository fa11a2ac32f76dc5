// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/inverted_residual.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backends/cpu/choice/fused_choice.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_conv_gemm.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {
namespace {

ResidualExtents extentsOf(const FloatGemm& form, const Shape& x, const Shape& middle,
                          const Shape& output, const DepthwiseDefinition& depthwise, int64_t depth,
                          size_t threads) {
    return {.batches = x[0],
            .height = middle[1],
            .width = middle[2],
            .outputHeight = output[1],
            .outputWidth = output[2],
            .depth = depth,
            .expanded = middle[3],
            .channels = output[3],
            .filter = depthwise.filterH,
            .stride = depthwise.node.window.strideH,
            .block = ResidualExtents::channelBlock(form.lanes, form.tileLanes, middle[3]),
            .threads = static_cast<int64_t>(threads),
            .tuning = depthwise.tuning.invertedResidual};
}

// Which lines of the expanded feature map a thread's ring has.
struct RingContent {
    int64_t batch = -1;
    int64_t first = 0, end = 0;
};

struct Definition {
    ConvGemmDefinition expansion;
    bool isPointwise = true;  // the expansion
    RealRange expansionRange;
    DepthwiseDefinition depthwise;
    RealRange depthwiseRange;
    ConvGemmDefinition projection;
    RealRange projectionRange;
    PackedConstant expansionPanels, depthwisePanels, projectionPanels;
    Epilogue epilogue;
    size_t threads = 1;
};

class ShapedInvertedResidual final : public ShapedKernel {
  public:
    ShapedInvertedResidual(const FloatGemm& product, const FloatDepthwise& depthwise,
                           const Definition& definition, const ResidualExtents& extents,
                           const ResolvedWindow& window)
        : mProduct(product),
          mDepthwise(depthwise),
          mDefinition(definition),
          mExtents(extents),
          mWindow(window) {}

    // `plan`: how an expansion that is not pointwise reads the input.
    Status create(std::optional<ConvGemmPlan> plan) {
        const ResidualExtents& e = mExtents;
        mPlan = std::move(plan);
        if (mPlan.has_value() && mPlan->usesPaddedTile()) {
            HALYARD_ASSIGN_OR_RETURN(mPaddedTile, mMemory.add(mPlan->stripLength(), sizeof(float)));
        }
        HALYARD_ASSIGN_OR_RETURN(mContent, mMemory.add(1, sizeof(RingContent)));
        HALYARD_ASSIGN_OR_RETURN(mRing,
                                 mMemory.add(static_cast<size_t>(e.ringLength()), sizeof(float)));
        HALYARD_ASSIGN_OR_RETURN(mPass,
                                 mMemory.add(static_cast<size_t>(e.passLength()), sizeof(float)));
        mPointwiseRuns.push_back(0);
        for (int64_t channel = 0; channel < e.expanded; channel += e.block) {
            mProjectionRuns.push_back(channel * e.passLines() * e.outputWidth);
        }
        return {};
    }

    size_t threadBytes() const override { return mMemory.bytes(); }

    Status run(KernelCall& call) const override {
        for (size_t worker = 0; worker < mDefinition.threads; ++worker) {
            contentOf(call.memoryOf(worker)) = RingContent();
        }
        return call.inParallel(mExtents.batches * mExtents.passes(), mExtents.passOperations(),
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   for (int64_t pass = begin; pass < end; ++pass) {
                                       compute(call, pass, call.memoryOf(worker));
                                   }
                               });
    }

  private:
    RingContent& contentOf(std::byte* memory) const {
        return *reinterpret_cast<RingContent*>(memory + mContent);
    }

    void compute(const KernelCall& call, int64_t pass, std::byte* memory) const {
        const ResidualExtents& e = mExtents;
        const int64_t batch = pass / e.passes();
        const int64_t line = pass % e.passes() * e.passLines();
        const int64_t lines = std::min(e.passLines(), e.outputHeight - line);
        // Of the expanded feature map, what the windows of these lines reach.
        const int64_t top = line * e.stride - mWindow.top;
        const int64_t first = std::clamp<int64_t>(top, 0, e.height);
        const int64_t end =
                std::clamp<int64_t>(top + (lines - 1) * e.stride + e.filter, first, e.height);
        RingContent& content = contentOf(memory);
        // Passes mostly come in order: then some of the lines are there.
        if (content.batch != batch || first < content.first || first > content.end) {
            content = {.batch = batch, .first = first, .end = first};
        }
        const auto* const ring = reinterpret_cast<const float*>(memory + mRing);
        auto* const middle = reinterpret_cast<float*>(memory + mPass);
        // Block by block where what is filtered is then next to the registers. Lines that an
        // expansion copies first are copied for all blocks.
        const bool byBlocks = e.passLines() == 1 && !mPlan.has_value();
        const int64_t atOnce = byBlocks ? e.block : e.expanded;
        for (int64_t channel = 0; channel < e.expanded; channel += atOnce) {
            expand(call, batch, content.end, end, channel, channel + atOnce, memory);
            for (int64_t i = 0; i < lines; ++i) {
                filter(call, top + i * e.stride, channel, channel + atOnce, ring,
                       middle + i * e.outputWidth * e.block);
            }
        }
        if (content.end < end) {
            content.end = end;
            content.first = std::max(content.first, end - e.ringLines());
        }
        project(call, (batch * e.outputHeight + line) * e.outputWidth, lines * e.outputWidth,
                middle);
    }

    // Channels [first, last) of lines [begin, end) of the expanded feature map, to where they
    // belong in the ring.
    void expand(const KernelCall& call, int64_t batch, int64_t begin, int64_t end, int64_t first,
                int64_t last, std::byte* memory) const {
        const ResidualExtents& e = mExtents;
        const auto* x = call.input(0).as<float>();
        auto* const ring = reinterpret_cast<float*>(memory + mRing);
        FloatBlock block;
        block.l1d = mDefinition.depthwise.tuning.l1d;
        block.rows = e.width;
        block.columns = e.block;
        block.cLine = e.ringLine();
        block.cRow = e.block;
        block.low = mDefinition.expansionRange.low;
        block.high = mDefinition.expansionRange.high;
        for (int64_t line = begin; line < end; line += block.lines) {
            const int64_t slot = line % e.ringLines();
            block.lines = std::min(end - line, e.ringLines() - slot);
            if (!mPlan.has_value()) {
                block.a = x + (batch * e.height + line) * e.width * e.depth;
                block.aLine = e.width * e.depth;
                block.aRow = e.depth;
                block.runs = mPointwiseRuns;
                block.runLength = e.depth;
            } else {
                block.lines = std::min(block.lines, mPlan->linesPerWorkItem());
                const GemmWorkItem item = {.batch = batch,
                                           .line = line,
                                           .lines = block.lines,
                                           .rows = e.width,
                                           .columns = e.expanded};
                block.a = x + mPlan->inputOffset(item);
                if (mPlan->usesPaddedTile()) {
                    auto* const paddedTile = reinterpret_cast<float*>(memory + mPaddedTile);
                    mPlan->fillPaddedTile(item, x, paddedTile, 0.0F,
                                          [](float value) { return value; });
                    block.a = paddedTile;
                }
                block.aLine = mPlan->aLine();
                block.aRow = mPlan->aRow();
                block.runs = mPlan->runs();
                block.runLength = mPlan->runLength();
            }
            block.panels = floatsOf(call, mDefinition.expansionPanels) +
                           first / mProduct.lanes * mProduct.panelLength(e.depth);
            for (int64_t channel = first; channel < last; channel += e.block) {
                block.c = ring + slot * e.ringLine() + channel * e.width;
                mProduct.compute(block);
                block.panels += e.block / mProduct.lanes * mProduct.panelLength(e.depth);
            }
        }
    }

    // Channels [first, last) of one line of the filtered feature map, whose windows begin at line
    // `top` of the expanded one.
    void filter(const KernelCall& call, int64_t top, int64_t first, int64_t last, const float* ring,
                float* to) const {
        const ResidualExtents& e = mExtents;
        const Window2d& node = mDefinition.depthwise.node.window;
        // Where the line `top` is, or would be: padding may begin any number of lines before the
        // first.
        const int64_t slot = (top % e.ringLines() + e.ringLines()) % e.ringLines();
        FloatDepthwiseLine line;
        line.window = {.filterH = e.filter,
                       .filterW = mDefinition.depthwise.filterW,
                       .firstRow = std::clamp<int64_t>(-top, 0, e.filter),
                       .endRow = std::clamp<int64_t>(e.height - top, 0, e.filter),
                       .row = e.ringLine(),
                       .column = e.block,
                       .strideW = node.strideW,
                       .left = mWindow.left,
                       .inputW = e.width,
                       .outputW = e.outputWidth,
                       .firstPixel = 0,
                       .endPixel = e.outputWidth,
                       .channels = e.block};
        line.xPixel = line.yPixel = e.block;
        line.wrapRow = e.ringLines() - slot;
        line.wrapLength = e.ringLength();
        line.low = mDefinition.depthwiseRange.low;
        line.high = mDefinition.depthwiseRange.high;
        const int64_t panelLength = mDepthwise.panelLength(mDefinition.depthwise.taps());
        const int64_t blockPanels = e.block / mDepthwise.lanes * panelLength;
        line.panels = floatsOf(call, mDefinition.depthwisePanels) +
                      first / mDepthwise.lanes * panelLength;
        for (int64_t channel = first; channel < last; channel += e.block) {
            line.x = ring + slot * e.ringLine() + channel * e.width;
            line.y = to + channel * e.passLines() * e.outputWidth;
            mDepthwise.compute(line);
            line.panels += blockPanels;
        }
    }

    // Some neighbouring spatial positions of the output.
    void project(const KernelCall& call, int64_t pixel, int64_t pixels, const float* from) const {
        const ResidualExtents& e = mExtents;
        FloatBlock block;
        block.l1d = mDefinition.depthwise.tuning.l1d;
        block.a = from;
        block.aRow = e.block;
        block.runs = mProjectionRuns;
        block.runLength = e.block;
        block.lines = 1;
        block.rows = pixels;
        block.panels = floatsOf(call, mDefinition.projectionPanels);
        block.columns = e.channels;
        block.c = call.output(0).as<float>() + pixel * e.channels;
        block.cRow = e.channels;
        block.low = mDefinition.projectionRange.low;
        block.high = mDefinition.projectionRange.high;
        mProduct.compute(block);
        mDefinition.epilogue.apply(call, {.begin = pixel * e.channels,
                                          .rows = pixels,
                                          .row = e.channels,
                                          .columns = e.channels});
    }

    static const float* floatsOf(const KernelCall& call, PackedConstant packed) {
        return reinterpret_cast<const float*>(packed.in(call.constants()).data());
    }

    const FloatGemm& mProduct;
    const FloatDepthwise& mDepthwise;
    const Definition& mDefinition;  // of the kernel that made this one
    const ResidualExtents mExtents;
    const ResolvedWindow mWindow;
    std::optional<ConvGemmPlan> mPlan;
    std::vector<ptrdiff_t> mPointwiseRuns;
    std::vector<ptrdiff_t> mProjectionRuns;
    MemoryParts mMemory;
    size_t mPaddedTile = 0;
    size_t mContent = 0;
    size_t mRing = 0;
    size_t mPass = 0;
};

class InvertedResidualKernel final : public StepKernel {
  public:
    InvertedResidualKernel(const FloatGemm& product, const FloatDepthwise& depthwise,
                           InstructionSet set, Definition definition)
        : mProduct(product),
          mDepthwise(depthwise),
          mDefinition(std::move(definition)),
          mName("acc::inverted_residual_float " + std::string(product.tile) + " " +
                std::string(toString(set)) + mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedInvertedResidual>> make(const StepTypes& types) const {
        const Shape& x = types.inputs[0]->shape;
        const DepthwiseDefinition& depthwise = mDefinition.depthwise;
        HALYARD_ASSIGN_OR_RETURN(
                const ResolvedWindow window,
                resolveWindow(depthwise.node.window, types.inside[0]->shape[1],
                              types.inside[0]->shape[2], static_cast<int32_t>(depthwise.filterH),
                              static_cast<int32_t>(depthwise.filterW)));
        const Shape& middle = types.inside[0]->shape;
        const ConvGemmDefinition& expansion = mDefinition.expansion;
        std::optional<ConvGemmPlan> plan;
        if (!mDefinition.isPointwise) {
            HALYARD_ASSIGN_OR_RETURN(const GemmShape shape, expansion.shapeFor(x, middle));
            HALYARD_ASSIGN_OR_RETURN(
                    plan, ConvGemmPlan::create(shape, {.tileRows = mProduct.tileRows,
                                                       .tileColumns = mProduct.tileLanes,
                                                       .tuning = expansion.tuning.tiling}));
        }
        auto kernel = std::make_shared<ShapedInvertedResidual>(
                mProduct, mDepthwise, mDefinition,
                extentsOf(mProduct, x, middle, types.outputs[0]->shape, depthwise,
                          expansion.filter.depth(), mDefinition.threads),
                window);
        HALYARD_RETURN_IF_ERROR(kernel->create(std::move(plan)));
        return std::shared_ptr<const ShapedInvertedResidual>(std::move(kernel));
    }

    const FloatGemm& mProduct;
    const FloatDepthwise& mDepthwise;
    const Definition mDefinition;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileInvertedResidual(const KernelArguments& arguments,
                                                                  const CpuTarget& target) {
    const Graph& graph = arguments.graph;
    const FloatGemm& product = floatGemm(target.set);
    const FloatDepthwise& lines = floatDepthwise(target.set);
    const Node& middle = *arguments.others[0];
    const Node& last = *arguments.others[1];
    const auto& expansion = *std::get_if<Conv2d>(&arguments.node.descriptor);
    const auto& projection = *std::get_if<Conv2d>(&last.descriptor);
    Definition definition;
    definition.expansion =
            convGemmDefinition({.window = &expansion.window, .activation = expansion.activation},
                               argumentsOf(arguments, arguments.node), 1, target.tuning);
    definition.isPointwise =
            isPointwise(expansion, graph.tensor(arguments.node.inputs[1]).type.shape);
    definition.expansionRange = rangeOf(expansion.activation);
    definition.depthwise = depthwiseDefinition(argumentsOf(arguments, middle), target.tuning);
    definition.depthwiseRange = rangeOf(definition.depthwise.node.activation);
    definition.projection =
            convGemmDefinition({.window = &projection.window, .activation = projection.activation},
                               argumentsOf(arguments, last), 1, target.tuning);
    definition.projectionRange = rangeOf(projection.activation);
    definition.threads = arguments.threads;
    HALYARD_ASSIGN_OR_RETURN(definition.expansionPanels,
                             packFloatConvGemm(target.set, definition.expansion.filter,
                                               argumentsOf(arguments, arguments.node)));
    HALYARD_ASSIGN_OR_RETURN(
            definition.depthwisePanels,
            packFloatDepthwise(target.set, definition.depthwise, argumentsOf(arguments, middle)));
    HALYARD_ASSIGN_OR_RETURN(definition.projectionPanels,
                             packFloatConvGemm(target.set, definition.projection.filter,
                                               argumentsOf(arguments, last)));
    size_t inputs = 1;
    for (const Node* node : {&arguments.node, &middle, &last}) {
        arguments.packed.push_back(node->inputs[1]);
        arguments.packed.push_back(node->inputs[2]);
        inputs += 2;
    }
    definition.epilogue =
            Epilogue::of(graph, last.outputs[0], arguments.others.subspan(2), inputs, target.set);
    return std::unique_ptr<const StepKernel>(std::make_unique<InvertedResidualKernel>(
            product, lines, target.set, std::move(definition)));
}

}  // namespace halyard::engine::cpu
