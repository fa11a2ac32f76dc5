// SPDX-License-Identifier: Apache-2.0
//
// Passes: each applies a rule to every node of a graph, and of the graphs inside.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/rewriter.h"
#include "engine/graph/shape_inference.h"
#include "engine/passes/optimize_options.h"

namespace halyard::engine {

// Resources that a pass may use. Outlives it.
struct PassContext {
    const OptimizeOptions& options;
    std::shared_ptr<Budget> memory;  // null: not limited
    Checkpoint checkpoint;
    // Bytes that all new constants with elements of old ones may still take.
    mutable size_t allowance = 0;
};

// Changes a verified graph in place; says whether it did. The result is verified afterwards.
struct Pass {
    std::string_view name;
    Result<bool> (*run)(Graph& graph, const PassContext& context);
    bool changesRounding = false;  // of float results
};

// Runs the pass; a failure that is a defect names it.
Result<bool> runPass(const Pass& pass, Graph& graph, const PassContext& context);

// Rules derive from this. One per graph, made before its first node is looked at. "Old" and "new"
// are as in the rewriter.
class Rule {
  public:
    Rule(GraphRewriter& rewriter, const PassContext& context);

    bool changed() const { return mChanged; }

  protected:
    GraphRewriter& rewriter() { return mRewriter; }
    const GraphRewriter& rewriter() const { return mRewriter; }
    const Graph& from() const { return mRewriter.from(); }
    const Graph& to() const { return mRewriter.to(); }
    const Uses& uses() const { return mRewriter.uses(); }
    const PassContext& context() const { return mContext; }
    const TensorType& typeOf(TensorId old) const { return from().tensor(old).type; }

    // To be called for whatever makes the new graph differ from the old one.
    void markChanged() { mChanged = true; }
    // Whether the new node has legal inputs, whose shapes give its outputs' without contradiction.
    bool accepts(const Node& node) const;
    // Whether the new tensor may be read in the place of the old one: it has the same type, all
    // extents known, and where the old one is an output of the graph some node computes the new
    // one: a graph that hands on an input or a constant would have to copy it anyway.
    bool canStandFor(TensorId replacement, TensorId old) const;
    // A new constant in memory that is reserved. RESOURCE_EXHAUSTED.
    Result<TensorId> addConstant(TensorType type, std::span<const uint8_t> bytes);
    Result<TensorId> addConstant(TensorType type, AlignedBuffer bytes);
    Result<TensorId> addInts(std::span<const int32_t> elements);
    // The same text for each operation that the old node stems from.
    void explain(const Node& node, const std::string& fate);

  private:
    GraphRewriter& mRewriter;
    const PassContext& mContext;
    std::unordered_set<TensorId> mNewInputs;
    bool mChanged = false;
};

// The input as inference sees it: its type, and its bytes where it is a constant.
KnownInput knownInput(const Graph& graph, TensorId id);

// "operation 3" or, of several, "operations 3, 4".
std::string nameOperations(const Node& node);

// Asks the checkpoint every so many nodes.
class NodeCount {
  public:
    explicit NodeCount(const Checkpoint& checkpoint) : mCheckpoint(checkpoint) {}
    Status next() {
        constexpr size_t kNodesPerCheck = 256;
        return mCount++ % kNodesPerCheck == 0 ? mCheckpoint.check("while the graph was optimised")
                                              : Status();
    }

  private:
    const Checkpoint& mCheckpoint;
    size_t mCount = 0;
};

// Rewrites the graph and those inside by `SomeRule`, whose apply(NodeId) is a RewriteRule's answer.
template <typename SomeRule>
Result<bool> applyRule(Graph& graph, const PassContext& context) {
    std::optional<SomeRule> rule;
    NodeCount count(context.checkpoint);
    bool changed = false;
    Result<Graph> rewritten = rewrite(
            graph,
            [&](GraphRewriter& /*rewriter*/, NodeId id) -> Result<bool> {
                HALYARD_RETURN_IF_ERROR(count.next());
                Result<bool> done = rule->apply(id);
                changed = changed || rule->changed();
                return done;
            },
            [&](GraphRewriter& rewriter) { rule.emplace(rewriter, context); });
    HALYARD_RETURN_IF_ERROR(rewritten.status());
    if (changed) {
        graph = std::move(*rewritten);
    }
    return changed;
}

}  // namespace halyard::engine
