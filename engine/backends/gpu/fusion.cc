// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/fusion.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "engine/backends/gpu/kernels/convolution.h"
#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/gemm_chooser.h"
#include "engine/backends/gpu/kernels/mean.h"
#include "engine/backends/gpu/launches/step_leader.h"
#include "engine/numerics/elements.h"
#include "engine/plan/partition_readers.h"

namespace halyard::engine::gpu {
namespace {

bool takesEpilogue(const Node& node) {
    switch (node.kind()) {
        case NodeKind::Conv2d:
        case NodeKind::DepthwiseConv2d:
        case NodeKind::TransposeConv2d:
        case NodeKind::FullyConnected:
        case NodeKind::BatchMatmul:
            return true;
        default:
            return false;
    }
}

// Whether a depthwise convolution of `result` can be computed with the convolution `first` that
// makes it, or that has made what became of it.
bool isWindowOf(const Graph& graph, const FusionNeeds& needs, const Node& first, const Node& node,
                TensorId result) {
    const auto* const conv = std::get_if<Conv2d>(&first.descriptor);
    const auto* const depthwise = std::get_if<DepthwiseConv2d>(&node.descriptor);
    if (conv == nullptr || depthwise == nullptr || node.inputs[0] != result) {
        return false;
    }
    const TensorType& x = graph.tensor(first.inputs[0]).type;
    const TensorType& expanded = graph.tensor(result).type;
    // An epilogue may have given the positions another order of rows.
    if (expanded.shape != graph.tensor(first.outputs[0]).type.shape) {
        return false;
    }
    const TensorType& output = graph.tensor(node.outputs[0]).type;
    const Shape& filter = graph.tensor(first.inputs[1]).type.shape;
    const Shape& window = graph.tensor(node.inputs[1]).type.shape;
    for (const Shape* const shape : {&x.shape, &expanded.shape, &output.shape, &filter, &window}) {
        if (!shape->isFullyKnown() || countOf(*shape) == 0) {
            return false;
        }
    }
    const bool isPointwise = filter[1] == 1 && filter[2] == 1;
    const bool isShort =
            isCheapToRecompute(needs.facts, int64_t{filter[1]} * filter[2] * filter[3]);
    return conv->groups == 1 && (isPointwise || isShort) && depthwise->multiplier == 1 &&
           x.type == expanded.type && expanded.type == output.type &&
           isLegalPointwiseDepthwise(window, depthwise->window);
}

// Whether means over feature maps of `result` are better taken with the convolution `first` that
// makes it, or that has made what became of it.
bool isPoolingOf(const Graph& graph, const FusionNeeds& needs, const Node& first, const Node& node,
                 TensorId result) {
    const auto* const conv = std::get_if<Conv2d>(&first.descriptor);
    if (conv == nullptr || node.inputs[0] != result || !isMeanOfFeatureMaps(graph, node)) {
        return false;
    }
    const TensorType& x = graph.tensor(first.inputs[0]).type;
    const Shape& filter = graph.tensor(first.inputs[1]).type.shape;
    const TensorType& made = graph.tensor(first.outputs[0]).type;
    const TensorType& featureMaps = graph.tensor(result).type;
    for (const Shape* const shape : {&x.shape, &filter, &made.shape}) {
        if (!shape->isFullyKnown() || countOf(*shape) == 0) {
            return false;
        }
    }
    // An epilogue may have given the feature maps another shape, and nodes another type.
    if (featureMaps.shape != made.shape || x.type != made.type ||
        made.type != graph.tensor(node.outputs[0]).type.type) {
        return false;
    }
    const Result<Geometry> geometry = geometryOf(*conv, x.shape, filter, made.shape);
    return geometry.ok() && gemmAlgorithmOf(needs.facts, *geometry) == GemmAlgorithm::TILED &&
           isProfitablePooledGemm({.x = x.type,
                                   .mayRound = needs.mayRound,
                                   .facts = needs.facts,
                                   .matrixFeatures = needs.matrixFeatures},
                                  *geometry);
}

// Who writes a tensor, by its position in the partition.
using Writers = std::unordered_map<TensorId, size_t>;

// Follows a node's result to what it is fused with, and for batch GEMM its inputs to their sources.
class Follower {
  public:
    Follower(const Graph& graph, const Partition& partition, const FusionNeeds& needs,
             const PartitionReaders& readers, const Writers& writers,
             const std::vector<bool>& taken)
        : mGraph(graph),
          mPartition(partition),
          mNeeds(needs),
          mReaders(readers),
          mWriters(writers),
          mTaken(taken) {}

