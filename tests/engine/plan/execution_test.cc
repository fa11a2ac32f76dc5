// SPDX-License-Identifier: Apache-2.0
//
// Executions of graphs whose shapes are known at prepare time.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// Two backends, so that every change of kind is a change of partition.
class ExecutionTest : public testing::Test {
  protected:
    ExecutionTest() { x = graph.addTensor(float32({4})); }

    void build(std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
        graph.setInputs(std::move(inputs));
        graph.setOutputs(std::move(outputs));
        program = buildOrDie(graph, {&activates, &adds});
        execution = std::make_unique<Execution>(Execution::create(program).value());
    }

    // Notes the addresses that the partitions read from and write to.
    void watch(FakeBackend& backend) {
        backend.onRun = [this](const RunArguments& arguments) {
            for (const ConstTensorView& input : arguments.inputs) {
                readFrom.insert(input.data);
            }
            for (const TensorView& output : arguments.outputs) {
                writtenTo.insert(output.data);
            }
            return Status();
        };
    }

    FakeBackend activates{"Activates", {NodeKind::Activate}};
    FakeBackend adds{"Adds", {NodeKind::Binary}};
    Graph graph;
    TensorId x = kNoTensor;
    std::shared_ptr<const Program> program;
    std::unique_ptr<Execution> execution;
    std::set<const void*> readFrom;
    std::set<const void*> writtenTo;
    const Floats in = {1, 2, 3, 4};
};

TEST_F(ExecutionTest, RunsThePartitionsInOrder) {
    const TensorId y = addActivate(graph, x);
    const TensorId z = addSum(graph, y, x);
    build({x}, {addActivate(graph, z)});
    ASSERT_EQ(program->partitionCount(), 3U);
    Floats out(4);
    ExecutionReport report;
    const Status status = runOnce(*execution, {bindInput(in)}, {bindOutput(out)}, &report);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out, (Floats{4, 6, 8, 10}));
    ASSERT_EQ(report.outputs.size(), 1U);
    EXPECT_EQ(report.outputs[0].shape, Shape({4}));
    EXPECT_TRUE(report.outputs[0].sufficient);
    EXPECT_EQ(report.arenaBytes, program->arenaBytes());
}

TEST_F(ExecutionTest, ReadsAndWritesInPlaceWhatIsAligned) {
    watch(activates);
    build({x}, {addActivate(graph, x)});
    Floats out(4);
    ASSERT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_TRUE(readFrom.contains(in.data()));
    EXPECT_TRUE(writtenTo.contains(out.data()));
}

TEST_F(ExecutionTest, TakesACopyOfWhatIsNotAligned) {
    watch(activates);
    build({x}, {addActivate(graph, x)});
    std::vector<uint8_t> memory(64);
    std::memcpy(memory.data() + 1, in.data(), 16);
    Floats out(4);
    InputBinding input = bindInput(in);
    input.bytes = std::span(memory).subspan(1, 16);
    OutputBinding output = bindOutput(out);
    output.bytes = std::span(memory).subspan(33, 16);
    const Status status = runOnce(*execution, {input}, {output});
    ASSERT_TRUE(status.ok()) << status.toString();
    std::memcpy(out.data(), memory.data() + 33, 16);
    EXPECT_EQ(out, (Floats{2, 3, 4, 5}));
    for (const void* address : {*readFrom.begin(), *writtenTo.begin()}) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % kTensorAlignment, 0U);
    }
    EXPECT_EQ(memory[32], 0);
    EXPECT_EQ(memory[49], 0) << "nothing is written beside the output";
}

TEST_F(ExecutionTest, LetsALaterPartitionReadAnOutput) {
    const TensorId y = addActivate(graph, x);
    build({x}, {y, addSum(graph, y, y)});
    Floats first(4);
    Floats second(4);
    ASSERT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(first), bindOutput(second)}).ok());
    EXPECT_EQ(first, (Floats{2, 3, 4, 5}));
    EXPECT_EQ(second, (Floats{4, 6, 8, 10}));
}

TEST_F(ExecutionTest, GivesInputsConstantsAndRepeatedTensorsAsOutputs) {
    const TensorId constant = addConstant<float>(graph, float32({2}), {7, 8});
    const TensorId y = addActivate(graph, x);
    build({x}, {x, constant, y, y});
    Floats a(4);
    Floats b(2);
    Floats c(4);
    Floats d(4);
    const Status status = runOnce(*execution, {bindInput(in)},
                                  {bindOutput(a), bindOutput(b), bindOutput(c), bindOutput(d)});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(a, in);
    EXPECT_EQ(b, (Floats{7, 8}));
    EXPECT_EQ(c, (Floats{2, 3, 4, 5}));
    EXPECT_EQ(d, c);
}

TEST_F(ExecutionTest, RunsAGraphWithoutNodes) {
    build({x}, {x});
    Floats out(4);
    ASSERT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(out, in);
}

