// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/fallback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "engine/plan/partition.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

AnalyzedGraph analyzed(const Graph& graph, const BackendList& backends,
                       const PlacementRules& rules = {}) {
    return analyze(Graph(graph), backends, nullptr, {}, rules).value();
}

std::vector<std::string> backendsOf(const AnalyzedGraph& graph) {
    std::vector<std::string> names;
    for (const NodePlacement& placement : graph.placement) {
        names.push_back(placement.backend);
    }
    return names;
}

using Names = std::vector<std::string>;

std::vector<AssignedPartition> partitionsOf(const AnalyzedGraph& graph,
                                            const BackendList& backends) {
    return partitionGraph(graph.graph, graph.assignment.backendOf, backends.size());
}

// A chain, one node for each letter: R an Activate, S a sum.
Graph chain(const std::string& kinds) {
    Graph graph;
    TensorId last = graph.addTensor(float32({4}));
    graph.setInputs({last});
    for (size_t i = 0; i < kinds.size(); ++i) {
        const std::string label = "operation " + std::to_string(i);
        last = kinds[i] == 'R' ? addActivate(graph, last, label) : addSum(graph, last, last, label);
    }
    graph.setOutputs({last});
    return graph;
}

class Fallback : public testing::Test {
  protected:
    std::shared_ptr<const Program> buildOrDieWith(const Graph& graph,
                                                  const PlacementRules& rules) const {
        return Program::build(analyzed(graph, mThree, rules), mThree, {}).value();
    }

    Floats resultOf(const Graph& graph, const PlacementRules& rules) const {
        Execution execution = Execution::create(buildOrDieWith(graph, rules)).value();
        const Floats x = {0.5F};
        Floats first(1);
        Floats second(1);
        EXPECT_TRUE(
                runOnce(execution, {bindInput(x)}, {bindOutput(first), bindOutput(second)}).ok());
        return {first[0], second[0]};
    }

    const FakeBackend mFast{"Fast", {NodeKind::Activate}};
    const FakeBackend mMiddle{"Middle", {NodeKind::Activate, NodeKind::Reshape}};
    const FakeBackend mLast{"Last", kAllFakeKinds};
    const BackendList mTwo = {&mFast, &mLast};
    const BackendList mThree = {&mFast, &mMiddle, &mLast};
};

TEST_F(Fallback, LeavesEverythingWhereNoLimitIsSet) {
    EXPECT_EQ(backendsOf(analyzed(chain("RSRRS"), mTwo)),
              (Names{"Fast", "Last", "Fast", "Fast", "Last"}));
}

TEST_F(Fallback, TakesSmallPartitionsFromABackendAndSaysWhy) {
    const AnalyzedGraph graph = analyzed(chain("RSRRS"), mTwo, {.minNodesPerPartition = 2});
    EXPECT_EQ(backendsOf(graph), (Names{"Last", "Last", "Fast", "Fast", "Last"}));
    ASSERT_EQ(graph.placement[0].refusals.size(), 1U);
    EXPECT_EQ(graph.placement[0].refusals[0].backend, "Fast");
    EXPECT_EQ(graph.placement[0].refusals[0].reason, "would run a partition of fewer than 2 nodes");
    EXPECT_TRUE(graph.placement[2].refusals.empty());
}

TEST_F(Fallback, GoesToTheNextBackendThatTakesTheNode) {
    // R falls to Middle, which is as small there, and so on.
    const AnalyzedGraph graph = analyzed(chain("SRS"), mThree, {.minNodesPerPartition = 2});
    EXPECT_EQ(backendsOf(graph), (Names{"Last", "Last", "Last"}));
    ASSERT_EQ(graph.placement[1].refusals.size(), 2U);
    EXPECT_EQ(graph.placement[1].refusals[0].backend, "Fast");
    EXPECT_EQ(graph.placement[1].refusals[1].backend, "Middle");
}

