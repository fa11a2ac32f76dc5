// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/assignment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"

namespace halyard::engine {
namespace {

// Two Activates, operations 0 and 1.
Graph pair() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, addActivate(graph, x, "first"), "second")});
    return graph;
}

class Placing : public testing::Test {
  protected:
    AnalyzedGraph analyzed(Graph graph, const PlacementRules& rules) const {
        return analyze(std::move(graph), {&mFirst, &mSecond, &mSums}, nullptr, {}, rules).value();
    }

    static PlacementRules hints(const std::map<uint32_t, BackendIndex>& backendOf) {
        return {.hintFor = [backendOf](uint32_t operation) -> std::optional<BackendIndex> {
            const auto found = backendOf.find(operation);
            return found == backendOf.end() ? std::nullopt : std::optional(found->second);
        }};
    }

    const FakeBackend mFirst{"First", {NodeKind::Activate}};
    const FakeBackend mSecond{"Second", {NodeKind::Activate}};
    const FakeBackend mSums{"Sums", {NodeKind::Binary}};
};

TEST_F(Placing, AHintIsAskedFirst) {
    const AnalyzedGraph graph = analyzed(pair(), hints({{1, 1}}));
    EXPECT_EQ(graph.placement[0].backend, "First");
    EXPECT_EQ(graph.placement[1].backend, "Second");
    EXPECT_TRUE(graph.placement[1].refusals.empty()) << "First was not asked";
}

TEST_F(Placing, AHintThatIsRefusedLeavesTheUsualOrder) {
    const AnalyzedGraph graph = analyzed(pair(), hints({{0, 2}}));
    EXPECT_EQ(graph.placement[0].backend, "First");
    ASSERT_EQ(graph.placement[0].refusals.size(), 1U);
    EXPECT_EQ(graph.placement[0].refusals[0].backend, "Sums");
}

TEST_F(Placing, OfANodeWithSeveralOperationsTheFirstHintCounts) {
    Graph graph = pair();
    graph.mutableNode(0).sources = {3, 5, 7};
    EXPECT_EQ(analyzed(graph, hints({{5, 1}, {7, 0}})).placement[0].backend, "Second");
}

TEST_F(Placing, AHintGoesForGraphsInside) {
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({condition, x});
    const NestedGraph nested = {.graph = std::make_shared<const Graph>(pair())};
    graph.setOutputs({addNode(graph, If{.then = nested, .otherwise = nested}, {condition, x},
                              "choice", {4})});
    graph.mutableNode(0).sources = {9};
    const AnalyzedGraph hinted = analyzed(graph, hints({{9, 1}, {0, 0}}));
    ASSERT_EQ(hinted.placement.size(), 5U);
    for (size_t i = 1; i < 5; ++i) {
        EXPECT_EQ(hinted.placement[i].backend, "Second");
    }
}

TEST_F(Placing, WhatTheRequiredBackendRefusesIsNotPlaced) {
    const AnalyzedGraph graph = analyzed(pair(), {.only = {2}});
    EXPECT_EQ(graph.placement[0].backend, "");
    EXPECT_EQ(graph.placed().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(graph.placed().message(),
              "first: no backend takes this Activate: First may run nothing: another one is "
              "required; Second may run nothing: another one is required; Sums has no Activate");
    EXPECT_TRUE(analyzed(pair(), {.only = {1}}).placed().ok());
}

}  // namespace
}  // namespace halyard::engine
