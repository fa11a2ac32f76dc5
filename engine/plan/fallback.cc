// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/fallback.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/partition.h"

namespace halyard::engine {
namespace {

// After so many rounds all partitions fall that can: each round cuts all graphs anew, and no graph
// that was not made for it takes more than a few.
constexpr size_t kPatience = 32;

struct CutGraph {
    const Graph* graph = nullptr;
    Assignment* assignment = nullptr;
};

// A partition, all of whose nodes can leave it.
struct LoosePartition {
    CutGraph in;
    std::vector<NodeId> nodes;
};

// Takes nodes from the backend that they have to the next.
class Mover {
  public:
    Mover(AnalyzedGraph& analyzed, const BackendList& backends)
        : mAnalyzed(analyzed), mBackends(backends), mNextOf(analyzed.placement.size()) {
        addGraphs(analyzed.graph, analyzed.assignment);
    }

    const std::vector<CutGraph>& graphs() const { return mGraphs; }

    // The backend that takes the node behind the one it has. Asked once for each that it has.
    std::optional<BackendIndex> nextOf(const CutGraph& in, NodeId node) {
        const size_t index = in.assignment->placementOf[node];
        Next& next = mNextOf[index];
        const BackendIndex current = in.assignment->backendOf[node];
        if (next.behind == current) {
            return next.backend;
        }
        next = {.behind = current, .backend = std::nullopt, .refusals = {}};
        for (BackendIndex i = current + 1; i < mBackends.size(); ++i) {
            if (!mAnalyzed.only.empty() && !mAnalyzed.only.contains(i)) {
                continue;
            }
            const Status answer = mBackends[i]->supports(*in.graph, node);
            if (answer.ok()) {
                next.backend = i;
                break;
            }
            next.refusals.push_back({.backend = std::string(mBackends[i]->name()),
                                     .reason = std::string(answer.message())});
        }
        return next.backend;
    }

    // To the one that nextOf() has found.
    void drop(const CutGraph& in, NodeId node, const std::string& reason) {
        const size_t index = in.assignment->placementOf[node];
        NodePlacement& placement = mAnalyzed.placement[index];
        Next& next = mNextOf[index];
        placement.refusals.push_back({.backend = placement.backend, .reason = reason});
        std::ranges::move(next.refusals, std::back_inserter(placement.refusals));
        placement.backend = mBackends[*next.backend]->name();
        in.assignment->backendOf[node] = *next.backend;
    }

  private:
    // NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
    void addGraphs(const Graph& graph, Assignment& assignment) {
        mGraphs.push_back({.graph = &graph, .assignment = &assignment});
        size_t nested = 0;
        for (const Node& node : graph.nodes()) {
            for (const NestedGraph* inside : nestedGraphs(node)) {
                addGraphs(*inside->graph, assignment.nested[nested++]);
            }
        }
    }

    struct Next {
        BackendIndex behind = kPlanner;  // what it was asked for
        std::optional<BackendIndex> backend;
        std::vector<NodePlacement::Refusal> refusals;
    };

    AnalyzedGraph& mAnalyzed;
    const BackendList& mBackends;
    std::vector<CutGraph> mGraphs;
    std::vector<Next> mNextOf;  // per placement
};

class Limiter {
  public:
    Limiter(AnalyzedGraph& analyzed, const BackendList& backends, const PlacementRules& rules)
        : mBackends(backends), mRules(rules), mMover(analyzed, backends) {}

    Status run(const Checkpoint& checkpoint) {
        size_t stalled = 0;  // rounds in a row that left as many partitions
        size_t before = 0;
        for (size_t round = 0;; ++round) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while the graph was cut into partitions"));
            size_t count = 0;
            std::vector<LoosePartition> loose = cut(count);
            const bool tooMany = mRules.maxPartitions > 0 && count > mRules.maxPartitions;
            const auto firstLarge =
                    std::ranges::stable_partition(loose, [&](const auto& partition) {
                        return partition.nodes.size() < mRules.minNodesPerPartition;
                    }).begin();
            size_t falling = static_cast<size_t>(firstLarge - loose.begin());
            std::string reason = "would run a partition of fewer than " +
                                 std::to_string(mRules.minNodesPerPartition) + " nodes";
            if (falling == 0 && tooMany) {
                stalled = count == before ? stalled + 1 : 0;
                before = count;
                falling = batch(count - mRules.maxPartitions, stalled, loose.size());
                std::ranges::stable_sort(
                        loose, {}, [](const auto& partition) { return partition.nodes.size(); });
                reason = "would run one of more than " + std::to_string(mRules.maxPartitions) +
                         " partitions";
            }
            if (falling == 0) {
                return {};
            }
            if (round >= kPatience) {
                falling = loose.size();
            }
            for (size_t i = 0; i < falling; ++i) {
                drop(loose[i], reason);
            }
        }
    }

  private:
    // A partition that goes may join the two beside it, so that half as many have to go. Where that
    // does not show, more go at once.
    static size_t batch(size_t excess, size_t stalled, size_t most) {
        const size_t least = (excess + 1) / 2;
        return std::min(most, stalled < kPatience ? least << std::min<size_t>(stalled, 20) : most);
    }

    std::vector<LoosePartition> cut(size_t& count) {
        std::vector<LoosePartition> loose;
        for (const CutGraph& in : mMover.graphs()) {
            for (AssignedPartition& assigned :
                 partitionGraph(*in.graph, in.assignment->backendOf, mBackends.size())) {
                if (assigned.backend == kPlanner) {
                    continue;
                }
                ++count;
                const bool canGo = std::ranges::all_of(assigned.partition.nodes, [&](NodeId node) {
                    return mMover.nextOf(in, node).has_value();
                });
                if (canGo) {
                    loose.push_back({.in = in, .nodes = std::move(assigned.partition.nodes)});
                }
            }
        }
        return loose;
    }

    void drop(const LoosePartition& partition, const std::string& reason) {
        for (const NodeId node : partition.nodes) {
            mMover.drop(partition.in, node, reason);
        }
    }

    const BackendList& mBackends;
    const PlacementRules& mRules;
    Mover mMover;
};

}  // namespace

Status applyPartitionLimits(AnalyzedGraph& analyzed, const BackendList& backends,
                            const PlacementRules& rules, const Checkpoint& checkpoint) {
    // Of nodes that nothing takes there are no partitions.
    if ((rules.maxPartitions == 0 && rules.minNodesPerPartition <= 1) || !analyzed.placed().ok()) {
        return {};
    }
    return Limiter(analyzed, backends, rules).run(checkpoint);
}

bool moveOn(AnalyzedGraph& analyzed, const BackendList& backends,
            std::span<const size_t> placements, const std::string& reason) {
    Mover mover(analyzed, backends);
    std::vector<std::pair<const CutGraph*, NodeId>> moving;
    for (const CutGraph& in : mover.graphs()) {
        for (NodeId node = 0; node < in.assignment->placementOf.size(); ++node) {
            if (!std::ranges::binary_search(placements, in.assignment->placementOf[node])) {
                continue;
            }
            if (!mover.nextOf(in, node).has_value()) {
                return false;
            }
            moving.emplace_back(&in, node);
        }
    }
    for (const auto& [in, node] : moving) {
        mover.drop(*in, node, reason);
    }
    return true;
}

}  // namespace halyard::engine
