// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/transpose_conv.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/choice/transpose_choice.h"
#include "engine/backends/cpu/gemm/amx_conv_gemm.h"
#include "engine/backends/cpu/gemm/col2im_conv.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_conv_gemm.h"
#include "engine/backends/cpu/gemm/gemm_layer.h"
#include "engine/backends/cpu/gemm/quantized_conv_gemm.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/stride_phase.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/finite.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::cpu {
namespace {

// The phases one after the other, each shared among the threads.
class ShapedTransposeConv final : public ShapedKernel {
  public:
    explicit ShapedTransposeConv(std::vector<std::shared_ptr<const ShapedKernel>> phases)
        : mPhases(std::move(phases)) {}

    size_t threadBytes() const override {
        size_t most = 0;
        for (const auto& phase : mPhases) {
            most = std::max(most, phase->threadBytes());
        }
        return most;
    }

    Status run(KernelCall& call) const override {
        for (const auto& phase : mPhases) {
            HALYARD_RETURN_IF_ERROR(phase->run(call));
        }
        return {};
    }

  private:
    const std::vector<std::shared_ptr<const ShapedKernel>> mPhases;
};

struct CompiledPhase {
    StridePhase phase;
    std::unique_ptr<const StepKernel> kernel;
};

class TransposeConv final : public StepKernel {
  public:
    explicit TransposeConv(std::vector<CompiledPhase> phases) : mPhases(std::move(phases)) {}

    // They differ in their taps alone.
    std::string_view name() const override { return mPhases.front().kernel->name(); }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedTransposeConv>> make(const StepTypes& types) const {
        std::vector<std::shared_ptr<const ShapedKernel>> shaped;
        for (const CompiledPhase& own : mPhases) {
            HALYARD_ASSIGN_OR_RETURN(
                    const GemmShape shape,
                    own.phase.shapeFor(types.inputs[0]->shape, types.outputs[0]->shape));
            if (shape.outputH == 0 || shape.outputW == 0) {
                continue;
            }
            HALYARD_ASSIGN_OR_RETURN(shaped.emplace_back(), own.kernel->specialize(types));
        }
        return std::make_shared<const ShapedTransposeConv>(std::move(shaped));
    }

    const std::vector<CompiledPhase> mPhases;
};

int64_t extentOf(const Shape& shape, size_t axis) {
    return !shape.hasKnownRank() || shape[axis] == kUnknownDimension ? kUnknownExtent : shape[axis];
}

TransposeLayer layerOf(const TransposeConv2d& node, const KernelArguments& arguments) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const Shape& filter = typeOf(arguments, arguments.node.inputs[1]).shape;
    const Shape& output = typeOf(arguments, arguments.node.outputs[0]).shape;
    TransposeLayer layer;
    layer.elements = isOfBytes(x.type)             ? GemmLayer::Elements::INT8
                     : x.type == DataType::FLOAT16 ? GemmLayer::Elements::HALF
                                                   : GemmLayer::Elements::FLOAT;
    layer.batches = extentOf(output, 0);
    layer.outputH = extentOf(output, 1);
    layer.outputW = extentOf(output, 2);
    layer.inputH = extentOf(x.shape, 1);
    layer.inputW = extentOf(x.shape, 2);
    layer.outputC = filter[0];
    layer.filterH = filter[1];
    layer.filterW = filter[2];
    layer.inputC = filter[3];
    layer.strideH = node.window.strideH;
    layer.strideW = node.window.strideW;
    layer.left = kUnknownExtent;
    if (x.shape.isFullyKnown() && output.isFullyKnown()) {
        if (const Result<ResolvedWindow> resolved =
                    resolveTransposeWindow(node.window, x.shape[1], x.shape[2], filter[1],
                                           filter[2], output[1], output[2]);
            resolved.ok()) {
            layer.left = resolved->left;
        }
    }
    return layer;
}

// Rows that a phase has in A, or kUnknownExtent.
int64_t rowsOf(const StridePhase& phase, const KernelArguments& arguments) {
    const Shape& x = typeOf(arguments, arguments.node.inputs[0]).shape;
    const Shape& output = typeOf(arguments, arguments.node.outputs[0]).shape;
    if (!x.isFullyKnown() || !output.isFullyKnown()) {
        return kUnknownExtent;
    }
    const Result<GemmShape> shape = phase.shapeFor(x, output);
    return shape.ok() ? shape->batches * shape->outputH * shape->outputW : kUnknownExtent;
}

