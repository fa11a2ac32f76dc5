// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/assignment.h"

#include <utility>

#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

class Assigner {
  public:
    explicit Assigner(const BackendList& backends) : mBackends(backends) {}

    // `outer`: the node that holds the graph, null for the outermost.
    Assignment assign(const Graph& graph, const NodePlacement* outer) {
        Assignment assignment;
        assignment.backendOf.reserve(graph.nodes().size());
        assignment.placementOf.reserve(graph.nodes().size());
        for (NodeId id = 0; id < graph.nodes().size(); ++id) {
            assignment.placementOf.push_back(mPlacement.size());
            assignment.backendOf.push_back(place(graph, id, outer));
            const std::vector<const NestedGraph*> nested = nestedGraphs(graph.node(id));
            if (nested.empty()) {
                continue;
            }
            const NodePlacement holder = mPlacement[assignment.placementOf.back()];
            for (const NestedGraph* inside : nested) {
                assignment.nested.push_back(assign(*inside->graph, &holder));
            }
        }
        return assignment;
    }

    std::vector<NodePlacement> takePlacement() { return std::move(mPlacement); }

  private:
    BackendIndex place(const Graph& graph, NodeId id, const NodePlacement* outer) {
        const Node& node = graph.node(id);
        NodePlacement& placement = mPlacement.emplace_back();
        placement.label = outer == nullptr ? node.label : outer->label + ": " + node.label;
        placement.kind = toString(node.kind());
        placement.sources = outer == nullptr ? node.sources : outer->sources;
        if (!nestedGraphs(node).empty()) {
            placement.backend = kPlannerName;
            return kPlanner;
        }
        for (BackendIndex i = 0; i < mBackends.size(); ++i) {
            const Status answer = mBackends[i]->supports(graph, id);
            if (answer.ok()) {
                placement.backend = mBackends[i]->name();
                return i;
            }
            placement.refusals.push_back({.backend = std::string(mBackends[i]->name()),
                                          .reason = std::string(answer.message())});
        }
        return mBackends.size();
    }

    const BackendList& mBackends;
    std::vector<NodePlacement> mPlacement;
};

}  // namespace

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
        return unsupported(std::move(message));
    }
    return {};
}

Result<AnalyzedGraph> analyze(Graph graph, const BackendList& backends, ConstantCopies& copies,
                              const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(verifyAndInfer(graph, copies, checkpoint));
    AnalyzedGraph analyzed;
    Assigner assigner(backends);
    analyzed.assignment = assigner.assign(graph, nullptr);
    analyzed.placement = assigner.takePlacement();
    analyzed.graph = std::move(graph);
    return analyzed;
}

Result<AnalyzedGraph> analyze(Graph graph, const BackendList& backends,
                              const std::shared_ptr<Budget>& memory, const Checkpoint& checkpoint) {
    ConstantCopies copies(memory, checkpoint);
    return analyze(std::move(graph), backends, copies, checkpoint);
}

}  // namespace halyard::engine
