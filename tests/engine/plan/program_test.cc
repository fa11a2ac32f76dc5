// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/program.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// x -> activate -> sum with x -> activate
Graph mixedGraph(Shape shape = {4}) {
    Graph graph;
    const TensorId x = graph.addTensor(float32(shape));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x, "operation 0 (RELU)");
    const TensorId z = addSum(graph, y, x, "operation 1 (ADD)");
    graph.setOutputs({addActivate(graph, z, "operation 2 (RELU)")});
    return graph;
}

std::vector<NodePlacement> placementOf(Graph graph, const BackendList& backends) {
    return analyze(std::move(graph), backends, nullptr).value().placement;
}

TEST(Analyze, TakesTheFirstBackendThatWillAndKeepsTheOthersReasons) {
    const FakeBackend fast("Fast", {NodeKind::Activate});
    const FakeBackend slow("Slow", kAllFakeKinds);
    const std::vector<NodePlacement> placements = placementOf(mixedGraph(), {&fast, &slow});
    ASSERT_EQ(placements.size(), 3U);
    EXPECT_EQ(placements[0].label, "operation 0 (RELU)");
    EXPECT_EQ(placements[0].kind, "Activate");
    EXPECT_EQ(placements[0].backend, "Fast");
    EXPECT_TRUE(placements[0].refusals.empty());
    EXPECT_EQ(placements[1].backend, "Slow");
    EXPECT_EQ(placements[1].sources, std::vector<uint32_t>{1});
    ASSERT_EQ(placements[1].refusals.size(), 1U);
    EXPECT_EQ(placements[1].refusals[0].backend, "Fast");
    EXPECT_EQ(placements[1].refusals[0].reason, "has no Binary");
}

TEST(Analyze, FollowsTheOrderOfPreference) {
    const FakeBackend fast("Fast", {NodeKind::Activate});
    const FakeBackend slow("Slow", kAllFakeKinds);
    for (const NodePlacement& placement : placementOf(mixedGraph(), {&slow, &fast})) {
        EXPECT_EQ(placement.backend, "Slow");
    }
}

TEST(Analyze, NamesNoBackendWhereNoneTakesTheNode) {
    const FakeBackend none("None", {});
    const std::vector<NodePlacement> placements = placementOf(mixedGraph(), {&none});
    EXPECT_EQ(placements[2].backend, "");
    EXPECT_EQ(placements[2].refusals.size(), 1U);
}

TEST(Program, PlacesNodesInPartitions) {
    const FakeBackend fast("Fast", {NodeKind::Activate});
    const FakeBackend slow("Slow", kAllFakeKinds);
    const auto program = buildOrDie(mixedGraph(), {&fast, &slow});
    EXPECT_EQ(program->partitionCount(), 3U);
    ASSERT_EQ(program->placement().size(), 3U);
    EXPECT_EQ(program->placement()[0].partition, 0U);
    EXPECT_EQ(program->placement()[1].partition, 1U);
    EXPECT_EQ(program->placement()[2].partition, 2U);
    EXPECT_EQ(buildOrDie(mixedGraph(), {&slow})->partitionCount(), 1U);
}

TEST(Program, ThatNoBackendTakesNamesTheNodeAndEveryReason) {
    const FakeBackend one("One", {NodeKind::Activate});
    const FakeBackend two("Two", {NodeKind::Reshape, NodeKind::Activate});
    const auto program = Program::build(mixedGraph(), {&one, &two}, nullptr);
    EXPECT_EQ(program.status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(program.status().message(),
              "operation 1 (ADD): no backend takes this Binary: One has no Binary; Two has no "
              "Binary");
    EXPECT_EQ(Program::build(mixedGraph(), {}, nullptr).status().code(), StatusCode::UNSUPPORTED);
}

TEST(Program, RejectsAGraphThatDoesNotVerify) {
    const FakeBackend backend("Fake", kAllFakeKinds);
    Graph graph = mixedGraph();
    graph.setOutputs({99});
    EXPECT_EQ(Program::build(std::move(graph), {&backend}, nullptr).status().code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST(Program, SpecialisesOnceWhenShapesAreKnown) {
    const FakeBackend backend("Fake", kAllFakeKinds);
    const auto program = buildOrDie(mixedGraph(), {&backend});
    EXPECT_EQ(backend.specialized, 1);
    const Floats x = {1, 2, 3, 4};
    Floats y(4);
    for (int i = 0; i < 3; ++i) {
        Execution execution = Execution::create(program).value();
        EXPECT_TRUE(runOnce(execution, {bindInput(x)}, {bindOutput(y)}).ok());
    }
    EXPECT_EQ(backend.specialized, 1);
}

TEST(Program, FailsToBuildWhatABackendCannotSpecialise) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onSpecialize = [](auto) { return unsupported("does not like these shapes"); };
    const auto program = Program::build(mixedGraph(), {&backend}, nullptr);
    EXPECT_EQ(program.status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(program.status().message(), "Fake: does not like these shapes");
}

TEST(Program, ReportsItsMemory) {
    const FakeBackend fast("Fast", {NodeKind::Activate});
    const FakeBackend slow("Slow", {NodeKind::Binary});
    const auto program = buildOrDie(mixedGraph({100}), {&fast, &slow});
    EXPECT_EQ(program->constantBytes(), 3 * FakeBackend::kBytesPerNode) << "what they pack";
    EXPECT_EQ(program->arenaBytes(), 848U) << "the tensors between the partitions, 400 bytes each, "
                                              "are alive together in the second; "
                                              "input and output lie with the caller";
    EXPECT_EQ(buildOrDie(mixedGraph({-1}), {&fast, &slow})->arenaBytes(), 0U);
}

TEST(Program, KnowsTheShapesThatFollow) {
    const FakeBackend backend("Fake", kAllFakeKinds);
    const auto program = buildOrDie(mixedGraph({2, 3}), {&backend});
    const Graph& graph = program->graph();
    EXPECT_EQ(graph.tensor(graph.outputs()[0]).type.shape, Shape({2, 3}));
}

}  // namespace
}  // namespace halyard::engine
