// SPDX-License-Identifier: Apache-2.0
//
// Uses: who reads each tensor of a graph, and who writes it. Of one graph, as it was.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/graph.h"

namespace halyard::engine {

struct Use {
    NodeId node = 0;
    size_t input = 0;  // position among the node's inputs

    bool operator==(const Use&) const = default;
};

// Takes time and memory linear in the size of the graph, which is valid.
class Uses {
  public:
    explicit Uses(const Graph& graph);

    // The inputs of nodes that read the tensor, in the order of the nodes.
    std::span<const Use> of(TensorId tensor) const {
        return std::span(mUses).subspan(mFirst[tensor], mFirst[tensor + 1] - mFirst[tensor]);
    }
    bool isGraphOutput(TensorId tensor) const { return mIsOutput[tensor]; }
    // The node that writes it; none for graph inputs and constants.
    std::optional<NodeId> writer(TensorId tensor) const { return mWriter[tensor]; }
    // The one input that reads the tensor, if nothing else does, not even the caller.
    std::optional<Use> onlyUse(TensorId tensor) const;

  private:
    std::vector<size_t> mFirst;  // per tensor, and the end: its first in mUses
    std::vector<Use> mUses;
    std::vector<bool> mIsOutput;
    std::vector<std::optional<NodeId>> mWriter;
};

}  // namespace halyard::engine
