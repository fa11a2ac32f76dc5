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

// After so many rounds all pieces fall that can: each round cuts all graphs anew, and no graph that
// was not made for it takes more than a few.
constexpr size_t kPatience = 32;

struct CutGraph {
    const Graph* graph = nullptr;
    Assignment* assignment = nullptr;
};

// A piece, all of whose nodes can leave it.
struct LoosePiece {
    CutGraph in;
    BackendIndex backend = 0;
    std::vector<NodeId> nodes;
};

class Limiter {
  public:
    Limiter(AnalyzedGraph& analyzed, const BackendList& backends, const PlacementRules& rules)
        : mAnalyzed(analyzed), mBackends(backends), mRules(rules) {
        addGraphs(analyzed.graph, analyzed.assignment);
        mNextOf.resize(analyzed.placement.size());
    }

    Status run(const Checkpoint& checkpoint) {
        size_t stalled = 0;  // rounds in a row that left as many pieces
        size_t before = 0;
        for (size_t round = 0;; ++round) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while the graph was cut into pieces"));
            size_t count = 0;
            std::vector<LoosePiece> loose = cut(count);
            const bool tooMany = mRules.maxPieces > 0 && count > mRules.maxPieces;
            const auto firstLarge = std::ranges::stable_partition(loose, [&](const auto& piece) {
                                        return piece.nodes.size() < mRules.minNodesPerPiece;
                                    }).begin();
            size_t falling = static_cast<size_t>(firstLarge - loose.begin());
            std::string reason = "would run a piece of fewer than " +
                                 std::to_string(mRules.minNodesPerPiece) + " nodes";
            if (falling == 0 && tooMany) {
                stalled = count == before ? stalled + 1 : 0;
                before = count;
                falling = batch(count - mRules.maxPieces, stalled, loose.size());
                std::ranges::stable_sort(loose, {},
                                         [](const auto& piece) { return piece.nodes.size(); });
                reason = "would run one of more than " + std::to_string(mRules.maxPieces) +
                         " pieces";
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

    // A piece that goes may join the two beside it, so that half as many have to go. Where that
    // does not show, more go at once.
    static size_t batch(size_t excess, size_t stalled, size_t most) {
        const size_t least = (excess + 1) / 2;
        return std::min(most, stalled < kPatience ? least << std::min<size_t>(stalled, 20) : most);
    }

    std::vector<LoosePiece> cut(size_t& count) {
        std::vector<LoosePiece> loose;
        for (const CutGraph& in : mGraphs) {
            for (AssignedPiece& assigned :
                 partition(*in.graph, in.assignment->backendOf, mBackends.size())) {
                if (assigned.backend == kPlanner) {
                    continue;
                }
                ++count;
                const bool canGo = std::ranges::all_of(assigned.piece.nodes, [&](NodeId node) {
                    return nextOf(in, node).has_value();
                });
                if (canGo) {
                    loose.push_back({.in = in,
                                     .backend = assigned.backend,
                                     .nodes = std::move(assigned.piece.nodes)});
                }
            }
        }
        return loose;
    }

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
            if (!mRules.only.empty() && !mRules.only.contains(i)) {
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

    void drop(const LoosePiece& piece, const std::string& reason) {
        for (const NodeId node : piece.nodes) {
            const size_t index = piece.in.assignment->placementOf[node];
            NodePlacement& placement = mAnalyzed.placement[index];
            Next& next = mNextOf[index];
            placement.refusals.push_back(
                    {.backend = std::string(mBackends[piece.backend]->name()), .reason = reason});
            std::ranges::move(next.refusals, std::back_inserter(placement.refusals));
            placement.backend = mBackends[*next.backend]->name();
            piece.in.assignment->backendOf[node] = *next.backend;
        }
    }

    struct Next {
        BackendIndex behind = kPlanner;  // what it was asked for
        std::optional<BackendIndex> backend;
        std::vector<NodePlacement::Refusal> refusals;
    };

    AnalyzedGraph& mAnalyzed;
    const BackendList& mBackends;
    const PlacementRules& mRules;
    std::vector<CutGraph> mGraphs;
    std::vector<Next> mNextOf;  // per placement
};

}  // namespace

Status applyPieceLimits(AnalyzedGraph& analyzed, const BackendList& backends,
                        const PlacementRules& rules, const Checkpoint& checkpoint) {
    // Of nodes that nothing takes there are no pieces.
    if ((rules.maxPieces == 0 && rules.minNodesPerPiece <= 1) || !analyzed.placed().ok()) {
        return {};
    }
    return Limiter(analyzed, backends, rules).run(checkpoint);
}

}  // namespace halyard::engine
