// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/se_scaled_conv.h"

#include <optional>
#include <utility>
#include <variant>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_conv_gemm.h"
#include "engine/backends/cpu/gemm/gemm_layer.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::cpu {
namespace {

// Which input of the multiplication holds the scales, the other one being the feature map.
std::optional<size_t> scalesOf(const Graph& graph, const Node& multiplication) {
    const auto* const binary = std::get_if<Binary>(&multiplication.descriptor);
    if (binary == nullptr || binary->function != Binary::Function::MUL ||
        binary->activation != Activation::NONE) {
        return std::nullopt;
    }
    for (const size_t scales : {size_t{1}, size_t{0}}) {
        const TensorType& x = graph.tensor(multiplication.inputs[1 - scales]).type;
        const TensorType& s = graph.tensor(multiplication.inputs[scales]).type;
        if (x.type == DataType::FLOAT32 && s.type == x.type && x.shape.isFullyKnown() &&
            x.shape.rank() == 4 && s.shape == Shape({x.shape[0], 1, 1, x.shape[3]}) &&
            x.shape == graph.tensor(multiplication.outputs[0]).type.shape) {
            return scales;
        }
    }
    return std::nullopt;
}

}  // namespace

bool isSeScaledConv(const Graph& graph, const Node& multiplication, const Node& convolution) {
    const auto* const node = std::get_if<Conv2d>(&convolution.descriptor);
    return node != nullptr && convolution.inputs[0] == multiplication.outputs[0] &&
           isPointwise(*node, graph.tensor(convolution.inputs[1]).type.shape) &&
           scalesOf(graph, multiplication).has_value();
}

Result<std::unique_ptr<const StepKernel>> compileSeScaledConv(const KernelArguments& arguments,
                                                              const CpuTarget& target) {
    const Graph& graph = arguments.graph;
    const Node& convolution = *arguments.others[0];
    const auto& node = *std::get_if<Conv2d>(&convolution.descriptor);
    const KernelArguments own = argumentsOf(arguments, convolution, arguments.others.subspan(1));
    ConvGemmDefinition definition = convGemmDefinition(
            {.window = &node.window, .activation = node.activation}, own, 1, target.tuning);
    const size_t scales = *scalesOf(graph, arguments.node);
    definition.scale = InputScale{.x = 1 - scales, .scales = scales};
    // Behind the multiplication's inputs, weights and bias.
    definition.epilogue = Epilogue::of(graph, convolution.outputs[0], own.others,
                                       arguments.node.inputs.size() + 2, target.set);
    arguments.packed.push_back(convolution.inputs[1]);
    arguments.packed.push_back(convolution.inputs[2]);
    // Scaled rows are copied for the float GEMM, and for no other form.
    bool hasBf16Weights =
            isLegalWithBf16Weights(gemmLayerOf(own, definition.filter, target.set)).ok();
    if (hasBf16Weights) {
        HALYARD_ASSIGN_OR_RETURN(hasBf16Weights, areBf16(definition, own));
    }
    return compileFloatConvGemm(std::move(definition), own, target.set, hasBf16Weights);
}

}  // namespace halyard::engine::cpu
