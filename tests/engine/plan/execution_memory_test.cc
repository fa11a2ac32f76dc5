// SPDX-License-Identifier: Apache-2.0
//
// Executions and the heap.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

TEST(AllocationCount, SeesVectorsAndAlignedBuffers) {
    const size_t before = allocationCount();
    const std::vector<int> vector(100);
    EXPECT_EQ(allocationCount(), before + 1);
    const Result<AlignedBuffer> buffer = AlignedBuffer::allocate(100, 64);
    EXPECT_EQ(allocationCount(), before + 2);
}

// Three partitions, a constant among the outputs, an input among them, and a tensor twice.
std::shared_ptr<const Program> buildProgram(const BackendList& backends, Shape shape) {
    Graph graph;
    const TensorId x = graph.addTensor(float32(shape));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, addActivate(graph, x));
    const TensorId z = addSum(graph, y, x);
    const TensorId last = addActivate(graph, z);
    graph.setOutputs({last, x, addConstant<float>(graph, float32({1}), {5}), last, z});
    return buildOrDie(graph, backends, std::make_shared<ThreadPool>(2));
}

class SteadyState : public testing::Test {
  protected:
    // How many allocations a run makes; it must succeed.
    size_t allocationsOf(Execution& execution, std::span<const InputBinding> inputs,
                         std::span<const OutputBinding> outputs) {
        const size_t before = allocationCount();
        const Status status = execution.run(
                inputs, outputs,
                {.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1)}, &report);
        const size_t after = allocationCount();
        EXPECT_TRUE(status.ok()) << status.toString();
        return after - before;
    }

    std::vector<OutputBinding> outputsFor(size_t elements, size_t misalignment = 0) {
        memory.assign(5 * (elements * 4 + 4), 0);
        std::vector<OutputBinding> outputs(5);
        for (size_t i = 0; i < outputs.size(); ++i) {
            outputs[i].bytes =
                    std::span(memory).subspan(i * (elements * 4 + 4) + misalignment, elements * 4);
        }
        return outputs;
    }

    FakeBackend activates{"Activates", {NodeKind::Activate}};
    FakeBackend adds{"Adds", {NodeKind::Binary}};
    std::vector<uint8_t> memory;
    ExecutionReport report;
};

TEST_F(SteadyState, AllocatesNothingWithStaticShapes) {
    const auto program = buildProgram({&activates, &adds}, {100});
    Execution execution = Execution::create(program).value();
    const Floats in(100, 1);
    const std::vector<InputBinding> inputs = {bindInput(in)};
    const std::vector<OutputBinding> outputs = outputsFor(100);
    EXPECT_GT(allocationsOf(execution, inputs, outputs), 0U) << "the arena, at least";
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(allocationsOf(execution, inputs, outputs), 0U);
    }
}

TEST_F(SteadyState, AllocatesNothingWhenEverythingTakesACopy) {
    const auto program = buildProgram({&activates, &adds}, {100});
    Execution execution = Execution::create(program).value();
    const std::vector<uint8_t> in(404, 1);
    InputBinding input;
    input.bytes = std::span(in).subspan(1, 400);
    input.shape = {100};
    const std::vector<InputBinding> inputs = {input};
    std::vector<OutputBinding> outputs = outputsFor(100, 1);
    outputs[1].bytes = outputs[0].bytes;  // overlaps, and is an input
    EXPECT_GT(allocationsOf(execution, inputs, outputs), 0U);
    EXPECT_EQ(allocationsOf(execution, inputs, outputs), 0U);
}

TEST_F(SteadyState, AllocatesNothingForShapesThatHaveBeenSeen) {
    const auto program = buildProgram({&activates, &adds}, {-1});
    Execution execution = Execution::create(program).value();
    const Floats in(100, 1);
    const std::vector<InputBinding> large = {bindInput(in)};
    const std::vector<InputBinding> small = {bindInput(std::span(in).first(10), {10})};
    const std::vector<OutputBinding> outputs = outputsFor(100);
    allocationsOf(execution, large, outputs);
    allocationsOf(execution, small, outputs);
    EXPECT_EQ(allocationsOf(execution, large, outputs), 0U);
    EXPECT_EQ(allocationsOf(execution, small, outputs), 0U);
    EXPECT_EQ(report.outputs[0].shape, Shape({10}));
}

}  // namespace
}  // namespace halyard::engine
