// SPDX-License-Identifier: Apache-2.0
//
// Rewriting a graph: a pass goes through the nodes of the old graph in order and says of each what
// becomes of it in the new one: a copy, other nodes, or nothing. Tensors follow by a map from old
// to new, graphs inside are rewritten by the same rule, and no operation gets lost: a node says
// which operations it stems from, and an operation that left none, what became of it.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/uses.h"

namespace halyard::engine {

// The operations in either list, ascending; both are.
std::vector<uint32_t> unionOf(std::span<const uint32_t> a, std::span<const uint32_t> b);

// The new graph under construction. Old tensors and nodes are those of `from`, which outlives it.
class GraphRewriter {
  public:
    explicit GraphRewriter(const Graph& from);

    const Graph& from() const { return mFrom; }
    const Uses& uses() const { return mUses; }
    const Graph& to() const { return mTo; }

    // The new tensor that stands for an old one: a copy, unless told otherwise. kNoTensor stays.
    TensorId tensor(TensorId old);
    // From now on `replacement`, a new tensor, stands for the old one.
    void replace(TensorId old, TensorId replacement) { mTensors[old] = replacement; }

    // Copies an old node, with the new tensors in place of the old.
    void copy(NodeId old);
    // Adds a node of new tensors. Its sources are the caller's to unite.
    void add(Node node) { mTo.addNode(std::move(node)); }
    TensorId addTensor(TensorType type) { return mTo.addTensor(std::move(type)); }
    Result<TensorId> addConstant(TensorType type, ConstantData data) {
        return mTo.addConstant(std::move(type), std::move(data));
    }
    // Says what becomes of an operation, should no node stem from it in the end.
    void explain(uint32_t operation, std::string fate);

    // The new graph, with the old one's inputs and outputs. An operation that has vanished without
    // an explanation was "removed".
    Graph finish();

  private:
    const Graph& mFrom;
    const Uses mUses;
    Graph mTo;
    std::vector<TensorId> mTensors;  // per old tensor; kNoTensor: none yet
    std::vector<VanishedOperation> mFates;
    std::unordered_map<uint32_t, size_t> mFateOf;  // by operation: its index in mFates
};

// A pass's rule for one old node: true if it has dealt with it, false to have it copied. Nodes come
// in order; a rule that takes several at once returns true for each.
using RewriteRule = std::function<Result<bool>(GraphRewriter& rewriter, NodeId node)>;

// The graph with the rule applied to every node, and to those of graphs inside first (with
// rewriters of their own). `begin`, if there is one, is called with each graph's rewriter before
// its first node. Fails where the rule does.
Result<Graph> rewrite(const Graph& graph, const RewriteRule& rule,
                      const std::function<void(GraphRewriter&)>& begin = nullptr);

}  // namespace halyard::engine
