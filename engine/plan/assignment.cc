// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/program.h"

namespace halyard::engine {

std::vector<NodePlacement> assignBackends(const Graph& graph, const BackendList& backends) {
    std::vector<NodePlacement> placements;
    placements.reserve(graph.nodes().size());
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
        const Node& node = graph.node(id);
        NodePlacement& placement = placements.emplace_back();
        placement.label = node.label;
        placement.kind = toString(node.kind());
        placement.source = node.source;
        for (const Backend* backend : backends) {
            const Status answer = backend->supports(graph, id);
            if (answer.ok()) {
                placement.backend = backend->name();
                break;
            }
            placement.refusals.push_back({.backend = std::string(backend->name()),
                                          .reason = std::string(answer.message())});
        }
    }
    return placements;
}

}  // namespace halyard::engine
