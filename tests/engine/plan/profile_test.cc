// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/profile.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

using std::chrono::nanoseconds;

// x [2, 3] -> FullyConnected [2, 5] -> Activate
struct Sample {
    Sample() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({2, 3}));
        graph.setInputs({x});
        const TensorId weights = addConstant<float>(graph, float32({5, 3}), Floats(15, 1.0F));
        const TensorId bias = addConstant<float>(graph, float32({5}), Floats(5, 0.0F));
        const TensorId y = addNode(graph, FullyConnected(), {x, weights, bias}, "first", {2, 5});
        graph.setOutputs({addNode(graph, Activate(), {y}, "second", {2, 5})});
        program = buildOrDie(std::move(graph), {backend.get()});
        program->forEachNode(
                [&](const Graph&, const Node& node, size_t) { nodes.push_back(&node); });
    }

    std::unique_ptr<const Backend> backend = makeCpuRef();
    std::shared_ptr<const Program> program;
    std::vector<const Node*> nodes;
};

TEST(Profile, TellsWhatEachNodeOfARunTook) {
    const Sample sample;
    Execution execution = Execution::create(sample.program).value();
    Profile profile(sample.program);
    const Floats x(6, 2.0F);
    Floats y(10);
    for (int run = 0; run < 3; ++run) {
        ASSERT_TRUE(execution
                            .run(std::array{bindInput<float>(x, {2, 3})}, std::array{bindOutput(y)},
                                 {.trace = &profile}, nullptr)
                            .ok());
        profile.endRun();
    }
    const std::vector<NodeProfile> nodes = profile.nodes();
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].placement, std::vector<size_t>{0});
    EXPECT_EQ(sample.program->placement()[0].label, "first");
    EXPECT_EQ(nodes[0].kernel, sample.program->placement()[0].kernel);
    EXPECT_NE(nodes[0].kernel, "");
    EXPECT_EQ(nodes[0].multiplyAdds, 2U * 3 * 5);
    EXPECT_EQ(nodes[0].bytes, 4U * (6 + 15 + 5 + 10));
    EXPECT_GT(nodes[0].medianTime.count(), 0);
    EXPECT_EQ(nodes[1].multiplyAdds, 0U);
    EXPECT_EQ(nodes[1].bytes, 4U * 20);
}

TEST(Profile, GivesTheMedianOfTheRuns) {
    const Sample sample;
    Profile profile(sample.program);
    for (const int time : {50, 10, 20, 90}) {
        profile.record({.name = "k", .node = sample.nodes[0], .time = nanoseconds(time)});
        profile.endRun();
    }
    ASSERT_EQ(profile.nodes().size(), 1U);
    EXPECT_EQ(profile.nodes()[0].medianTime, nanoseconds(35));
}

TEST(Profile, AddsUpWhatANodeTakesInOneRun) {
    const Sample sample;
    Profile profile(sample.program);
    for (int run = 0; run < 2; ++run) {
        for (int round = 0; round < 3; ++round) {
            profile.record(
                    {.name = "k", .node = sample.nodes[0], .time = nanoseconds(10), .bytes = 7});
        }
        profile.endRun();
    }
    const std::vector<NodeProfile> nodes = profile.nodes();
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].medianTime, nanoseconds(30));
    EXPECT_EQ(nodes[0].bytes, 21U);
    EXPECT_EQ(nodes[0].multiplyAdds, 3U * 30);
}

TEST(Profile, CountsARunInWhichANodeWasLeftOutAsNoTime) {
    const Sample sample;
    Profile profile(sample.program);
    profile.endRun();
    profile.endRun();
    profile.record({.name = "k", .node = sample.nodes[0], .time = nanoseconds(10)});
    profile.endRun();
    ASSERT_EQ(profile.nodes().size(), 1U);
    EXPECT_EQ(profile.nodes()[0].medianTime, nanoseconds(0));
}

TEST(Profile, TakesNodesThatOneKernelComputesTogether) {
    const Sample sample;
    Profile profile(sample.program);
    const std::array<const Node*, 1> fused = {sample.nodes[0]};
    for (int run = 0; run < 2; ++run) {
        profile.record(
                {.name = "both", .node = sample.nodes[1], .fused = fused, .time = nanoseconds(10)});
        profile.endRun();
    }
    const std::vector<NodeProfile> nodes = profile.nodes();
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].placement, (std::vector<size_t>{1, 0}));
    EXPECT_EQ(nodes[0].multiplyAdds, 30U);
}

TEST(Profile, PassesOverNodesOfAnotherProgram) {
    const Sample sample;
    const Sample other;
    Profile profile(sample.program);
    profile.record({.name = "k", .node = other.nodes[0], .time = nanoseconds(10)});
    profile.endRun();
    EXPECT_TRUE(profile.nodes().empty());
}

}  // namespace
}  // namespace halyard::engine
