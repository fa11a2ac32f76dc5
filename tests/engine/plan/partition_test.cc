// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

using Nodes = std::vector<NodeId>;
using Tensors = std::vector<TensorId>;

TEST(Partition, GivesOneBackendOnePartition) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x);
    const TensorId z = addActivate(graph, y);
    graph.setOutputs({z});
    const std::vector<BackendIndex> backendOf = {0, 0};
    const std::vector<AssignedPartition> partitions = partitionGraph(graph, backendOf, 1);
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_EQ(partitions[0].backend, 0U);
    EXPECT_EQ(partitions[0].partition.nodes, (Nodes{0, 1}));
    EXPECT_EQ(partitions[0].partition.inputs, Tensors{x});
    EXPECT_EQ(partitions[0].partition.outputs, Tensors{z}) << "y stays inside";
}

TEST(Partition, HasNoPartitionsForAGraphWithoutNodes) {
    EXPECT_TRUE(partitionGraph(Graph(), {}, 2).empty());
    EXPECT_TRUE(partitionGraph(Graph(), {}, 0).empty());
}

// x -> a -> b -> d, x -> a -> c -> d: the middle of the diamond on two backends.
struct Diamond {
    Diamond() {
        x = graph.addTensor(float32({1}));
        graph.setInputs({x});
        a = addActivate(graph, x);
        b = addActivate(graph, a);
        c = addActivate(graph, a);
        d = addSum(graph, b, c);
        graph.setOutputs({d});
    }

    Graph graph;
    TensorId x, a, b, c, d;
};

TEST(Partition, OfADiamondDoesNotCloseACycle) {
    // One partition of {a, b, d} would both feed c and wait for it.
    const Diamond diamond;
    const std::vector<BackendIndex> backendOf = {0, 0, 1, 0};
    const std::vector<AssignedPartition> partitions = partitionGraph(diamond.graph, backendOf, 2);
    ASSERT_EQ(partitions.size(), 3U);
    EXPECT_EQ(partitions[0].partition.nodes, (Nodes{0, 1}));
    EXPECT_EQ(partitions[0].partition.outputs, (Tensors{diamond.a, diamond.b}));
    EXPECT_EQ(partitions[1].partition.nodes, Nodes{2});
    EXPECT_EQ(partitions[1].partition.inputs, Tensors{diamond.a});
    EXPECT_EQ(partitions[2].partition.nodes, Nodes{3});
    EXPECT_EQ(partitions[2].partition.inputs, (Tensors{diamond.b, diamond.c}));
}

TEST(Partition, OfADiamondKeepsBothSidesTogetherOnOneBackend) {
    const Diamond diamond;
    const std::vector<BackendIndex> backendOf = {0, 1, 1, 0};
    const std::vector<AssignedPartition> partitions = partitionGraph(diamond.graph, backendOf, 2);
    ASSERT_EQ(partitions.size(), 3U);
    EXPECT_EQ(partitions[1].partition.nodes, (Nodes{1, 2}))
            << "b and c do not depend on each other";
    EXPECT_EQ(partitions[1].partition.inputs, Tensors{diamond.a}) << "listed once";
}

TEST(Partition, MergesIndependentBranchesOfOneBackend) {
    // Two chains, each first on backend 1, then on backend 0: as listed they would make 4
    // partitions.
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    const TensorId left = addActivate(graph, addActivate(graph, x));
    const TensorId right = addActivate(graph, addActivate(graph, x));
    graph.setOutputs({left, right});
    const std::vector<BackendIndex> backendOf = {1, 0, 1, 0};
    const std::vector<AssignedPartition> partitions = partitionGraph(graph, backendOf, 2);
    ASSERT_EQ(partitions.size(), 2U);
    EXPECT_EQ(partitions[0].backend, 1U);
    EXPECT_EQ(partitions[0].partition.nodes, (Nodes{0, 2}));
    EXPECT_EQ(partitions[1].partition.nodes, (Nodes{1, 3}));
}

TEST(Partition, BeginsWithTheBackendThatLeavesFewerPartitions) {
    // a on backend 0 needs nothing; b on backend 1 needs nothing; c on backend 0 needs b. Beginning
    // with backend 0 would run a, b, c in three partitions.
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    const TensorId a = addActivate(graph, x);
    const TensorId b = addActivate(graph, x);
    const TensorId c = addActivate(graph, b);
    graph.setOutputs({a, c});
    const std::vector<BackendIndex> backendOf = {0, 1, 0};
    const std::vector<AssignedPartition> partitions = partitionGraph(graph, backendOf, 2);
    ASSERT_EQ(partitions.size(), 2U);
    EXPECT_EQ(partitions[0].partition.nodes, Nodes{1});
    EXPECT_EQ(partitions[1].partition.nodes, (Nodes{0, 2}));
}

