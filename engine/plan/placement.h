// SPDX-License-Identifier: Apache-2.0
//
// Where the nodes of a graph run: what users ask for, what was decided (assignment.h, fallback.h),
// and what is told of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Backends in order of preference, the catch-all last. The backends outlive the programs.
using BackendList = std::vector<const Backend*>;

// Index into a BackendList.
using BackendIndex = size_t;
// If and While run in the planner.
inline constexpr BackendIndex kPlanner = std::numeric_limits<BackendIndex>::max();
inline constexpr std::string_view kPlannerName = "planner";

// Where one node went, and what the backends preferred over it said.
struct NodePlacement {
    std::string label;  // Node::label; of a node in a graph inside, behind its outer node's
    std::string kind;   // "Conv2d"
    std::vector<uint32_t> sources;  // Node::sources; of the outermost node
    std::string backend;            // empty: no backend takes the node; kPlannerName: If and While
    size_t partition = 0;   // index of the partition the node runs in; 0 until Program::build
    std::string kernel;     // what computes it, as its backend says; empty until Program::build
    std::string lostForms;  // and what could have, with why it does not
    struct Refusal {
        std::string backend;
        std::string reason;
    };
    std::vector<Refusal> refusals;  // in order of preference
};

// Rules that users may set for an assignment.
struct PlacementRules {
    // Nodes go to these alone; empty: to any. What none of them takes is not placed.
    std::set<BackendIndex> only = {};
    // By operation: the backend that is asked first about the nodes that stem from it, those of
    // graphs inside it included. Of a node with several operations the first hint counts.
    // Null: no hints.
    std::function<std::optional<BackendIndex>(uint32_t operation)> hintFor = nullptr;
    // Limits that users set on the partitions of all graphs together, and of one partition
    // (fallback.h); 0: none.
    size_t maxPartitions = 0;
    size_t minNodesPerPartition = 0;
};

// The backends of one graph's nodes, and in turn of those of the graphs inside.
struct Assignment {
    std::vector<BackendIndex> backendOf;  // per node
    std::vector<size_t> placementOf;      // per node: its index in AnalyzedGraph::placement
    std::vector<Assignment> nested;       // as nestedGraphs() of each node, in order of nodes
};

// A verified graph whose shapes are inferred, with a backend for each node.
struct AnalyzedGraph {
    Graph graph;
    std::vector<NodePlacement> placement;  // a node inside another stands behind it
    Assignment assignment;
    std::set<BackendIndex> only = {};  // as the rules that it was analysed by
    // UNSUPPORTED names the first node that no backend takes, with every backend's reason.
    Status placed() const;
};

}  // namespace halyard::engine
