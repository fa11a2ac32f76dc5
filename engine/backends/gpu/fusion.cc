// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/fusion.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "engine/backends/gpu/kernels/stages.h"
#include "engine/backends/gpu/kernels/tiled_product.h"
#include "engine/numerics/elements.h"
#include "engine/plan/piece_readers.h"

namespace halyard::engine::gpu {
namespace {

bool takesStages(const Node& node) {
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

// Of an element that tiles next to each other each compute for themselves, unless it is cheap as
// those of one pixel are.
constexpr int64_t kMostRepeatedProducts = 64;

// Whether a depthwise convolution of `result` can be computed with the convolution `first` that
// makes it, or that has made what became of it.
bool isWindowOf(const Graph& graph, const Node& first, const Node& node, TensorId result) {
    const auto* const conv = std::get_if<Conv2d>(&first.descriptor);
    const auto* const depthwise = std::get_if<DepthwiseConv2d>(&node.descriptor);
    if (conv == nullptr || depthwise == nullptr || node.inputs[0] != result) {
        return false;
    }
    const TensorType& x = graph.tensor(first.inputs[0]).type;
    const TensorType& expanded = graph.tensor(result).type;
    const TensorType& output = graph.tensor(node.outputs[0]).type;
    const Shape& filter = graph.tensor(first.inputs[1]).type.shape;
    const Shape& window = graph.tensor(node.inputs[1]).type.shape;
    for (const Shape* const shape : {&x.shape, &expanded.shape, &output.shape, &filter, &window}) {
        if (!shape->isFullyKnown() || countOf(*shape) == 0) {
            return false;
        }
    }
    const bool isPointwise = filter[1] == 1 && filter[2] == 1;
    const bool isShort = int64_t{filter[1]} * filter[2] * filter[3] <= kMostRepeatedProducts;
    return conv->groups == 1 && (isPointwise || isShort) && depthwise->multiplier == 1 &&
           x.type == expanded.type && expanded.type == output.type &&
           fitsExpansion(window, depthwise->window);
}

// Who writes a tensor, by its position in the piece.
using Writers = std::unordered_map<TensorId, size_t>;

// Follows what becomes of a node's result, and for products of matrices where its inputs come from.
class Follower {
  public:
    Follower(const Graph& graph, const Piece& piece, const DeviceFacts& facts,
             const PieceReaders& readers, const Writers& writers, const std::vector<bool>& taken)
        : mGraph(graph),
          mPiece(piece),
          mFacts(facts),
          mReaders(readers),
          mWriters(writers),
          mTaken(taken) {}

    FusedNodes follow(size_t first) {
        FusedNodes nodes = {first};
        while (takeStage(nodes)) {
        }
        if (mGraph.node(mPiece.nodes[first]).kind() == NodeKind::BatchMatmul) {
            while (takeMove(nodes)) {
            }
            takeSources(nodes);
            return nodes;
        }
        if (mFacts.prefersTiles && takeWindow(nodes)) {
            mStages = 0;
            while (takeStage(nodes)) {
            }
        }
        return nodes;
    }

  private:
    TensorId resultOf(const FusedNodes& nodes) const {
        return mGraph.node(mPiece.nodes[nodes.back()]).outputs[0];
    }
    bool takeStage(FusedNodes& nodes) {
        const TensorId result = resultOf(nodes);
        const std::optional<size_t> next = mReaders.onlyReader(result);
        if (mStages == kMostStages || !next.has_value() || mTaken[*next] ||
            !isStage(mGraph, mGraph.node(mPiece.nodes[*next]), result)) {
            return false;
        }
        ++mStages;
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
        const Node& node = mGraph.node(mPiece.nodes[position]);
        return onlyMoves(node) && node.inputs[0] == x;
    }
    // What moves the inputs of the first node, before it.
    void takeSources(FusedNodes& nodes) const {
        const Node& first = mGraph.node(mPiece.nodes[nodes.front()]);
        for (TensorId x : first.inputs) {
            for (auto writer = mWriters.find(x); writer != mWriters.end();
                 writer = mWriters.find(x)) {
                const size_t source = writer->second;
                const Node& node = mGraph.node(mPiece.nodes[source]);
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
        const TensorId result = resultOf(nodes);
        const std::optional<size_t> next = mReaders.onlyReader(result);
        if (!next.has_value() || mTaken[*next] ||
            !isWindowOf(mGraph, mGraph.node(mPiece.nodes[nodes.front()]),
                        mGraph.node(mPiece.nodes[*next]), result)) {
            return false;
        }
        nodes.push_back(*next);
        return true;
    }

    const Graph& mGraph;
    const Piece& mPiece;
    const DeviceFacts& mFacts;
    const PieceReaders& mReaders;
    const Writers& mWriters;
    const std::vector<bool>& mTaken;  // of the piece's nodes: by other steps
    size_t mStages = 0;
};

}  // namespace

std::vector<FusedNodes> findFusions(const Graph& graph, const Piece& piece,
                                    const DeviceFacts& facts) {
    const PieceReaders readers(graph, piece);
    Writers writers;
    for (size_t i = 0; i < piece.nodes.size(); ++i) {
        for (const TensorId output : graph.node(piece.nodes[i]).outputs) {
            writers.emplace(output, i);
        }
    }
    std::vector<FusedNodes> fusions;
    std::vector<bool> taken(piece.nodes.size(), false);
    for (size_t i = 0; i < piece.nodes.size(); ++i) {
        if (taken[i] || !takesStages(graph.node(piece.nodes[i]))) {
            continue;
        }
        FusedNodes nodes = Follower(graph, piece, facts, readers, writers, taken).follow(i);
        for (const size_t node : nodes) {
            taken[node] = true;
        }
        if (nodes.size() > 1) {
            fusions.push_back(std::move(nodes));
        }
    }
    return fusions;
}

bool onlyMoves(const Node& node) {
    switch (node.kind()) {
        case NodeKind::Reshape:
        case NodeKind::Squeeze:
        case NodeKind::ExpandDims:
        case NodeKind::Transpose:
            return true;
        default:
            return false;
    }
}

size_t leaderOf(std::span<const LocalNode> nodes) {
    const auto found = std::ranges::find_if_not(
            nodes, [](const LocalNode& each) { return onlyMoves(*each.node); });
    return found == nodes.end() ? 0 : static_cast<size_t>(found - nodes.begin());
}

}  // namespace halyard::engine::gpu