TEST(Partition, LeavesConstantsAndOmittedInputsOutOfTheBoundary) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    const TensorId constant = addConstant<float>(graph, float32({1}), {1});
    graph.setOutputs({addNode(graph, Conv2d(), {x, constant, kNoTensor})});
    const std::vector<BackendIndex> backendOf = {0};
    const std::vector<AssignedPartition> partitions = partitionGraph(graph, backendOf, 1);
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_EQ(partitions[0].partition.inputs, Tensors{x});
}

// Invariants of the partitions of any graph.
void expectValid(const Graph& graph, const std::vector<BackendIndex>& backendOf,
                 const std::vector<AssignedPartition>& partitions) {
    std::set<TensorId> available(graph.inputs().begin(), graph.inputs().end());
    std::multiset<NodeId> seen;
    for (const auto& [backend, partition] : partitions) {
        for (const TensorId input : partition.inputs) {
            EXPECT_TRUE(available.contains(input)) << "a partition reads what no earlier one wrote";
        }
        std::set<TensorId> inside(partition.inputs.begin(), partition.inputs.end());
        EXPECT_TRUE(std::ranges::is_sorted(partition.nodes));
        for (const NodeId id : partition.nodes) {
            seen.insert(id);
            EXPECT_EQ(backendOf[id], backend);
            for (const TensorId input : graph.node(id).inputs) {
                EXPECT_TRUE(inside.contains(input)) << "a node reads what its partition lacks";
            }
            inside.insert(graph.node(id).outputs[0]);
        }
        available.insert(partition.outputs.begin(), partition.outputs.end());
    }
    EXPECT_EQ(seen.size(), graph.nodes().size());
    EXPECT_EQ(std::set<NodeId>(seen.begin(), seen.end()).size(), graph.nodes().size());
    for (const TensorId output : graph.outputs()) {
        EXPECT_TRUE(available.contains(output));
    }
}

TEST(Partition, OfRandomGraphsIsValid) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
        const size_t backendCount = 1 + random() % 4;
        Graph graph;
        std::vector<TensorId> tensors = {graph.addTensor(float32({1})),
                                         graph.addTensor(float32({1}))};
        graph.setInputs(tensors);
        std::vector<BackendIndex> backendOf;
        const size_t nodeCount = random() % 30;
        for (size_t i = 0; i < nodeCount; ++i) {
            const TensorId a = tensors[random() % tensors.size()];
            const TensorId b = tensors[random() % tensors.size()];
            tensors.push_back(addSum(graph, a, b));
            backendOf.push_back(random() % backendCount);
        }
        graph.setOutputs({tensors[random() % tensors.size()], tensors.back()});
        expectValid(graph, backendOf, partitionGraph(graph, backendOf, backendCount));
    }
}

// The fewest partitions of any valid cut, by trying them all: steps[done] is how many partitions it
// takes to have run the set `done` of nodes.
size_t fewestPartitions(const Graph& graph, const std::vector<BackendIndex>& backendOf) {
    const size_t nodeCount = graph.nodes().size();
    const size_t none = nodeCount + 1;
    std::vector<size_t> steps(size_t{1} << nodeCount, none);
    steps[0] = 0;
    const auto canRun = [&](size_t done, size_t partition) {
        for (NodeId id = 0; id < nodeCount; ++id) {
            if ((partition >> id & 1) == 0) {
                continue;
            }
            for (const TensorId input : graph.node(id).inputs) {
                for (NodeId writer = 0; writer < nodeCount; ++writer) {
                    if (graph.node(writer).outputs[0] == input &&
                        ((done | partition) >> writer & 1) == 0) {
                        return false;
                    }
                }
            }
        }
        return true;
    };
    for (size_t done = 0; done < steps.size(); ++done) {
        for (size_t partition = 1; partition < steps.size(); ++partition) {
            size_t backends = 0;  // a set
            for (NodeId id = 0; id < nodeCount; ++id) {
                backends |= (partition >> id & 1) << backendOf[id];
            }
            const bool oneBackend = (backends & (backends - 1)) == 0;
            if ((partition & done) == 0 && oneBackend && canRun(done, partition)) {
                steps[done | partition] = std::min(steps[done | partition], steps[done] + 1);
            }
        }
    }
    return steps.back();
}

TEST(Partition, OfTwoBackendsHasAsFewPartitionsAsCanBe) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 60; ++round) {
        Graph graph;
        std::vector<TensorId> tensors = {graph.addTensor(float32({1}))};
        graph.setInputs(tensors);
        std::vector<BackendIndex> backendOf;
        for (size_t i = 0; i < 6; ++i) {
            const TensorId a = tensors[random() % tensors.size()];
            tensors.push_back(addSum(graph, a, tensors[random() % tensors.size()]));
            backendOf.push_back(random() % 2);
        }
        graph.setOutputs({tensors.back()});
        EXPECT_EQ(partitionGraph(graph, backendOf, 2).size(), fewestPartitions(graph, backendOf));
    }
}

}  // namespace
}  // namespace halyard::engine
