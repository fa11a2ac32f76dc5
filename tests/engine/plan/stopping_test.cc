// SPDX-License-Identifier: Apache-2.0
//
// A run stops between its partitions, inside them, and while it copies what the caller bound.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/counting_condition.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// Floats that take 8 MiB.
constexpr int32_t kMany = 1 << 21;
constexpr size_t kMegabytes = 8;

TEST(Stopping, TakesPlaceBetweenTwoPartitions) {
    std::atomic<bool> cancelled = false;
    int runs = 0;
    FakeBackend activates{"Activates", {NodeKind::Activate}};
    FakeBackend adds{"Adds", {NodeKind::Binary}};
    activates.computesNothing = true;  // nor looks at the checkpoint
    activates.onRun = [&](const RunArguments&) {
        cancelled = true;
        return Status();
    };
    adds.onRun = [&](const RunArguments&) {
        ++runs;
        return Status();
    };
    Graph graph;
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({x});
    graph.setOutputs({addSum(graph, addActivate(graph, x), x)});
    Execution execution = Execution::create(buildOrDie(graph, {&activates, &adds})).value();
    const Floats in(4, 1);
    Floats out(4);
    const std::vector<InputBinding> inputs = {bindInput(in)};
    const std::vector<OutputBinding> outputs = {bindOutput(out)};
    const Status status = execution.run(inputs, outputs, {.cancelled = &cancelled}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(status.message(), "cancelled before partition 1 of 2") << "whatever the backend asks";
    EXPECT_EQ(runs, 0) << "the partition behind the one that ran last";
    activates.onRun = nullptr;
    activates.computesNothing = false;
    cancelled = false;
    EXPECT_TRUE(execution.run(inputs, outputs, {.cancelled = &cancelled}, nullptr).ok());
    EXPECT_EQ(runs, 1);
}

TEST(Stopping, TakesPlaceBetweenTwoNodesOfAPartition) {
    const std::unique_ptr<const Backend> ref = makeCpuRef();
    constexpr size_t kNodes = 50;
    Graph graph;
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({x});
    TensorId last = x;
    for (size_t i = 0; i < kNodes; ++i) {
        last = addActivate(graph, last);
    }
    graph.setOutputs({last});
    Execution execution = Execution::create(buildOrDie(graph, {ref.get()})).value();
    const Floats in(4, 1);
    Floats out(4);
    const std::vector<InputBinding> inputs = {bindInput(in)};
    const std::vector<OutputBinding> outputs = {bindOutput(out)};
    const CountingCondition never;
    ASSERT_TRUE(execution.run(inputs, outputs, {.stop = &never}, nullptr).ok());
    EXPECT_GE(never.asked(), kNodes);
    for (size_t patience = 0; patience < never.asked(); ++patience) {
        const CountingCondition soon(patience);
        EXPECT_EQ(execution.run(inputs, outputs, {.stop = &soon}, nullptr).code(),
                  StatusCode::UNAVAILABLE);
        EXPECT_LE(soon.asked(), patience + 2) << "asked again at most for what to say";
    }
    EXPECT_TRUE(execution.run(inputs, outputs, {}, nullptr).ok());
}

// Runs the graph on memory that is not aligned, so that all of it is copied, and expects the
// checkpoint to be asked `questions` times at least while nothing is computed.
void expectCopiesToAsk(Graph graph, size_t questions) {
    FakeBackend backend{"Fake", kAllFakeKinds};
    backend.computesNothing = true;
    Execution execution = Execution::create(buildOrDie(std::move(graph), {&backend})).value();
    std::vector<uint8_t> in(size_t{kMany} * sizeof(float) + 1);
    std::vector<uint8_t> out(in.size());
    InputBinding input;
    input.bytes = std::span(in).subspan(1);
    input.shape = {kMany};
    const std::vector<InputBinding> inputs = {input};
    const std::vector<OutputBinding> outputs = {{.bytes = std::span(out).subspan(1)}};
    const CountingCondition never;
    ASSERT_TRUE(execution.run(inputs, outputs, {.stop = &never}, nullptr).ok());
    EXPECT_GE(never.asked(), questions);
    for (size_t patience = 0; patience < never.asked(); ++patience) {
        const CountingCondition soon(patience);
        EXPECT_EQ(execution.run(inputs, outputs, {.stop = &soon}, nullptr).code(),
                  StatusCode::UNAVAILABLE);
        EXPECT_LE(soon.asked(), patience + 2);
    }
}

TEST(Stopping, TakesPlaceWhileInputsAndOutputsAreCopied) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kMany}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    expectCopiesToAsk(std::move(graph), 2 * kMegabytes);
}

TEST(Stopping, TakesPlaceWhileAResultOfABranchIsCopied) {
    // The branch gives its input back: a copy and nothing else.
    auto inner = std::make_shared<Graph>();
    const TensorId value = inner->addTensor(float32({kMany}));
    inner->setInputs({value});
    inner->setOutputs({value});
    const NestedGraph same = {inner};
    Graph graph;
    const TensorId x = graph.addTensor(float32({kMany}));
    const TensorId condition = addConstant<uint8_t>(
            graph, {.type = DataType::BOOL8, .shape = {1}, .quantization = {}}, {1});
    graph.setInputs({x});
    graph.setOutputs({addNode(graph, If{.then = same, .otherwise = same}, {condition, x})});
    expectCopiesToAsk(std::move(graph), 3 * kMegabytes);
}

}  // namespace
}  // namespace halyard::engine
