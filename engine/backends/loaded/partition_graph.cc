// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/loaded/partition_graph.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace halyard::engine {
namespace {

// Copies tensors when they are first asked for.
class Extraction {
  public:
    Extraction(const Graph& from, Graph& to) : mFrom(from), mTo(to) {}

    Result<TensorId> tensor(TensorId old) {
        if (old == kNoTensor) {
            return kNoTensor;
        }
        if (const auto found = mNew.find(old); found != mNew.end()) {
            return found->second;
        }
        const Tensor& tensor = mFrom.tensor(old);
        TensorId made = kNoTensor;
        if (tensor.isPackedAway()) {
            return invalidArgument("the elements of constant " + std::to_string(old) +
                                   " were packed away by another backend");
        }
        if (tensor.isConstant()) {
            HALYARD_ASSIGN_OR_RETURN(made, mTo.addConstant(tensor.type, tensor.constant));
        } else {
            made = mTo.addTensor(tensor.type);
        }
        mNew.emplace(old, made);
        return made;
    }

    Result<std::vector<TensorId>> tensors(const std::vector<TensorId>& old) {
        std::vector<TensorId> made;
        made.reserve(old.size());
        for (const TensorId id : old) {
            HALYARD_ASSIGN_OR_RETURN(made.emplace_back(), tensor(id));
        }
        return made;
    }

  private:
    const Graph& mFrom;
    Graph& mTo;
    std::unordered_map<TensorId, TensorId> mNew;
};

}  // namespace

Result<Graph> partitionGraph(const Graph& graph, const Partition& partition) {
    Graph cut;
    Extraction extraction(graph, cut);
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs, extraction.tensors(partition.inputs));
    cut.setInputs(std::move(inputs));
    for (const NodeId id : partition.nodes) {
        Node node = graph.node(id);
        HALYARD_ASSIGN_OR_RETURN(node.inputs, extraction.tensors(node.inputs));
        HALYARD_ASSIGN_OR_RETURN(node.outputs, extraction.tensors(node.outputs));
        cut.addNode(std::move(node));
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> outputs, extraction.tensors(partition.outputs));
    cut.setOutputs(std::move(outputs));
    cut.setRelaxedFloat(graph.relaxedFloat());
    return cut;
}

Partition partitionOf(const Graph& graph, NodeId node) {
    Partition partition = {.nodes = {node}, .inputs = {}, .outputs = graph.node(node).outputs};
    for (const TensorId input : graph.node(node).inputs) {
        if (input != kNoTensor && !graph.tensor(input).isConstant() &&
            std::ranges::find(partition.inputs, input) == partition.inputs.end()) {
            partition.inputs.push_back(input);
        }
    }
    return partition;
}

}  // namespace halyard::engine