    FusedNodes follow(size_t first) {
        FusedNodes nodes = {first};
        while (takeEpilogueNode(nodes)) {
        }
        if (mGraph.node(mPartition.nodes[first]).kind() == NodeKind::BatchMatmul) {
            while (takeMove(nodes)) {
            }
            takeSources(nodes);
            return nodes;
        }
        if (mNeeds.facts.prefersTiles && (takeWindow(nodes) || takePooling(nodes))) {
            mEpilogueNodes = 0;
            while (takeEpilogueNode(nodes)) {
            }
        }
        return nodes;
    }

  private:
    TensorId resultOf(const FusedNodes& nodes) const {
        return mGraph.node(mPartition.nodes[nodes.back()]).outputs[0];
    }
    bool takeEpilogueNode(FusedNodes& nodes) {
        const TensorId result = resultOf(nodes);
        const std::optional<size_t> next = mReaders.onlyReader(result);
        if (mEpilogueNodes == kMaxEpilogueNodes || !next.has_value() || mTaken[*next] ||
            !isEpilogueNode(mGraph, mGraph.node(mPartition.nodes[*next]), result)) {
            return false;
        }
        ++mEpilogueNodes;
        nodes.push_back(*next);
        return true;
    }
    bool takeMove(FusedNodes& nodes) const {
        const TensorId result = resultOf(nodes);
        const std::optional<size_t> next = mReaders.onlyReader(result);
        if (!next.has_value() || mTaken[*next] || !isMoveOf(*next, result)) {
            return false;
        }
        nodes.push_back(*next);
        return true;
    }
    bool isMoveOf(size_t position, TensorId x) const {
        const Node& node = mGraph.node(mPartition.nodes[position]);
        return onlyMoves(node) && node.inputs[0] == x;
    }
    // Takes the nodes that move the inputs of the first node, before it.
    void takeSources(FusedNodes& nodes) const {
        const Node& first = mGraph.node(mPartition.nodes[nodes.front()]);
        for (TensorId x : first.inputs) {
            for (auto writer = mWriters.find(x); writer != mWriters.end();
                 writer = mWriters.find(x)) {
                const size_t source = writer->second;
                const Node& node = mGraph.node(mPartition.nodes[source]);
                if (mTaken[source] || !onlyMoves(node) || !mReaders.onlyReader(x).has_value()) {
                    break;
                }
                nodes.push_back(source);
                x = node.inputs[0];
            }
        }
        std::ranges::sort(nodes);
    }
    bool takeWindow(FusedNodes& nodes) const {
        return takeNext(nodes, [this](const Node& first, const Node& next, TensorId result) {
            return isWindowOf(mGraph, mNeeds, first, next, result);
        });
    }
    bool takePooling(FusedNodes& nodes) const {
        return takeNext(nodes, [this](const Node& first, const Node& next, TensorId result) {
            return isPoolingOf(mGraph, mNeeds, first, next, result);
        });
    }
    template <typename IsLegal>
    bool takeNext(FusedNodes& nodes, IsLegal isLegal) const {
        const TensorId result = resultOf(nodes);
        const std::optional<size_t> next = mReaders.onlyReader(result);
        if (!next.has_value() || mTaken[*next] ||
            !isLegal(mGraph.node(mPartition.nodes[nodes.front()]),
                     mGraph.node(mPartition.nodes[*next]), result)) {
            return false;
        }
        nodes.push_back(*next);
        return true;
    }

    const Graph& mGraph;
    const Partition& mPartition;
    const FusionNeeds& mNeeds;
    const PartitionReaders& mReaders;
    const Writers& mWriters;
    const std::vector<bool>& mTaken;  // of the partition's nodes: by other steps
    size_t mEpilogueNodes = 0;
};

// More would be too many arguments for a kernel.
constexpr size_t kMostHorizontalFusion = 4;
// Among so many fully connected layers of a tensor they are looked for.
constexpr size_t kNearHorizontalFusion = 16;

// Fuses fully connected layers of one input and one shape horizontally, each with its epilogue.
class HorizontalFusionFinder {
  public:
    HorizontalFusionFinder(const Graph& graph, const Partition& partition)
        : mGraph(graph), mPartition(partition) {
        for (size_t i = 0; i < partition.nodes.size(); ++i) {
            mStandsAt.push_back(i);
            for (const TensorId input : nodeAt(i).inputs) {
                mReaders.emplace(input, i);
            }
        }
    }

    // Takes what becomes part of another away, and adds what begins with one that was alone.
    void join(std::vector<FusedNodes>& fusions) {
        for (FusedNodes& nodes : fusions) {
            stand(nodes);
            mFused.emplace(nodes.front(), std::move(nodes));
        }
        std::map<TensorId, std::vector<size_t>> layers;
        for (size_t i = 0; i < mPartition.nodes.size(); ++i) {
            if (nodeAt(i).kind() == NodeKind::FullyConnected) {
                layers[nodeAt(i).inputs[0]].push_back(i);
            }
        }
        for (const auto& [x, positions] : layers) {
            joinSome(positions);
        }
        fusions.clear();
        for (auto& [first, nodes] : mFused) {
            fusions.push_back(std::move(nodes));
        }
    }

