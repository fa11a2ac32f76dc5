// SPDX-License-Identifier: Apache-2.0
//
// Partitions of several nodes on CpuAcc: tensors and workspaces that share the arena, shapes that
// only data tells, weights that are packed.

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using ref_test::RandomValues;

std::vector<float> randomFloats(RandomValues& random, size_t count, float most = 1.0F) {
    std::vector<float> values(count);
    for (float& value : values) {
        value = random.real(-most, most);
    }
    return values;
}

// A convolution with 3x3 windows that keeps the feature map's size and channels, and about its
// values.
TensorId addConvolution(Graph& graph, RandomValues& random, TensorId x, int32_t channels) {
    const auto count = static_cast<size_t>(channels);
    const TensorId filter = addConstant(graph, float32({channels, 3, 3, channels}),
                                        randomFloats(random, count * 9 * count, 0.2F));
    const TensorId bias = addConstant(graph, float32({channels}), randomFloats(random, count));
    return addNode(graph, Conv2d{.window = {.padding = PaddingScheme::SAME}}, {x, filter, bias});
}

void expectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
    for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 1e-4 * std::max(1.0F, std::abs(expected[i])))
                << "element " << i;
    }
}

TEST(PartitionsOnCpuAcc, KeepTensorsAndWorkspacesApart) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    // Tensors take more than workspaces, so that those do not come first in the arena.
    constexpr int32_t kChannels = 8;
    constexpr int32_t kExtent = 64;
    Graph graph;
    const TensorId x = graph.addTensor(float32({1, kExtent, kExtent, kChannels}));
    TensorId last = x;
    for (int i = 0; i < 4; ++i) {
        last = addConvolution(graph, random, last, kChannels);
    }
    graph.setInputs({x});
    graph.setOutputs({last});
    const std::vector<float> input = randomFloats(random, size_t{kExtent} * kExtent * kChannels);
    const auto reference = makeCpuRef();
    const auto tuned = makeCpuAcc();
    std::vector<std::vector<float>> results;
    for (const Backend* backend : {reference.get(), tuned.get()}) {
        std::vector<float>& result = results.emplace_back(input.size());
        Execution execution =
                Execution::create(buildOrDie(graph, {backend}, std::make_shared<ThreadPool>(3)))
                        .value();
        ASSERT_TRUE(runOnce(execution,
                            {bindInput(std::span<const float>(input),
                                       {1, kExtent, kExtent, kChannels})},
                            {bindOutput(result)})
                            .ok());
    }
    expectNear(results[1], results[0]);
}

TEST(PartitionsOnCpuAcc, FindWorkspaceForShapesThatDataTells) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    constexpr int32_t kChannels = 4;
    Graph graph;
    const TensorId x = graph.addTensor(float32({144 * kChannels}));
    const TensorId shape = graph.addTensor(int32({4}));
    const TensorId featureMap = addNode(graph, Reshape(), {x, shape});
    const TensorId result = addConvolution(graph, random, featureMap, kChannels);
    graph.setInputs({x, shape});
    graph.setOutputs({result});
    const std::vector<float> input = randomFloats(random, size_t{144} * kChannels);
    const auto reference = makeCpuRef();
    const auto tuned = makeCpuAcc();
    for (const std::vector<int32_t>& extents :
         {std::vector<int32_t>{1, 12, 12, kChannels}, std::vector<int32_t>{1, 16, 9, kChannels}}) {
        std::vector<std::vector<float>> results;
        for (const Backend* backend : {reference.get(), tuned.get()}) {
            std::vector<float>& values = results.emplace_back(input.size());
            Execution execution =
                    Execution::create(buildOrDie(graph, {backend}, std::make_shared<ThreadPool>(2)))
                            .value();
            const Status status =
                    runOnce(execution,
                            {bindInput(std::span<const float>(input), {144 * kChannels}),
                             bindInput(std::span<const int32_t>(extents), {4})},
                            {bindOutput(values)});
            ASSERT_TRUE(status.ok()) << status.toString();
        }
        expectNear(results[1], results[0]);
    }
}

TEST(PartitionsOnCpuAcc, LetGoOfWeightsThatArePacked) {
    RandomValues random;
    constexpr int32_t kChannels = 3;
    Graph graph;
    const TensorId x = graph.addTensor(float32({1, 4, 4, kChannels}));
    const TensorId result = addConvolution(graph, random, x, kChannels);
    graph.setInputs({x});
    graph.setOutputs({result});
    const Node& node = graph.node(0);
    const auto tuned = makeCpuAcc();
    const std::shared_ptr<const Program> program = buildOrDie(graph, {tuned.get()});
    for (const TensorId constant : {node.inputs[1], node.inputs[2]}) {
        EXPECT_TRUE(program->graph().tensor(constant).constant.bytes.empty());
    }
    EXPECT_GT(program->constantBytes(), 0U);
}

}  // namespace
}  // namespace halyard::engine
