// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/uses.h"

namespace halyard::engine {

Uses::Uses(const Graph& graph)
    : mFirst(graph.tensors().size() + 1, 0),
      mIsOutput(graph.tensors().size(), false),
      mWriter(graph.tensors().size()) {
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
        for (const TensorId input : graph.node(id).inputs) {
            if (input != kNoTensor) {
                ++mFirst[input + 1];
            }
        }
        for (const TensorId output : graph.node(id).outputs) {
            mWriter[output] = id;
        }
    }
    for (size_t i = 1; i < mFirst.size(); ++i) {
        mFirst[i] += mFirst[i - 1];
    }
    mUses.resize(mFirst.back());
    std::vector<size_t> next(mFirst.begin(), mFirst.end() - 1);
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
        const std::vector<TensorId>& inputs = graph.node(id).inputs;
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (inputs[i] != kNoTensor) {
                mUses[next[inputs[i]]++] = {.node = id, .input = i};
            }
        }
    }
    for (const TensorId output : graph.outputs()) {
        mIsOutput[output] = true;
    }
}

std::optional<Use> Uses::onlyUse(TensorId tensor) const {
    const std::span<const Use> uses = of(tensor);
    return uses.size() == 1 && !mIsOutput[tensor] ? std::optional(uses.front()) : std::nullopt;
}

}  // namespace halyard::engine
