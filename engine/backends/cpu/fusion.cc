// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/fusion.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "engine/backends/cpu/depthwise/fused_mbconv.h"
#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"
#include "engine/backends/cpu/depthwise/inverted_residual.h"
#include "engine/backends/cpu/gemm/se_scaled_conv.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/plan/partition_readers.h"

namespace halyard::engine::cpu {
namespace {

bool hasEpilogue(const Graph& graph, const Node& node) {
    return node.kind() == NodeKind::FullyConnected || node.kind() == NodeKind::DepthwiseConv2d ||
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
    const auto* binary = std::get_if<Binary>(&node.descriptor);
    if (binary == nullptr || binary->function != Binary::Function::ADD || !mayAdd) {
        return false;
    }
    // Without broadcasting, which only known shapes tell.
    const TensorType& a = graph.tensor(node.inputs[0]).type;
    const TensorType& b = graph.tensor(node.inputs[1]).type;
    return a.type == b.type && a.shape.isFullyKnown() && a.shape == b.shape;
}

// The inverted residual block that a node begins, if it pays.
std::optional<FusedStep> blockFrom(const Graph& graph, const Partition& partition,
                                   const PartitionReaders& readers, size_t expansion,
                                   const CpuTarget& target) {
    const auto after = [&](size_t node) {
        return readers.onlyReader(graph.node(partition.nodes[node]).outputs[0]);
    };
    const std::optional<size_t> depthwise = after(expansion);
    const std::optional<size_t> projection =
            depthwise.has_value() ? after(*depthwise) : std::nullopt;
    if (!projection.has_value() ||
        !isProfitableAsOne(graph,
                           {.expansion = graph.node(partition.nodes[expansion]),
                            .depthwise = graph.node(partition.nodes[*depthwise]),
                            .projection = graph.node(partition.nodes[*projection])},
                           target)) {
        return std::nullopt;
    }
    return FusedStep{.nodes = {expansion, *depthwise, *projection},
                     .compile = [&target](const KernelArguments& arguments) {
                         return compileInvertedResidual(arguments, target);
                     }};
}

// The expansion and the depthwise convolution that a node begins, with what lies between them, if
// that pays.
std::optional<FusedStep> expandedFrom(const Graph& graph, const Partition& partition,
                                      const PartitionReaders& readers, size_t expansion,
                                      const CpuTarget& target, size_t threads) {
    const auto after = [&](size_t node) {
        return readers.onlyReader(graph.node(partition.nodes[node]).outputs[0]);
    };
    std::vector<size_t> nodes = {expansion};
    std::optional<size_t> next = after(expansion);
    if (next.has_value() && graph.node(partition.nodes[*next]).kind() == NodeKind::Activate) {
        nodes.push_back(*next);
        next = after(*next);
    }
    if (!next.has_value() ||
        !isProfitableByChannels(graph,
                                {.expansion = graph.node(partition.nodes[expansion]),
                                 .depthwise = graph.node(partition.nodes[*next])},
                                target, threads)) {
        return std::nullopt;
    }
    nodes.push_back(*next);
    const std::optional<size_t> projection = after(*next);
    if (projection.has_value() &&
        isProfitableWithProjection(graph,
                                   {.expansion = graph.node(partition.nodes[expansion]),
                                    .depthwise = graph.node(partition.nodes[*next])},
                                   graph.node(partition.nodes[*projection]), target, threads)) {
        nodes.push_back(*projection);
        return FusedStep{.nodes = std::move(nodes),
                         .compile = [&target](const KernelArguments& arguments) {
                             return compileFusedMbconv(arguments, target);
                         }};
    }
    return FusedStep{.nodes = std::move(nodes),
                     .compile = [&target](const KernelArguments& arguments) {
                         return compileFusedPointwiseDepthwise(arguments, target);
                     }};
}

// The multiplication and the convolution that read one another, if the node begins such.
std::optional<FusedStep> scaledFrom(const Graph& graph, const Partition& partition,
                                    const PartitionReaders& readers, size_t multiplication,
                                    const CpuTarget& target) {
    const Node& node = graph.node(partition.nodes[multiplication]);
    const std::optional<size_t> next = readers.onlyReader(node.outputs[0]);
    // An expansion is better off in its block.
    if (!next.has_value() || !isSeScaledConv(graph, node, graph.node(partition.nodes[*next])) ||
        blockFrom(graph, partition, readers, *next, target).has_value()) {
        return std::nullopt;
    }
    return FusedStep{.nodes = {multiplication, *next},
                     .compile = [&target](const KernelArguments& arguments) {
                         return compileSeScaledConv(arguments, target);
                     }};
}

}  // namespace

std::vector<FusedStep> findFusions(const Graph& graph, const Partition& partition,
                                   const CompileOptions& options, const CpuTarget& target,
                                   size_t threads) {
    const PartitionReaders readers(graph, partition);
    // Else products may be faster in parts of float16's precision, which take rows as they are.
    const bool isStrict = !options.fastMath && !graph.relaxedFloat();
    std::vector<FusedStep> fusions;
    std::vector<bool> taken(partition.nodes.size(), false);
    for (size_t i = 0; i < partition.nodes.size(); ++i) {
        const Node& first = graph.node(partition.nodes[i]);
        std::optional<FusedStep> block;
        if (!taken[i] && hasEpilogue(graph, first)) {
            block = blockFrom(graph, partition, readers, i, target);
            const bool isFloat = graph.tensor(first.inputs[0]).type.type == DataType::FLOAT32;
            if (!block.has_value() && (isStrict || !isFloat)) {
                block = expandedFrom(graph, partition, readers, i, target, threads);
            }
            if (!block.has_value()) {
                block = FusedStep{.nodes = {i}};
            }
        } else if (!taken[i] && isStrict) {
            block = scaledFrom(graph, partition, readers, i, target);
        }
        if (!block.has_value()) {
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
            mayAdd = mayAdd && node.kind() != NodeKind::Binary;
            step.nodes.push_back(*next);
            taken[*next] = true;
            last = node.outputs[0];
        }
        if (step.nodes.size() > 1) {
            fusions.push_back(std::move(step));
        }
    }
    return fusions;
}

}  // namespace halyard::engine::cpu
