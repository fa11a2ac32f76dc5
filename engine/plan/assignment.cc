// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/assignment.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/graph/verifier.h"
#include "engine/plan/fallback.h"

namespace halyard::engine {
namespace {

class Assigner {
  public:
    Assigner(const BackendList& backends, const PlacementRules& rules)
        : mBackends(backends), mRules(rules) {}

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
        const std::optional<BackendIndex> hint = hintFor(placement.sources);
        if (hint.has_value() && ask(graph, id, *hint, placement)) {
            return *hint;
        }
        for (BackendIndex i = 0; i < mBackends.size(); ++i) {
            if (i != hint && ask(graph, id, i, placement)) {
                return i;
            }
        }
        return mBackends.size();
    }

    std::optional<BackendIndex> hintFor(const std::vector<uint32_t>& operations) const {
        std::optional<BackendIndex> hint;
        for (size_t i = 0; mRules.hintFor != nullptr && i < operations.size() && !hint; ++i) {
            hint = mRules.hintFor(operations[i]);
        }
        return hint;
    }

    bool ask(const Graph& graph, NodeId id, BackendIndex index, NodePlacement& placement) const {
        const Backend& backend = *mBackends[index];
        const bool allowed = mRules.only.empty() || mRules.only.contains(index);
        const Status answer = allowed ? backend.supports(graph, id)
                                      : unsupported("may run nothing: another one is required");
        if (answer.ok()) {
            placement.backend = backend.name();
            return true;
        }
        placement.refusals.push_back(
                {.backend = std::string(backend.name()), .reason = std::string(answer.message())});
        return false;
    }

    const BackendList& mBackends;
    const PlacementRules& mRules;
    std::vector<NodePlacement> mPlacement;
};

}  // namespace

Result<AnalyzedGraph> analyze(Graph graph, const BackendList& backends, ConstantCopies& copies,
                              const Checkpoint& checkpoint, const PlacementRules& rules) {
    HALYARD_RETURN_IF_ERROR(verifyAndInfer(graph, copies, checkpoint));
    AnalyzedGraph analyzed;
    Assigner assigner(backends, rules);
    analyzed.assignment = assigner.assign(graph, nullptr);
    analyzed.placement = assigner.takePlacement();
    analyzed.graph = std::move(graph);
    analyzed.only = rules.only;
    HALYARD_RETURN_IF_ERROR(applyPartitionLimits(analyzed, backends, rules, checkpoint));
    return analyzed;
}

Result<AnalyzedGraph> analyze(Graph graph, const BackendList& backends,
                              const std::shared_ptr<Budget>& memory, const Checkpoint& checkpoint,
                              const PlacementRules& rules) {
    ConstantCopies copies(memory, checkpoint);
    return analyze(std::move(graph), backends, copies, checkpoint, rules);
}

}  // namespace halyard::engine