ConvGemmDefinition definitionOf(const StridePhase& phase, Activation activation,
                                const KernelArguments& arguments, const CpuTarget& target) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const int64_t depth = typeOf(arguments, arguments.node.inputs[1]).shape[3];
    const int64_t multiple = isOfBytes(x.type) ? quantizedGemm(target.set).depthGroup : 1;
    ConvGemmDefinition definition;
    definition.activation = activation;
    definition.filter = {.channels = phase.channels * phase.mergedPhases(),
                         .runs = phase.tapRows(),
                         .runLength = phase.tapColumns() * depth,
                         .taps = phase.taps(depth)};
    definition.filter.paddedRun =
            (definition.filter.runLength + multiple - 1) / multiple * multiple;
    definition.phase = phase;
    definition.epilogue = Epilogue::of(arguments, target.set);
    definition.threads = arguments.threads;
    definition.tuning = target.tuning;
    return definition;
}

Result<std::unique_ptr<const StepKernel>> compilePhase(const StridePhase& phase,
                                                       Activation activation,
                                                       const KernelArguments& arguments,
                                                       const CpuTarget& target, LostForms& lost) {
    ConvGemmDefinition definition = definitionOf(phase, activation, arguments, target);
    if (!isOfBytes(typeOf(arguments, arguments.node.inputs[0]).type)) {
        return compileFloatConvGemm(std::move(definition), arguments, target.set, false);
    }
    GemmLayer layer = gemmLayerOf(arguments, definition.filter, target.set);
    layer.rows = rowsOf(phase, arguments);
    const AmxInt8Gemm* const tiles = amxInt8Gemm(target.set);
    Status legal = tiles == nullptr
                           ? unsupported(std::string(toString(target.set)) + " has no tiles")
                   : layer.depth() == 0 ? unsupported("takes phases with taps")
                                        : isLegalAndProfitableOnAmx(layer, target.tuning);
    if (lost.takes(Form::INT8_GEMM_AMX, legal)) {
        lost.add(int8VectorForm(target.set), "costs more cycles than tiles");
        return compileAmxConvGemm(std::move(definition), arguments, *tiles, toString(target.set));
    }
    return compileQuantizedConvGemm(std::move(definition), arguments, target.set);
}

}  // namespace

bool isByStridePhases(const Graph& graph, const Node& node) {
    const Tensor& weights = graph.tensor(node.inputs[1]);
    // Such weights are never packed.
    return weights.isPackedAway() || areFinite(weights.type.type, weights.constant.bytes);
}

Status supports(const TransposeConv2d& node, const Graph& graph, const Node& whole) {
    if (int64_t{node.window.strideH} * node.window.strideW > kMostStridePhases) {
        return unsupported("takes up to " + std::to_string(kMostStridePhases) + " stride phases");
    }
    return supportsSums(graph, whole);
}

Result<std::unique_ptr<const StepKernel>> compile(const TransposeConv2d& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    // Nothing is fused with such a node, unless another process has just changed the weights.
    if (arguments.others.empty() && !isByStridePhases(arguments.graph, arguments.node)) {
        return plainKernel(arguments, "reference",
                           [node](KernelCall& call) { return ref::run(node, call); });
    }
    const TransposeLayer layer = layerOf(node, arguments);
    TransposeChoice choice = chooseTranspose(layer, target.tuning);
    const bool mergesLine = choice.form == Form::MERGED_STRIDE_PHASES;
    arguments.packed.push_back(arguments.node.inputs[1]);
    arguments.packed.push_back(arguments.node.inputs[2]);
    if (choice.form == Form::GEMM_AND_COL2IM) {
        return withLostForms(compileCol2imConv(node, arguments, target), choice.lost.toString());
    }
    std::vector<CompiledPhase> phases;
    for (int64_t row = 0; row < layer.strideH; ++row) {
        for (int64_t column = 0; column < (mergesLine ? 1 : layer.strideW); ++column) {
            CompiledPhase& own = phases.emplace_back();
            own.phase = {.window = node.window,
                         .filterH = layer.filterH,
                         .filterW = layer.filterW,
                         .channels = layer.outputC,
                         .row = row,
                         .column = column,
                         .mergesLine = mergesLine};
            // What is told of the first phase holds for the others.
            LostForms others;
            HALYARD_ASSIGN_OR_RETURN(own.kernel,
                                     compilePhase(own.phase, node.activation, arguments, target,
                                                  phases.size() == 1 ? choice.lost : others));
        }
    }
    return withLostForms(
            std::unique_ptr<const StepKernel>(std::make_unique<TransposeConv>(std::move(phases))),
            choice.lost.toString());
}

}  // namespace halyard::engine::cpu
