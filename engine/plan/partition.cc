// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/partition.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

namespace halyard::engine {
namespace {

constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();
constexpr size_t kNoPartition = std::numeric_limits<size_t>::max();

// Which node writes each tensor, and which nodes wait for each node.
struct Dependencies {
    std::vector<NodeId> writer;                // per tensor; kNoNode for inputs and constants
    std::vector<std::vector<NodeId>> readers;  // per node; once per input that reads it
    std::vector<size_t> waitsFor;              // per node: inputs that other nodes write

    explicit Dependencies(const Graph& graph)
        : writer(graph.tensors().size(), kNoNode),
          readers(graph.nodes().size()),
          waitsFor(graph.nodes().size(), 0) {
        for (NodeId id = 0; id < graph.nodes().size(); ++id) {
            for (const TensorId input : graph.node(id).inputs) {
                if (input != kNoTensor && writer[input] != kNoNode) {
                    readers[writer[input]].push_back(id);
                    ++waitsFor[id];
                }
            }
            for (const TensorId output : graph.node(id).outputs) {
                writer[output] = id;
            }
        }
    }
};

using NodeRun = std::pair<BackendIndex, std::vector<NodeId>>;

// Starts with the nodes of `first` and takes from each backend in turn all that can run by then, so
// that a partition ends only when whatever is left of its backend waits for another partition.
std::vector<NodeRun> takeTurns(const Dependencies& dependencies,
                               std::span<const BackendIndex> backendOf, size_t backendCount,
                               BackendIndex first) {
    using LowestFirst = std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>>;
    std::vector<LowestFirst> ready(backendCount);
    std::vector<size_t> waitsFor = dependencies.waitsFor;
    for (NodeId id = 0; id < waitsFor.size(); ++id) {
        if (waitsFor[id] == 0) {
            ready[backendOf[id]].push(id);
        }
    }
    std::vector<NodeRun> runs;
    size_t idle = 0;  // backends in a row that had nothing to do
    for (BackendIndex backend = first; idle < backendCount;
         backend = (backend + 1) % backendCount) {
        if (ready[backend].empty()) {
            ++idle;
            continue;
        }
        idle = 0;
        std::vector<NodeId> nodes;
        while (!ready[backend].empty()) {
            const NodeId id = ready[backend].top();
            ready[backend].pop();
            nodes.push_back(id);
            for (const NodeId reader : dependencies.readers[id]) {
                if (--waitsFor[reader] == 0) {
                    ready[backendOf[reader]].push(reader);
                }
            }
        }
        runs.emplace_back(backend, std::move(nodes));
    }
    return runs;
}

// Finds the tensors that cross the boundaries of partitions: inputs by first use, outputs as they
// are written.
void findBoundaries(const Graph& graph, const Dependencies& dependencies,
                    std::vector<AssignedPartition>& partitions) {
    const size_t tensorCount = graph.tensors().size();
    std::vector<size_t> partitionOf(graph.nodes().size(), kNoPartition);
    for (size_t i = 0; i < partitions.size(); ++i) {
        for (const NodeId id : partitions[i].partition.nodes) {
            partitionOf[id] = i;
        }
    }
    std::vector<bool> leavesPartition(tensorCount, false);
    for (const TensorId output : graph.outputs()) {
        leavesPartition[output] = true;
    }
    std::vector<size_t> lastReader(tensorCount, kNoPartition);  // the partition that listed it last
    for (size_t i = 0; i < partitions.size(); ++i) {
        for (const NodeId id : partitions[i].partition.nodes) {
            for (const TensorId input : graph.node(id).inputs) {
                if (input == kNoTensor || graph.tensor(input).isConstant()) {
                    continue;
                }
                const NodeId writer = dependencies.writer[input];
                if (writer != kNoNode && partitionOf[writer] == i) {
                    continue;
                }
                leavesPartition[input] = true;
                if (lastReader[input] != i) {
                    lastReader[input] = i;
                    partitions[i].partition.inputs.push_back(input);
                }
            }
        }
    }
    for (AssignedPartition& assigned : partitions) {
        for (const NodeId id : assigned.partition.nodes) {
            for (const TensorId output : graph.node(id).outputs) {
                if (leavesPartition[output]) {
                    assigned.partition.outputs.push_back(output);
                }
            }
        }
    }
}

}  // namespace

std::vector<AssignedPartition> partitionGraph(const Graph& graph,
                                              std::span<const BackendIndex> backendOf,
                                              size_t backendCount) {
    const Dependencies dependencies(graph);
    // The planner takes turns like a backend, behind the others.
    std::vector<BackendIndex> turnOf(backendOf.begin(), backendOf.end());
    std::ranges::replace(turnOf, kPlanner, backendCount);
    const size_t turns = std::ranges::find(turnOf, backendCount) == turnOf.end() ? backendCount
                                                                                 : backendCount + 1;
    // With two backends the better beginning gives the fewest partitions that any order can give:
    // by the nth turn, no other order with that beginning has run a node that this one has not.
    // With more backends it is a good guess.
    std::optional<std::vector<NodeRun>> best;
    for (BackendIndex first = 0; first < turns; ++first) {
        std::vector<NodeRun> runs = takeTurns(dependencies, turnOf, turns, first);
        if (!best.has_value() || runs.size() < best->size()) {
            best = std::move(runs);
        }
    }
    std::vector<AssignedPartition> partitions;
    for (NodeRun& run : best.value_or(std::vector<NodeRun>())) {
        if (run.first < backendCount) {
            partitions.push_back(
                    {.backend = run.first,
                     .partition = {.nodes = std::move(run.second), .inputs = {}, .outputs = {}}});
            continue;
        }
        for (const NodeId node : run.second) {
            partitions.push_back({.backend = kPlanner,
                                  .partition = {.nodes = {node}, .inputs = {}, .outputs = {}}});
        }
    }
    findBoundaries(graph, dependencies, partitions);
    return partitions;
}

}  // namespace halyard::engine
