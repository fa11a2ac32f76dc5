// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/fusion.h"

#include <cstddef>
#include <optional>
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

// Follows what becomes of a node's result.
class Follower {
  public:
    Follower(const Graph& graph, const Piece& piece, const DeviceFacts& facts,
             const PieceReaders& readers, const std::vector<bool>& taken)
        : mGraph(graph), mPiece(piece), mFacts(facts), mReaders(readers), mTaken(taken) {}

    FusedNodes follow(size_t first) {
        FusedNodes nodes = {first};
        while (takeStage(nodes)) {
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
    const std::vector<bool>& mTaken;  // of the piece's nodes: by other steps
    size_t mStages = 0;
};

}  // namespace

std::vector<FusedNodes> findFusions(const Graph& graph, const Piece& piece,
                                    const DeviceFacts& facts) {
    const PieceReaders readers(graph, piece);
    std::vector<FusedNodes> fusions;
    std::vector<bool> taken(piece.nodes.size(), false);
    for (size_t i = 0; i < piece.nodes.size(); ++i) {
        if (taken[i] || !takesStages(graph.node(piece.nodes[i]))) {
            continue;
        }
        FusedNodes nodes = Follower(graph, piece, facts, readers, taken).follow(i);
        for (const size_t node : nodes) {
            taken[node] = true;
        }
        if (nodes.size() > 1) {
            fusions.push_back(std::move(nodes));
        }
    }
    return fusions;
}

}  // namespace halyard::engine::gpu
