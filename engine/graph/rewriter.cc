// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/rewriter.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

namespace halyard::engine {

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

    std::set<uint32_t> left;
    for (const Node& node : mTo.nodes()) {
        left.insert(node.sources.begin(), node.sources.end());
    }
    std::set<uint32_t> vanished;
    for (const Node& node : mFrom.nodes()) {
        vanished.insert(node.sources.begin(), node.sources.end());
    }
    for (VanishedOperation& known : mFates) {
        vanished.erase(known.operation);
        if (!left.contains(known.operation)) {
            mTo.addVanished(std::move(known));
        }
    }
    for (const uint32_t operation : vanished) {
        if (!left.contains(operation)) {
            mTo.addVanished({.operation = operation, .fate = "removed"});
        }
    }
    return std::move(mTo);
}

Result<Graph> rewrite(const Graph& graph, const RewriteRule& rule,
                      const std::function<void(GraphRewriter&)>& begin) {
    // Rules see the graphs inside as they will be.
    Graph inner = graph;
    for (NodeId id = 0; id < inner.nodes().size(); ++id) {
        for (NestedGraph* nested : nestedGraphs(inner.mutableNode(id))) {
            HALYARD_ASSIGN_OR_RETURN(Graph rewritten, rewrite(*nested->graph, rule, begin));
            nested->graph = std::make_shared<const Graph>(std::move(rewritten));
        }
    }
    GraphRewriter rewriter(inner);
    if (begin) {
        begin(rewriter);
    }
    for (NodeId id = 0; id < inner.nodes().size(); ++id) {
        HALYARD_ASSIGN_OR_RETURN(const bool done, rule(rewriter, id));
        if (!done) {
            rewriter.copy(id);
        }
    }
    return rewriter.finish();
}

}  // namespace halyard::engine
