// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/placement.h"

#include <utility>

namespace halyard::engine {

Status AnalyzedGraph::placed() const {
    for (const NodePlacement& node : placement) {
        if (!node.backend.empty()) {
            continue;
        }
        std::string message = node.label + ": no backend takes this " + node.kind;
        const char* separator = ": ";
        for (const NodePlacement::Refusal& refusal : node.refusals) {
            message.append(separator).append(refusal.backend).append(" ").append(refusal.reason);
            separator = "; ";
        }
        const Status refused = unsupported(std::move(message));
        return node.sources.empty() ? refused : refused.atOperation(node.sources.front());
    }
    return {};
}

}  // namespace halyard::engine