TEST_F(Fallback, KeepsSmallPartitionsThatNoOtherBackendTakes) {
    const FakeBackend sums("Sums", {NodeKind::Binary});
    const BackendList backends = {&mFast, &sums};
    EXPECT_EQ(backendsOf(analyzed(chain("RSR"), backends,
                                  {.maxPartitions = 1, .minNodesPerPartition = 9})),
              (Names{"Fast", "Sums", "Fast"}));
}

TEST_F(Fallback, KeepsAPartitionOfWhichOneNodeHasNowhereToGo) {
    const FakeBackend both("Both", {NodeKind::Activate, NodeKind::Binary});
    const BackendList backends = {&both, &mFast};
    EXPECT_EQ(backendsOf(analyzed(chain("RS"), backends, {.minNodesPerPartition = 9})),
              (Names{"Both", "Both"}));
}

TEST_F(Fallback, MakesTheSmallestPartitionsFallUntilThereAreFewEnough) {
    const Graph graph = chain("RRRSRSRRSRRR");
    EXPECT_EQ(partitionsOf(analyzed(graph, mTwo), mTwo).size(), 7U);
    const AnalyzedGraph five = analyzed(graph, mTwo, {.maxPartitions = 5});
    EXPECT_EQ(partitionsOf(five, mTwo).size(), 5U);
    EXPECT_EQ(five.placement[4].backend, "Last") << "the partition of one node";
    EXPECT_EQ(five.placement[4].refusals.at(0).reason, "would run one of more than 5 partitions");
    EXPECT_EQ(five.placement[6].backend, "Fast");
    const AnalyzedGraph three = analyzed(graph, mTwo, {.maxPartitions = 3});
    EXPECT_EQ(partitionsOf(three, mTwo).size(), 3U);
    EXPECT_EQ(three.placement[0].backend, "Fast");
    EXPECT_EQ(three.placement[7].backend, "Last");
    const AnalyzedGraph one = analyzed(graph, mTwo, {.maxPartitions = 1});
    EXPECT_EQ(partitionsOf(one, mTwo).size(), 1U);
    EXPECT_EQ(one.placement[0].backend, "Last");
}

TEST_F(Fallback, CountsThePartitionsOfGraphsInsideToo) {
    Graph inside = chain("RS");
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({condition, x});
    const NestedGraph nested = {.graph = std::make_shared<const Graph>(std::move(inside))};
    const TensorId y =
            addNode(graph, If{.then = nested, .otherwise = nested}, {condition, x}, "choice", {4});
    graph.setOutputs({addActivate(graph, y)});
    const auto count = [&](size_t most) {
        return buildOrDieWith(graph, {.maxPartitions = most})->partitionCount();
    };
    EXPECT_EQ(count(0), 1U + 1 + 2 + 2);
    EXPECT_EQ(count(3), 1U + 3) << "the If itself does not count";
}

TEST_F(Fallback, NeverGoesWhereOnlyOthersAreAllowed) {
    const AnalyzedGraph graph =
            analyzed(chain("RR"), mThree, {.only = {0, 1}, .minNodesPerPartition = 3});
    EXPECT_EQ(backendsOf(graph), (Names{"Middle", "Middle"}));
}

TEST_F(Fallback, LeavesGraphsAloneThatAreNotPlaced) {
    const AnalyzedGraph graph = analyzed(chain("RS"), {&mFast}, {.minNodesPerPartition = 2});
    EXPECT_EQ(backendsOf(graph), (Names{"Fast", ""}));
}

TEST_F(Fallback, StopsWhenItIsTime) {
    const std::atomic<bool> cancelled = true;
    AnalyzedGraph graph = analyzed(chain("RSR"), mTwo);
    EXPECT_EQ(applyPartitionLimits(graph, mTwo, {.minNodesPerPartition = 2},
                                   Checkpoint(Deadline(), &cancelled))
                      .code(),
              StatusCode::UNAVAILABLE);
}

