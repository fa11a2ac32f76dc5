// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/rewriter.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace halyard::engine {
namespace {

// The operations that nodes stem from, ascending.
std::vector<uint32_t> sourcesOf(const Graph& graph) {
    std::vector<uint32_t> all;
    for (const Node& node : graph.nodes()) {
        all.insert(all.end(), node.sources.begin(), node.sources.end());
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

bool holdsGraphs(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(),
                               [](const Node& node) { return !nestedGraphs(node).empty(); });
}

}  // namespace

std::vector<uint32_t> unionOf(std::span<const uint32_t> a, std::span<const uint32_t> b) {
    std::vector<uint32_t> both;
    both.reserve(a.size() + b.size());
    std::ranges::set_union(a, b, std::back_inserter(both));
    return both;
}

GraphRewriter::GraphRewriter(const Graph& from)
    : mFrom(from),
      mUses(from),
      mTensors(from.tensors().size(), kNoTensor),
      mFates(from.vanished().begin(), from.vanished().end()) {
    mTo.setRelaxedFloat(from.relaxedFloat());
    mTo.reserve(from.tensors().size(), from.nodes().size());
    for (size_t i = 0; i < mFates.size(); ++i) {
        mFateOf[mFates[i].operation] = i;
    }
}

TensorId GraphRewriter::tensor(TensorId old) {
    if (old == kNoTensor) {
        return kNoTensor;
    }
    if (mTensors[old] == kNoTensor) {
        const Tensor& tensor = mFrom.tensor(old);
        mTensors[old] = mTo.addTensor(tensor.type, tensor.name);
        if (tensor.isConstant()) {
            mTo.replaceConstant(mTensors[old], tensor.constant);
        }
    }
    return mTensors[old];
}

void GraphRewriter::copy(NodeId old) {
    Node node = mFrom.node(old);
    for (TensorId& input : node.inputs) {
        input = tensor(input);
    }
    for (TensorId& output : node.outputs) {
        output = tensor(output);
    }
    mTo.addNode(std::move(node));
}

void GraphRewriter::explain(uint32_t operation, std::string fate) {
    const auto [known, isNew] = mFateOf.try_emplace(operation, mFates.size());
    if (isNew) {
        mFates.push_back({.operation = operation, .fate = std::move(fate)});
    } else {
        mFates[known->second].fate = std::move(fate);
    }
}

Graph GraphRewriter::finish() {
    std::vector<TensorId> inputs;
    for (const TensorId input : mFrom.inputs()) {
        inputs.push_back(tensor(input));
    }
    std::vector<TensorId> outputs;
    for (const TensorId output : mFrom.outputs()) {
        outputs.push_back(tensor(output));
        if (const std::string& name = mFrom.tensor(output).name; !name.empty()) {
            mTo.setName(outputs.back(), name);
        }
    }
    mTo.setInputs(std::move(inputs));
    mTo.setOutputs(std::move(outputs));

    const std::vector<uint32_t> left = sourcesOf(mTo);
    const auto isLeft = [&](uint32_t operation) {
        return std::ranges::binary_search(left, operation);
    };
    for (const uint32_t operation : sourcesOf(mFrom)) {
        if (!isLeft(operation) && !mFateOf.contains(operation)) {
            explain(operation, "removed");
        }
    }
    for (VanishedOperation& known : mFates) {
        if (!isLeft(known.operation)) {
            mTo.addVanished(std::move(known));
        }
    }
    return std::move(mTo);
}

namespace {

// The graphs inside are as they will be: rules see them so.
Result<Graph> rewriteNodes(const Graph& graph, const RewriteRule& rule,
                           const std::function<void(GraphRewriter&)>& begin) {
    GraphRewriter rewriter(graph);
    if (begin) {
        begin(rewriter);
    }
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
        HALYARD_ASSIGN_OR_RETURN(const bool done, rule(rewriter, id));
        if (!done) {
            rewriter.copy(id);
        }
    }
    return rewriter.finish();
}

}  // namespace

Result<Graph> rewrite(const Graph& graph, const RewriteRule& rule,
                      const std::function<void(GraphRewriter&)>& begin) {
    if (!holdsGraphs(graph)) {
        return rewriteNodes(graph, rule, begin);
    }
    Graph inner = graph;
    for (NodeId id = 0; id < inner.nodes().size(); ++id) {
        for (NestedGraph* nested : nestedGraphs(inner.mutableNode(id))) {
            HALYARD_ASSIGN_OR_RETURN(Graph rewritten, rewrite(*nested->graph, rule, begin));
            nested->graph = std::make_shared<const Graph>(std::move(rewritten));
        }
    }
    return rewriteNodes(inner, rule, begin);
}

}  // namespace halyard::engine
