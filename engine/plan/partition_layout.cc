// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/partition_layout.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace halyard::engine {
namespace {

class LayoutBuilder {
  public:
    explicit LayoutBuilder(std::shared_ptr<const Graph> graph) { mLayout.graph = std::move(graph); }

    Result<PartitionLayout> build(const Partition& partition, std::span<const FusedNodes> fused) {
        for (size_t i = 0; i < partition.inputs.size(); ++i) {
            mLayout.inputs.push_back(add(
                    {.id = partition.inputs[i], .role = LocalTensor::Role::INPUT, .position = i}));
        }
        std::vector<const FusedNodes*> fusedOf(partition.nodes.size(), nullptr);
        for (const FusedNodes& nodes : fused) {
            for (const size_t node : nodes) {
                fusedOf[node] = &nodes;
            }
        }
        mLayout.stepOf.resize(partition.nodes.size());
        for (size_t i = 0; i < partition.nodes.size(); ++i) {
            const FusedNodes alone = {i};
            const FusedNodes& nodes = fusedOf[i] == nullptr ? alone : *fusedOf[i];
            if (std::ranges::max(nodes) != i) {
                continue;
            }
            mInside.clear();
            for (const size_t node : nodes) {
                const Node& reader = mLayout.graph->node(partition.nodes[node]);
                mInside.insert(reader.inputs.begin(), reader.inputs.end());
            }
            const size_t step = mLayout.steps.size();
            mLayout.steps.emplace_back();
            for (const size_t node : nodes) {
                mLayout.stepOf[node] = step;
                HALYARD_RETURN_IF_ERROR(addNode(mLayout.graph->node(partition.nodes[node])));
            }
            finishStep();
        }
        for (size_t i = 0; i < partition.outputs.size(); ++i) {
            const auto found = mLocals.find(partition.outputs[i]);
            if (found == mLocals.end()) {
                return internalError("the partition does not write its output " +
                                     std::to_string(i));
            }
            LocalTensor& tensor = mLayout.tensors[found->second];
            if (tensor.role == LocalTensor::Role::INSIDE) {
                return internalError("a step keeps an output of the partition to itself");
            }
            tensor.role = LocalTensor::Role::OUTPUT;
            tensor.position = i;
            mLayout.outputs.push_back(found->second);
        }
        return std::move(mLayout);
    }

  private:
    LocalId add(LocalTensor tensor) {
        const LocalId local = mLayout.tensors.size();
        mLocals.emplace(tensor.id, local);
        mLayout.tensors.push_back(tensor);
        return local;
    }

    // To the last step.
    Status addNode(const Node& node) {
        const size_t index = mLayout.steps.size() - 1;
        LocalStep& step = mLayout.steps.back();
        LocalNode& local = step.nodes.emplace_back();
        local.node = &node;
        for (const TensorId id : node.inputs) {
            if (id == kNoTensor) {
                local.inputs.push_back(kNoLocal);
                step.inputs.push_back(kNoLocal);
                continue;
            }
            auto found = mLocals.find(id);
            if (found == mLocals.end()) {
                if (!mLayout.graph->tensor(id).isConstant()) {
                    return internalError(node.label + " reads tensor " + std::to_string(id) +
                                         ", which is not an input of its partition");
                }
                add({.id = id, .role = LocalTensor::Role::CONSTANT});
                found = mLocals.find(id);
            }
            LocalTensor& tensor = mLayout.tensors[found->second];
            local.inputs.push_back(found->second);
            if (tensor.role != LocalTensor::Role::INSIDE) {
                step.inputs.push_back(found->second);
            } else if (tensor.firstStep != index) {
                return internalError(node.label + " reads what a step keeps to itself");
            }
            tensor.lastStep = index;
        }
        for (const TensorId id : node.outputs) {
            const bool isInside = mInside.contains(id);
            local.outputs.push_back(
                    add({.id = id,
                         .role = isInside ? LocalTensor::Role::INSIDE : LocalTensor::Role::INTERNAL,
                         .firstStep = index,
                         .lastStep = index}));
            (isInside ? step.inside : step.outputs).push_back(local.outputs.back());
        }
        return {};
    }

    void finishStep() {
        LocalStep& step = mLayout.steps.back();
        for (size_t i = 1; i < step.nodes.size(); ++i) {
            step.others.push_back(step.nodes[i].node);
        }
        mLayout.mostInputs = std::max(mLayout.mostInputs, step.inputs.size());
        mLayout.mostOutputs = std::max(mLayout.mostOutputs, step.outputs.size());
    }

    PartitionLayout mLayout;
    std::unordered_map<TensorId, LocalId> mLocals;
    std::unordered_set<TensorId> mInside;  // what nodes of the last step read
};

}  // namespace

Result<PartitionLayout> layOut(std::shared_ptr<const Graph> graph, const Partition& partition,
                               std::span<const FusedNodes> fused) {
    return LayoutBuilder(std::move(graph)).build(partition, fused);
}

}  // namespace halyard::engine