TEST_F(Fallback, IsQuickWithAsManyPartitionsAsNodes) {
    std::string kinds;
    for (int i = 0; i < 40'000; ++i) {
        kinds += i % 2 == 0 ? 'R' : 'S';
    }
    const Graph graph = chain(kinds);
    for (const size_t most : {1U, 2U, 100U, 30'000U}) {
        const AnalyzedGraph limited = analyzed(graph, mTwo, {.maxPartitions = most});
        EXPECT_LE(partitionsOf(limited, mTwo).size(), most);
    }
}

// Invariants of any graph, wherever its nodes fall. Partitions that are not built, at whichever
// station.
class PartitionsThatFail : public Fallback {
  protected:
    void SetUp() override { setLogThreshold(LogLevel::ERROR); }
    void TearDown() override { setLogThreshold(LogLevel::INFO); }

    static Result<std::shared_ptr<const Program>> build(const Graph& graph,
                                                        const BackendList& backends,
                                                        const PlacementRules& rules = {},
                                                        bool movesPartitions = true) {
        return Program::build(analyzed(graph, backends, rules), backends,
                              {.movesPartitions = movesPartitions});
    }
    static std::vector<std::string> backendsOf(const Program& program) {
        std::vector<std::string> names;
        for (const NodePlacement& placement : program.placement()) {
            names.push_back(placement.backend);
        }
        return names;
    }
    static float resultOf(const std::shared_ptr<const Program>& program) {
        Execution execution = Execution::create(program).value();
        const Floats x(4, 0.5F);
        Floats result(4);
        EXPECT_TRUE(runOnce(execution, {bindInput(x)}, {bindOutput(result)}).ok());
        return result[3];
    }

    FakeBackend mBroken{"Broken", {NodeKind::Activate}};
    const BackendList mBackends = {&mBroken, &mLast};
};

TEST_F(PartitionsThatFail, GoToTheNextBackendAndSayWhy) {
    const Graph graph = chain("RSRS");
    const float expected = resultOf(build(graph, {&mLast}).value());
    for (const int station : {0, 1, 2}) {
        SCOPED_TRACE(station);
        mBroken.onCompile = nullptr;
        mBroken.onFinish = nullptr;
        mBroken.onSpecialize = nullptr;
        if (station == 0) {
            mBroken.onCompile = [](const auto& /*arguments*/) {
                return internalError("no kernel");
            };
        } else if (station == 1) {
            mBroken.onFinish = [](const auto& /*resources*/) { return internalError("no kernel"); };
        } else {
            mBroken.onSpecialize = [](auto /*types*/) { return internalError("no kernel"); };
        }
        const auto program = build(graph, mBackends);
        ASSERT_TRUE(program.ok()) << program.status().toString();
        EXPECT_EQ(backendsOf(**program), Names(4, "Last"));
        for (const size_t node : {0, 2}) {
            const std::vector<NodePlacement::Refusal>& refusals =
                    (*program)->placement()[node].refusals;
            ASSERT_EQ(refusals.size(), 1U);
            EXPECT_EQ(refusals[0].backend, "Broken");
            EXPECT_EQ(refusals[0].reason, "did not build its partition: Broken: no kernel");
        }
        EXPECT_TRUE((*program)->placement()[1].refusals.size() == 1) << "it does not take sums";
        EXPECT_EQ(resultOf(*program), expected);
    }
}

// The others of a backend stay.
TEST_F(PartitionsThatFail, GoAlone) {
    int compiled = 0;
    mBroken.onCompile = [&](const auto& /*arguments*/) {
        return ++compiled == 2 ? internalError("no kernel") : Status();
    };
    const auto program = build(chain("RSRSR"), mBackends);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    EXPECT_EQ(backendsOf(**program), (Names{"Broken", "Last", "Last", "Last", "Broken"}));
}

// One that has lost its device is not asked once for each partition.
TEST_F(PartitionsThatFail, TakeTheRestWithThemWhereOneFailsAfterTheOther) {
    int compiled = 0;
    mBroken.onCompile = [&](const auto& /*arguments*/) {
        ++compiled;
        return internalError("no device");
    };
    std::string kinds;
    for (int i = 0; i < 7; ++i) {
        kinds += "RS";
    }
    const auto program = build(chain(kinds), mBackends);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    EXPECT_EQ(backendsOf(**program), Names(14, "Last"));
    EXPECT_LE(compiled, 4);
}

TEST_F(PartitionsThatFail, OfGraphsInsideGoToo) {
    mBroken.onCompile = [](const auto& /*arguments*/) { return internalError("no kernel"); };
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({condition, x});
    const NestedGraph nested = {.graph = std::make_shared<const Graph>(chain("RS"))};
    graph.setOutputs({addNode(graph, If{.then = nested, .otherwise = nested}, {condition, x},
                              "choice", {4})});
    const auto program = build(graph, mBackends);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    EXPECT_EQ(backendsOf(**program), (Names{"planner", "Last", "Last", "Last", "Last"}));
}

TEST_F(PartitionsThatFail, FailTheModelWhereNoOtherBackendTakesThemOrMay) {
    mBroken.onCompile = [](const auto& /*arguments*/) { return internalError("no kernel"); };
    const Status alone = build(chain("RR"), {&mBroken}).status();
    EXPECT_EQ(alone.message(), "Broken: no kernel");
    EXPECT_EQ(build(chain("RR"), mBackends, {.only = {0}}).status().message(), "Broken: no kernel");
    EXPECT_EQ(build(chain("RR"), mBackends, {}, false).status().message(), "Broken: no kernel");
}

// Another backend would be short of memory and time, too, and refuse the same shapes.
TEST_F(PartitionsThatFail, FailTheModelForWhatIsNoFaultOfTheBackend) {
    for (const StatusCode code : {StatusCode::RESOURCE_EXHAUSTED, StatusCode::DEADLINE_EXCEEDED,
                                  StatusCode::INVALID_ARGUMENT}) {
        mBroken.onCompile = [&](const auto& /*arguments*/) { return Status(code, "no"); };
        EXPECT_EQ(build(chain("RS"), mBackends).status().code(), code);
    }
}

TEST_F(Fallback, KeepsOrderAndResultsOfRandomGraphs) {
    const uint32_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        Graph graph;
        std::vector<TensorId> tensors = {graph.addTensor(float32({1}))};
        graph.setInputs({tensors[0]});
        const size_t nodes = 1 + random() % 30;
        const auto any = [&] { return tensors[random() % tensors.size()]; };
        for (size_t i = 0; i < nodes; ++i) {
            tensors.push_back(random() % 2 == 0 ? addActivate(graph, any())
                                                : addSum(graph, any(), any()));
        }
        graph.setOutputs({tensors.back(), any()});
        const PlacementRules rules = {.maxPartitions = random() % 4,
                                      .minNodesPerPartition = random() % 5};
        const AnalyzedGraph limited = analyzed(graph, mThree, rules);
        const std::vector<AssignedPartition> partitions = partitionsOf(limited, mThree);
        // All can fall to Last, so that both limits are kept.
        EXPECT_TRUE(rules.maxPartitions == 0 || partitions.size() <= rules.maxPartitions);
        for (const AssignedPartition& partition : partitions) {
            EXPECT_TRUE(partition.backend == 2 ||
                        partition.partition.nodes.size() >= rules.minNodesPerPartition);
            for (const NodeId node : partition.partition.nodes) {
                EXPECT_TRUE(mThree[partition.backend]->supports(limited.graph, node).ok());
            }
        }
        EXPECT_EQ(resultOf(graph, rules), resultOf(graph, {}));
    }
}

}  // namespace
}  // namespace halyard::engine