TEST_F(ExecutionTest, ComputesUnwantedOutputs) {
    const TensorId y = addActivate(graph, x);
    build({x}, {y, addSum(graph, y, y), x});
    Floats out(4);
    const Status status =
            runOnce(*execution, {bindInput(in)}, {unwanted(), bindOutput(out), unwanted()});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out, (Floats{4, 6, 8, 10}));
}

TEST_F(ExecutionTest, OutputsMayLieWhereInputsLie) {
    const TensorId w = graph.addTensor(float32({4}));
    const TensorId y = addActivate(graph, x);
    build({x, w}, {y, addSum(graph, w, x), x, w});
    // y and x + w go to where x and w come from; x and w change places behind them.
    std::array<float, 8> memory = {1, 2, 3, 4, 10, 20, 30, 40};
    std::array<float, 8> behind = {};
    const std::span<float> xs = std::span(memory).first(4);
    const std::span<float> ws = std::span(memory).last(4);
    const Status status =
            runOnce(*execution,
                    {bindInput<float>(std::span<const float>(xs), {4}),
                     bindInput<float>(std::span<const float>(ws), {4})},
                    {bindOutput(ws), bindOutput(xs), bindOutput(std::span(behind).first(4)),
                     bindOutput(std::span(behind).last(4))});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(memory, (std::array<float, 8>{11, 22, 33, 44, 2, 3, 4, 5}));
    EXPECT_EQ(behind, (std::array<float, 8>{1, 2, 3, 4, 10, 20, 30, 40}));
}

TEST_F(ExecutionTest, InputsThatAreOutputsMayChangePlaces) {
    const TensorId w = graph.addTensor(float32({4}));
    build({x, w}, {w, x});
    std::array<float, 8> memory = {1, 2, 3, 4, 10, 20, 30, 40};
    const std::span<float> xs = std::span(memory).first(4);
    const std::span<float> ws = std::span(memory).last(4);
    ASSERT_TRUE(runOnce(*execution,
                        {bindInput<float>(std::span<const float>(xs), {4}),
                         bindInput<float>(std::span<const float>(ws), {4})},
                        {bindOutput(xs), bindOutput(ws)})
                        .ok());
    EXPECT_EQ(memory, (std::array<float, 8>{10, 20, 30, 40, 1, 2, 3, 4}));
}

TEST_F(ExecutionTest, OutputsThatMeetDoNotDisturbTheOthers) {
    const TensorId y = addActivate(graph, x);
    const TensorId z = addSum(graph, y, y);
    build({x}, {y, z, z});
    std::array<float, 6> memory = {};
    Floats apart(4);
    const Status status = runOnce(*execution, {bindInput(in)},
                                  {bindOutput(std::span(memory).first(4)),
                                   bindOutput(std::span(memory).last(4)), bindOutput(apart)});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(memory, (std::array<float, 6>{2, 3, 4, 6, 8, 10})) << "the last one wins";
    EXPECT_EQ(apart, (Floats{4, 6, 8, 10}));
}

TEST_F(ExecutionTest, NeverWritesToItsInputs) {
    build({x}, {addActivate(graph, addSum(graph, addActivate(graph, x), x))});
    const Floats before = in;
    Floats out(4);
    ASSERT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(in, before);
}

TEST_F(ExecutionTest, UsesOnlyAsMuchOfLongerMemoryAsItNeeds) {
    build({x}, {addActivate(graph, x)});
    const Floats longer = {1, 2, 3, 4, 5};
    Floats out = {0, 0, 0, 0, 9};
    InputBinding input = bindInput(longer);
    input.shape = {4};
    ASSERT_TRUE(runOnce(*execution, {input}, {bindOutput(out)}).ok());
    EXPECT_EQ(out, (Floats{2, 3, 4, 5, 9}));
}

TEST_F(ExecutionTest, TellsTheShapesOfOutputsThatAreTooSmallWithoutRunning) {
    watch(activates);
    const TensorId y = addActivate(graph, x);
    build({x}, {y, addSum(graph, y, y)});
    Floats first(3);
    Floats second(4);
    ExecutionReport report;
    const Status status =
            runOnce(*execution, {bindInput(in)}, {bindOutput(first), bindOutput(second)}, &report);
    EXPECT_EQ(status.code(), StatusCode::OUTPUT_TOO_SMALL);
    EXPECT_EQ(status.message(), "too small: graph output 0 takes 16 bytes but 12 are bound");
    ASSERT_EQ(report.outputs.size(), 2U);
    EXPECT_FALSE(report.outputs[0].sufficient);
    EXPECT_TRUE(report.outputs[1].sufficient);
    EXPECT_EQ(report.outputs[0].shape, Shape({4}));
    EXPECT_EQ(report.outputs[1].shape, Shape({4}));
    EXPECT_TRUE(writtenTo.empty());
    EXPECT_EQ(first, Floats(3));
}

