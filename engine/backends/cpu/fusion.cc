// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/fusion.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "engine/backends/cpu/choice/fused_choice.h"
#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"
#include "engine/backends/cpu/depthwise/inverted_residual.h"
#include "engine/backends/cpu/elementwise/byte_chains.h"
#include "engine/backends/cpu/fused_layers.h"
#include "engine/backends/cpu/gemm/se_scaled_conv.h"
#include "engine/backends/cpu/gemm/transpose_conv.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/plan/partition_readers.h"

namespace halyard::engine::cpu {
namespace {

bool hasEpilogue(const Graph& graph, const Node& node) {
    return node.kind() == NodeKind::FullyConnected || node.kind() == NodeKind::DepthwiseConv2d ||
           (node.kind() == NodeKind::TransposeConv2d && isByStridePhases(graph, node)) ||
           (node.kind() == NodeKind::Conv2d && !padsWhatIsNotFinite(graph, node));
}

// Whether the elements of a node's result become those of the next node's one by one.
bool isStage(const Graph& graph, const Node& node, TensorId result, bool mayAdd) {
    const TensorType& from = graph.tensor(result).type;
    const TensorType& to = graph.tensor(node.outputs[0]).type;
    if (from.type != to.type) {
        return false;
    }
    if (std::holds_alternative<Activate>(node.descriptor)) {
        return true;
    }
    if (isByChannelConstant(graph, node, result)) {
        return true;
    }
    const auto* binary = std::get_if<Binary>(&node.descriptor);
    if (binary == nullptr || binary->function != Binary::Function::ADD || !mayAdd) {
        return false;
    }
    // Without broadcasting, which only known shapes tell.
    const TensorType& a = graph.tensor(node.inputs[0]).type;
    const TensorType& b = graph.tensor(node.inputs[1]).type;
    return a.type == b.type && a.shape.isFullyKnown() && a.shape == b.shape;
}

// The step of a candidate, as it was chosen; nothing for NODE_BY_NODE.
std::optional<FusedStep> stepOf(const FusionCandidate& candidate, const FusedChoice& choice,
                                const CpuTarget& target) {
    using Compile = Result<std::unique_ptr<const StepKernel>> (*)(const KernelArguments& arguments,
                                                                  const CpuTarget& target);
    Compile compile = nullptr;
    switch (choice.form) {
        case Form::INVERTED_RESIDUAL:
            compile = compileInvertedResidual;
            break;
        case Form::FUSED_POINTWISE_DEPTHWISE:
            compile = compileFusedPointwiseDepthwise;
            break;
        default:
            return std::nullopt;
    }
    FusedStep step = {.nodes = {candidate.nodes.begin(), candidate.nodes.end()},
                      .compile = [compile, &target,
                                  lost = choice.lost.toString()](const KernelArguments& arguments) {
                          return withLostForms(compile(arguments, target), lost);
                      }};
    if (choice.form == Form::INVERTED_RESIDUAL) {
        step.nodes.push_back(*candidate.projection);
    }
    return step;
}

// The multiplication and the convolution that read one another, if the node begins such.
std::optional<FusedStep> scaledFrom(const Graph& graph, const Partition& partition,
                                    const PartitionReaders& readers, size_t multiplication,
                                    const CpuTarget& target) {
    const Node& node = graph.node(partition.nodes[multiplication]);
    const std::optional<size_t> next = readers.onlyReader(node.outputs[0]);
    if (!next.has_value() || !isSeScaledConv(graph, node, graph.node(partition.nodes[*next]))) {
        return std::nullopt;
    }
    // An expansion is better off in its block.
    const std::optional<FusionCandidate> block =
            fusionCandidate(graph, partition, readers, *next, target, true, 1);
    if (block.has_value() && takesInvertedResidual(block->layers, target).ok()) {
        return std::nullopt;
    }
    return FusedStep{.nodes = {multiplication, *next},
                     .compile = [&target](const KernelArguments& arguments) {
                         return compileSeScaledConv(arguments, target);
                     }};
}

}  // namespace

Fusions findFusions(const Graph& graph, const Partition& partition, const CompileOptions& options,
                    const CpuTarget& target, size_t threads) {
    const PartitionReaders readers(graph, partition);
    const ByteChains chains(graph, partition);
    // Else products may be faster in parts of float16's precision, which take rows as they are.
    const bool isStrict = !options.fastMath && !graph.relaxedFloat();
    Fusions fusions;
    std::vector<bool> taken(partition.nodes.size(), false);
    for (size_t i = 0; i < partition.nodes.size(); ++i) {
        const Node& first = graph.node(partition.nodes[i]);
        std::optional<FusedStep> block;
        if (!taken[i] && hasEpilogue(graph, first)) {
            if (const std::optional<FusionCandidate> candidate =
                        fusionCandidate(graph, partition, readers, i, target, isStrict, threads)) {
                const FusedChoice choice = chooseFused(candidate->layers, target);
                block = stepOf(*candidate, choice, target);
                if (!block.has_value()) {
                    fusions.lost.emplace(&first, choice.lost.toString());
                }
            }
            if (!block.has_value()) {
                block = FusedStep{.nodes = {i}};
            }
        } else if (!taken[i] && isStrict) {
            block = scaledFrom(graph, partition, readers, i, target);
        }
        if (!block.has_value()) {
            if (std::optional<FusedStep> chain =
                        taken[i] ? std::nullopt : chains.from(i, taken, target.set)) {
                for (const size_t node : chain->nodes) {
                    taken[node] = true;
                }
                fusions.steps.push_back(*std::move(chain));
            }
            continue;
        }
        FusedStep& step = *block;
        for (const size_t node : step.nodes) {
            taken[node] = true;
        }
        TensorId last = graph.node(partition.nodes[step.nodes.back()]).outputs[0];
        bool mayAdd = true;
        while (const std::optional<size_t> next = readers.onlyReader(last)) {
            const Node& node = graph.node(partition.nodes[*next]);
            if (taken[*next] || !isStage(graph, node, last, mayAdd)) {
                break;
            }
            mayAdd = mayAdd &&
                     (node.kind() != NodeKind::Binary || isByChannelConstant(graph, node, last));
            step.nodes.push_back(*next);
            taken[*next] = true;
            last = node.outputs[0];
        }
        if (step.nodes.size() > 1) {
            fusions.steps.push_back(std::move(step));
        }
    }
    return fusions;
}

}  // namespace halyard::engine::cpu
