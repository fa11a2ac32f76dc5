// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/launches/step_leader.h"

#include <algorithm>

namespace halyard::engine::gpu {

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
