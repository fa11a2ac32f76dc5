// SPDX-License-Identifier: Apache-2.0
//
// Programs and executions that share a limited amount of memory.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// Three partitions; the two tensors between them lie in the arena.
constexpr int32_t kMostElements = 1000;
constexpr size_t kTensorBytes = kMostElements * sizeof(float);

class MemoryLimit : public testing::Test {
  protected:
    Result<std::shared_ptr<const Program>> build(Shape shape) {
        Graph graph;
        const TensorId x = graph.addTensor(float32(shape));
        graph.setInputs({x});
        graph.setOutputs({addActivate(graph, addSum(graph, addActivate(graph, x), x))});
        return Program::build(std::move(graph), {&mActivates, &mAdds}, nullptr, mMemory);
    }

    // Runs on that many elements.
    Status run(Execution& execution, size_t count = kMostElements) {
        const Floats in(count, 1);
        Floats out(count);
        const Status status = runOnce(execution, {bindInput(in)}, {bindOutput(out)});
        EXPECT_TRUE(!status.ok() || out == Floats(count, 4));
        return status;
    }

    // Bytes of it that programs hold while nothing runs.
    static constexpr size_t kConstants = 3 * FakeBackend::kBytesPerNode;

    FakeBackend mActivates{"Activates", {NodeKind::Activate}};
    FakeBackend mAdds{"Adds", {NodeKind::Binary}};
    std::shared_ptr<Budget> mMemory;
};

TEST_F(MemoryLimit, RefusesAnArenaBeyondItWhenPreparing) {
    const size_t arena = (*build({kMostElements}))->arenaBytes();
    ASSERT_GE(arena, 2 * kTensorBytes);
    mMemory = std::make_shared<Budget>(arena - 1);
    const Status status = build({kMostElements}).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.message(), "the arena of an execution: " + std::to_string(arena) +
                                        " bytes are more than the limit of " +
                                        std::to_string(arena - 1));
    mMemory = std::make_shared<Budget>(arena);
    EXPECT_TRUE(build({kMostElements}).ok());
}

TEST_F(MemoryLimit, RefusesAnArenaBeyondItWhenItsShapesComeWithARun) {
    mMemory = std::make_shared<Budget>(kConstants + 2 * kTensorBytes + 200);
    Execution execution = Execution::create(build({kUnknownDimension}).value()).value();
    EXPECT_TRUE(run(execution).ok());
    const Status status = run(execution, 2 * kMostElements);
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(status.message().starts_with("the arena of an execution: ")) << status.message();
    EXPECT_TRUE(run(execution).ok()) << "what fits runs as before";
}

TEST_F(MemoryLimit, CountsWhatBackendsHoldUntilTheProgramEnds) {
    mMemory = std::make_shared<Budget>(1 << 20);
    std::shared_ptr<const Program> program = build({kMostElements}).value();
    EXPECT_EQ(program->constantBytes(), kConstants);
    EXPECT_EQ(mMemory->reserved(), kConstants);
    program = nullptr;
    EXPECT_EQ(mMemory->reserved(), 0U);
    mMemory = std::make_shared<Budget>(kConstants - 1);
    const Status status = build({kUnknownDimension}).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.message(), "the packed constants: 192 bytes are more than the limit of 191");
    EXPECT_EQ(mMemory->reserved(), 0U);
}

TEST_F(MemoryLimit, IsSharedByExecutions) {
    mMemory = std::make_shared<Budget>(kConstants + 3 * kTensorBytes);
    const std::shared_ptr<const Program> program = build({kMostElements}).value();
    Execution second = Execution::create(program).value();
    {
        Execution first = Execution::create(program).value();
        EXPECT_EQ(mMemory->reserved(), kConstants) << "memory comes with the first run";
        EXPECT_TRUE(run(first).ok());
        EXPECT_EQ(mMemory->reserved(), kConstants + program->arenaBytes());
        EXPECT_TRUE(run(first).ok()) << "with the memory that it has";
        EXPECT_EQ(run(second).code(), StatusCode::RESOURCE_EXHAUSTED);
    }
    EXPECT_EQ(mMemory->reserved(), kConstants);
    EXPECT_TRUE(run(second).ok()) << "the first has given its arena back";
}

TEST_F(MemoryLimit, CountsTheCopiesOfWhatCannotBeUsedInPlace) {
    mMemory = std::make_shared<Budget>(1 << 20);
    const std::shared_ptr<const Program> program = build({kMostElements}).value();
    std::vector<uint8_t> bytes(kTensorBytes + 1);
    InputBinding input;
    input.bytes = std::span(bytes).subspan(1);
    input.shape = {kMostElements};
    OutputBinding output;
    output.bytes = std::span(bytes).subspan(1);
    Execution execution = Execution::create(program).value();
    ASSERT_TRUE(runOnce(execution, {input}, {output}).ok());
    const size_t needed = kConstants + program->arenaBytes() + 2 * kTensorBytes;
    EXPECT_EQ(mMemory->reserved(), needed) << "input and output are not aligned";

    mMemory = std::make_shared<Budget>(needed - 1);
    Execution limited = Execution::create(build({kMostElements}).value()).value();
    const Status status = runOnce(limited, {input}, {output});
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(status.message().starts_with("the copy of a graph input: ")) << status.message();
}

TEST_F(MemoryLimit, ReachesWhatAPartitionAllocatesWhileItRuns) {
    mMemory = std::make_shared<Budget>(1 << 20);
    std::shared_ptr<Budget> seen;
    mAdds.onRun = [&](const RunArguments& arguments) {
        seen = arguments.memory;
        return Status();
    };
    Execution execution = Execution::create(build({kMostElements}).value()).value();
    EXPECT_TRUE(run(execution).ok());
    EXPECT_EQ(seen, mMemory);
}

}  // namespace
}  // namespace halyard::engine