TEST_F(ExecutionTest, RejectsBindingsThatDoNotFitTheGraph) {
    build({x}, {addActivate(graph, x)});
    Floats out(4);
    const OutputBinding output = bindOutput(out);
    const auto codeFor = [&](const std::vector<InputBinding>& inputs,
                             const std::vector<OutputBinding>& outputs) {
        return runOnce(*execution, inputs, outputs).code();
    };
    EXPECT_EQ(codeFor({}, {output}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(codeFor({bindInput(in)}, {}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(codeFor({bindInput(Floats(3))}, {output}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(codeFor({bindInput<float>(std::span(in), {2, 2})}, {output}),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(codeFor({bindInput<float>(std::span(in), {-1})}, {output}),
              StatusCode::INVALID_ARGUMENT);
    InputBinding truncated = bindInput(in);
    truncated.bytes = truncated.bytes.first(15);
    EXPECT_EQ(codeFor({truncated}, {output}), StatusCode::INVALID_ARGUMENT);
    OutputBinding otherShape = output;
    otherShape.shape = {2, 2};
    EXPECT_EQ(codeFor({bindInput(in)}, {otherShape}), StatusCode::INVALID_ARGUMENT);
    otherShape.shape = {-1};
    EXPECT_EQ(codeFor({bindInput(in)}, {otherShape}), StatusCode::OK);
}

TEST_F(ExecutionTest, LetsAnInputBeLeftOutOnlyIfNothingNeedsIt) {
    const TensorId unread = graph.addTensor(float32({9}));
    build({x, unread}, {addActivate(graph, x)});
    Floats out(4);
    InputBinding absent;
    absent.present = false;
    EXPECT_TRUE(runOnce(*execution, {bindInput(in), absent}, {bindOutput(out)}).ok());
    EXPECT_EQ(out, (Floats{2, 3, 4, 5}));
    const Status status = runOnce(*execution, {absent, bindInput(Floats(9))}, {bindOutput(out)});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), "Activates: activate: input 0, the x, can't be left out");
}

TEST_F(ExecutionTest, RunsTensorsWithoutElements) {
    Graph empty;
    const TensorId nothing = empty.addTensor(float32({0, 5}));
    graph = empty;
    build({nothing}, {addActivate(graph, addSum(graph, nothing, nothing)), nothing});
    watch(activates);
    InputBinding input;
    input.shape = {0, 5};
    OutputBinding output;
    const Status status = runOnce(*execution, {input}, {output, output});
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_FALSE(writtenTo.contains(nullptr)) << "an output without elements has an address";
}

TEST_F(ExecutionTest, CarriesAFailureInsideAPartitionOut) {
    build({x}, {addSum(graph, addActivate(graph, x), x)});
    adds.onRun = [](const RunArguments&) { return internalError("the unit is on fire"); };
    Floats out(4);
    Status status = runOnce(*execution, {bindInput(in)}, {bindOutput(out)});
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(status.message(), "Adds: the unit is on fire");
    adds.onRun = nullptr;
    EXPECT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(out)}).ok())
            << "the next run is not affected";
    EXPECT_EQ(out, (Floats{3, 5, 7, 9}));
}

TEST_F(ExecutionTest, StopsAtAPassedDeadline) {
    watch(activates);
    build({x}, {addActivate(graph, x)});
    Floats out(4);
    const std::vector<InputBinding> inputs = {bindInput(in)};
    const std::vector<OutputBinding> outputs = {bindOutput(out)};
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    EXPECT_EQ(execution->run(inputs, outputs, {.deadline = past}, nullptr).code(),
              StatusCode::DEADLINE_EXCEEDED);
    EXPECT_TRUE(writtenTo.empty()) << "no partition ran";
    const auto future = std::chrono::steady_clock::now() + std::chrono::hours(1);
    EXPECT_TRUE(execution->run(inputs, outputs, {.deadline = future}, nullptr).ok());
}

TEST_F(ExecutionTest, LetsAPartitionSeeThatTheDeadlineHasPassed) {
    build({x}, {addActivate(graph, x)});
    activates.onRun = [](const RunArguments& arguments) {
        while (!arguments.checkpoint.expired()) {
        }
        return Status();
    };
    Floats out(4);
    const std::vector<InputBinding> inputs = {bindInput(in)};
    const std::vector<OutputBinding> outputs = {bindOutput(out)};
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    EXPECT_EQ(execution->run(inputs, outputs, {.deadline = soon}, nullptr).code(),
              StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ExecutionTest, GivesPartitionsAThreadPoolAndAlignedWorkspace) {
    const TensorId y = addActivate(graph, addActivate(graph, x));
    build({x}, {addActivate(graph, addSum(graph, y, x))});
    size_t runs = 0;
    activates.onRun = [&](const RunArguments& arguments) {
        ++runs;
        EXPECT_NE(arguments.threads, nullptr);
        const auto address = reinterpret_cast<uintptr_t>(arguments.workspace.data());
        EXPECT_EQ(address % kTensorAlignment, 0U);
        return Status();
    };
    Floats out(4);
    ASSERT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(runs, 2U);
    EXPECT_EQ(out, (Floats{5, 7, 9, 11}));
}

}  // namespace
}  // namespace halyard::engine