  private:
    // Layers, each with its epilogue, one behind the other.
    struct HorizontalFusion {
        FusedNodes nodes;
        std::vector<size_t> ends;  // what makes the result of each

        void add(const FusedNodes& layer) {
            nodes.insert(nodes.end(), layer.begin(), layer.end());
            ends.push_back(layer.back());
        }
    };

    const Node& nodeAt(size_t position) const { return mGraph.node(mPartition.nodes[position]); }
    void stand(const FusedNodes& nodes) {
        for (const size_t node : nodes) {
            mStandsAt[node] = std::ranges::max(nodes);
        }
    }
    // Of fully connected layers of the same x.
    void joinSome(const std::vector<size_t>& layers) {
        std::vector<bool> isJoined(layers.size(), false);
        for (size_t i = 0; i < layers.size(); ++i) {
            HorizontalFusion all;
            all.add(fusedWith(layers[i]));
            const size_t end = std::min(layers.size(), i + kNearHorizontalFusion);
            for (size_t j = i + 1;
                 !isJoined[i] && j < end && all.ends.size() < kMostHorizontalFusion; ++j) {
                HorizontalFusion more = all;
                more.add(fusedWith(layers[j]));
                if (isJoined[j] || !areHorizontalFusion(nodeAt(layers[i]), nodeAt(layers[j])) ||
                    !standsBeforeReaders(more)) {
                    continue;
                }
                all = std::move(more);
                isJoined[j] = true;
                mFused.erase(layers[j]);
            }
            if (all.ends.size() > 1) {
                stand(all.nodes);
                mFused[layers[i]] = std::move(all.nodes);
            }
        }
    }
    FusedNodes fusedWith(size_t first) const {
        const auto fused = mFused.find(first);
        return fused == mFused.end() ? FusedNodes{first} : fused->second;
    }
    bool areHorizontalFusion(const Node& a, const Node& b) const {
        const auto isAlike = [&](TensorId x, TensorId y) {
            const Tensor& first = mGraph.tensor(x);
            const Tensor& second = mGraph.tensor(y);
            return first.isConstant() && second.isConstant() &&
                   first.type.type == second.type.type && first.type.shape == second.type.shape;
        };
        return a.inputs[0] == b.inputs[0] && isAlike(a.inputs[1], b.inputs[1]) &&
               isAlike(a.inputs[2], b.inputs[2]) &&
               mGraph.tensor(a.outputs[0]).type.type == mGraph.tensor(b.outputs[0]).type.type;
    }
    // Whether each reader of a result comes behind all of them, and is none of them: they are
    // computed side by side, so that none may wait for another.
    bool standsBeforeReaders(const HorizontalFusion& fusedBranches) const {
        const FusedNodes& nodes = fusedBranches.nodes;
        const size_t place = std::ranges::max(nodes);
        for (const size_t end : fusedBranches.ends) {
            for (const TensorId result : nodeAt(end).outputs) {
                const auto [begin, last] = mReaders.equal_range(result);
                for (auto reader = begin; reader != last; ++reader) {
                    if (mStandsAt[reader->second] <= place ||
                        std::ranges::find(nodes, reader->second) != nodes.end()) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    const Graph& mGraph;
    const Partition& mPartition;
    std::unordered_multimap<TensorId, size_t> mReaders;  // by their position in the partition
    std::map<size_t, FusedNodes> mFused;                 // by the first of each
    std::vector<size_t> mStandsAt;  // per node of the partition: the last of what it is fused with
};

}  // namespace

std::vector<FusedNodes> findFusions(const Graph& graph, const Partition& partition,
                                    const FusionNeeds& needs) {
    const PartitionReaders readers(graph, partition);
    Writers writers;
    for (size_t i = 0; i < partition.nodes.size(); ++i) {
        for (const TensorId output : graph.node(partition.nodes[i]).outputs) {
            writers.emplace(output, i);
        }
    }
    std::vector<FusedNodes> fusions;
    std::vector<bool> taken(partition.nodes.size(), false);
    for (size_t i = 0; i < partition.nodes.size(); ++i) {
        if (taken[i] || !takesEpilogue(graph.node(partition.nodes[i]))) {
            continue;
        }
        FusedNodes nodes = Follower(graph, partition, needs, readers, writers, taken).follow(i);
        for (const size_t node : nodes) {
            taken[node] = true;
        }
        if (nodes.size() > 1) {
            fusions.push_back(std::move(nodes));
        }
    }
    if (needs.facts.prefersTiles) {
        HorizontalFusionFinder(graph, partition).join(fusions);
    }
    return fusions;
}

}  // namespace halyard::engine::gpu
