// SPDX-License-Identifier: Apache-2.0
//
// Executions whose shapes the inputs, or the data, decide.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

constexpr int32_t kUnknown = kUnknownDimension;

class DynamicBatch : public testing::Test {
  protected:
    // [batch, 3] -> activate | add | activate
    void build() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({kUnknown, 3}));
        graph.setInputs({x});
        const TensorId y = addActivate(graph, x);
        graph.setOutputs({addActivate(graph, addSum(graph, y, x)), y});
        program = buildOrDie(graph, {&activates, &adds});
    }

    // The sum of the first output's elements for a batch of ones; checks all shapes.
    float runBatch(Execution& execution, int32_t batch) {
        const Floats in(static_cast<size_t>(batch) * 3, 1);
        Floats out(in.size());
        Floats other(in.size());
        ExecutionReport report;
        const Status status = runOnce(execution, {bindInput<float>(std::span(in), {batch, 3})},
                                      {bindOutput(out), bindOutput(other)}, &report);
        EXPECT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(report.outputs[0].shape, Shape({batch, 3}));
        EXPECT_EQ(report.outputs[1].shape, Shape({batch, 3}));
        float sum = 0;
        for (const float element : out) {
            sum += element;
        }
        return sum;
    }

    FakeBackend activates{"Activates", {NodeKind::Activate}};
    FakeBackend adds{"Adds", {NodeKind::Binary}};
    std::shared_ptr<const Program> program;
};

TEST_F(DynamicBatch, TakesItsShapesFromTheInputs) {
    build();
    Execution execution = Execution::create(program).value();
    for (const int32_t batch : {2, 5, 1, 0, 2}) {
        EXPECT_EQ(runBatch(execution, batch), 4.0F * 3.0F * static_cast<float>(batch));
    }
}

TEST_F(DynamicBatch, SpecialisesOncePerSetOfShapesForAllExecutions) {
    build();
    EXPECT_EQ(activates.specialized + adds.specialized, 0);
    Execution first = Execution::create(program).value();
    Execution second = Execution::create(program).value();
    runBatch(first, 2);
    EXPECT_EQ(activates.specialized + adds.specialized, 3) << "once for each partition";
    runBatch(second, 2);
    runBatch(first, 2);
    EXPECT_EQ(activates.specialized + adds.specialized, 3);
    runBatch(second, 3);
    EXPECT_EQ(activates.specialized + adds.specialized, 6);
}

TEST_F(DynamicBatch, ForgetsThePlansThatWereUsedLongestAgo) {
    build();
    Execution execution = Execution::create(program).value();
    for (int32_t batch = 1; batch <= 100; ++batch) {
        runBatch(execution, batch);
    }
    const int before = adds.specialized;
    EXPECT_EQ(before, 100);
    runBatch(execution, 100);
    EXPECT_EQ(adds.specialized, before);
    runBatch(execution, 1);
    EXPECT_EQ(adds.specialized, before + 1);
}

TEST_F(DynamicBatch, RejectsShapesThatTheGraphForbids) {
    build();
    Execution execution = Execution::create(program).value();
    const Floats in(8);
    Floats out(8);
    const std::vector<OutputBinding> outputs = {bindOutput(out), unwanted()};
    for (const Shape& shape : {Shape({2, 4}), Shape({8}), Shape({kUnknown, 3})}) {
        EXPECT_EQ(runOnce(execution, {bindInput<float>(std::span(in), shape)}, outputs).code(),
                  StatusCode::INVALID_ARGUMENT)
                << shape.toString();
    }
    const int32_t most = std::numeric_limits<int32_t>::max();
    EXPECT_EQ(runOnce(execution, {bindInput<float>(std::span(in), {most, 3})}, outputs).code(),
              StatusCode::INVALID_ARGUMENT)
            << "more elements than can be counted";
}

TEST_F(DynamicBatch, TellsHowLargeOutputsWouldBe) {
    build();
    Execution execution = Execution::create(program).value();
    const Floats in(6);
    Floats out(3);
    ExecutionReport report;
    const Status status = runOnce(execution, {bindInput<float>(std::span(in), {2, 3})},
                                  {bindOutput(out), bindOutput(out)}, &report);
    EXPECT_EQ(status.code(), StatusCode::OUTPUT_TOO_SMALL);
    EXPECT_EQ(report.outputs[0].shape, Shape({2, 3}));
    EXPECT_FALSE(report.outputs[0].sufficient);
}

TEST_F(DynamicBatch, CarriesOutWhatABackendSaysAboutShapes) {
    build();
    adds.onSpecialize = [](std::span<const TensorType* const> inputs) {
        return inputs[0]->shape[0] > 4 ? unsupported("batches above 4 are too much") : Status();
    };
    Execution execution = Execution::create(program).value();
    runBatch(execution, 4);
    const Floats in(15);
    const Status status =
            runOnce(execution, {bindInput<float>(std::span(in), {5, 3})}, {unwanted(), unwanted()});
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(), "Adds: batches above 4 are too much");
    runBatch(execution, 4);
}

// x [6] and a shape that comes with the request: only the run tells what y and all behind it are.
class ShapeFromData : public testing::Test {
  protected:
    ShapeFromData() {
        x = graph.addTensor(float32({6}));
        shape = graph.addTensor(int32({2}));
        graph.setInputs({x, shape});
    }

    void build(std::vector<TensorId> outputs) {
        graph.setOutputs(std::move(outputs));
        program = buildOrDie(graph, {&reshapes, &computes});
        execution = std::make_unique<Execution>(Execution::create(program).value());
    }

    Status run(const std::vector<int32_t>& requested, const std::vector<OutputBinding>& outputs) {
        return runOnce(*execution, {bindInput(in), bindInput(requested)}, outputs, &report);
    }

    FakeBackend reshapes{"Reshapes", {NodeKind::Reshape}};
    FakeBackend computes{"Computes", {NodeKind::Activate, NodeKind::Binary}};
    Graph graph;
    TensorId x = kNoTensor;
    TensorId shape = kNoTensor;
    std::shared_ptr<const Program> program;
    std::unique_ptr<Execution> execution;
    ExecutionReport report;
    const Floats in = {1, 2, 3, 4, 5, 6};
};

TEST_F(ShapeFromData, IsKnownToAllThatFollows) {
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    build({addActivate(graph, y), y});
    Floats out(6);
    Floats copy(6);
    for (const std::vector<int32_t>& requested :
         {std::vector<int32_t>{2, 3}, std::vector<int32_t>{6, 1}, std::vector<int32_t>{-1, 2}}) {
        out.assign(6, 0);
        const Status status = run(requested, {bindOutput(out), bindOutput(copy)});
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(out, (Floats{2, 3, 4, 5, 6, 7}));
        EXPECT_EQ(copy, in);
        const Shape expected({requested[0] < 0 ? 3 : requested[0], requested[1]});
        EXPECT_EQ(report.outputs[0].shape, expected);
        EXPECT_EQ(report.outputs[1].shape, expected);
    }
}

TEST_F(ShapeFromData, IsWrittenInPlaceWhereTheCallersMemoryWillDo) {
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    build({y, addActivate(graph, y)});
    Floats first(6);
    const void* read = nullptr;
    computes.onRun = [&](const RunArguments& arguments) {
        read = arguments.inputs[0].data;
        return Status();
    };
    ASSERT_TRUE(run({2, 3}, {bindOutput(first), unwanted()}).ok());
    EXPECT_EQ(read, first.data());
}

TEST_F(ShapeFromData, CanPassThroughSeveralPartitions) {
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    const TensorId flat =
            addNode(graph, Reshape(),
                    {addActivate(graph, y), addConstant<int32_t>(graph, int32({1}), {-1})});
    const TensorId sum = addSum(graph, flat, x);
    build({sum});
    Floats out(6);
    const Status status = run({3, 2}, {bindOutput(out)});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out, (Floats{3, 5, 7, 9, 11, 13}));
    EXPECT_EQ(report.outputs[0].shape, Shape({6}));
}

TEST_F(ShapeFromData, LeavesIndependentPartsPlanned) {
    const TensorId planned = addActivate(graph, x);
    const TensorId y = addNode(graph, Reshape(), {planned, shape});
    build({addSum(graph, y, y), planned});
    EXPECT_EQ(computes.specialized, 1) << "the first activation, when the program was built";
    Floats out(6);
    Floats first(6);
    for (int i = 0; i < 3; ++i) {
        const Status status = run({1, 6}, {bindOutput(out), bindOutput(first)});
        ASSERT_TRUE(status.ok()) << status.toString();
    }
    EXPECT_EQ(computes.specialized, 2) << "the sum, once, for the shape that the data gave";
    EXPECT_EQ(out, (Floats{4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(first, (Floats{2, 3, 4, 5, 6, 7}));
}

TEST_F(ShapeFromData, TellsAllShapesWhenSomeOutputIsTooSmall) {
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    const TensorId z = addActivate(graph, x);
    build({addActivate(graph, y), z, y});
    Floats small(2);
    Floats large(6);
    const Status status = run({2, 3}, {bindOutput(large), bindOutput(small), bindOutput(small)});
    EXPECT_EQ(status.code(), StatusCode::OUTPUT_TOO_SMALL) << status.toString();
    EXPECT_EQ(report.outputs[0].shape, Shape({2, 3}));
    EXPECT_TRUE(report.outputs[0].sufficient);
    EXPECT_EQ(report.outputs[1].shape, Shape({6}));
    EXPECT_FALSE(report.outputs[1].sufficient);
    EXPECT_EQ(report.outputs[2].shape, Shape({2, 3}));
    EXPECT_FALSE(report.outputs[2].sufficient);
    EXPECT_EQ(small, Floats(2)) << "nothing is written beyond or into what is too small";
}

TEST_F(ShapeFromData, MustAgreeWithWhatTheCallerExpects) {
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    build({y});
    Floats out(6);
    OutputBinding output = bindOutput(out);
    output.shape = {kUnknown, 2};
    EXPECT_TRUE(run({3, 2}, {output}).ok());
    const Status status = run({2, 3}, {output});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ShapeFromData, MustAgreeWithTheGraph) {
    const TensorId y = addNode(graph, Reshape(), {x, shape}, "reshape", {kUnknown, 2});
    build({y});
    Floats out(6);
    EXPECT_TRUE(run({3, 2}, {bindOutput(out)}).ok());
    EXPECT_EQ(run({2, 3}, {bindOutput(out)}).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ShapeFromData, ThatTheGraphForeseesIsPlannedFor) {
    // The graph knows y although its backend finds it only at run time: z is static.
    const TensorId y = addNode(graph, Reshape(), {x, shape}, "reshape", {3, 2});
    build({addActivate(graph, y)});
    EXPECT_EQ(computes.specialized, 1);
    EXPECT_GT(program->arenaBytes(), 0U);
    Floats out(6);
    const Status status = run({3, 2}, {bindOutput(out)});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out, (Floats{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(run({2, 3}, {bindOutput(out)}).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ShapeFromData, TakesACopyWhereTheOutputMeetsAnInput) {
    const TensorId y = addNode(graph, Reshape(), {x, shape});
    build({addActivate(graph, y), y});
    Floats memory = in;
    Floats other(6);
    const std::vector<int32_t> requested = {2, 3};
    const Status status = runOnce(*execution, {bindInput(memory), bindInput(requested)},
                                  {bindOutput(memory), bindOutput(other)}, &report);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(memory, (Floats{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(other, in);
}

// A backend that breaks the rules of the interface must not take the process with it.
class RuleBreaking : public ShapeFromData {
  protected:
    // Builds, which may fail, and runs.
    Status runWith(std::function<Status(const RunArguments&)> onRun) {
        reshapes.onRun = std::move(onRun);
        graph.setOutputs({addNode(graph, Reshape(), {x, shape})});
        HALYARD_ASSIGN_OR_RETURN(program, Program::build(graph, {&reshapes}, nullptr));
        execution = std::make_unique<Execution>(Execution::create(program).value());
        Floats out(6);
        return run({2, 3}, {bindOutput(out)});
    }
};

TEST_F(RuleBreaking, AllocatingAnOutputThatIsNotThereIsAnError) {
    EXPECT_EQ(runWith([](const RunArguments& arguments) {
                  return arguments.allocator->allocate(1, {2, 3}).status();
              }).code(),
              StatusCode::INTERNAL);
}

TEST_F(RuleBreaking, AllocatingAnUnknownShapeIsAnError) {
    EXPECT_EQ(runWith([](const RunArguments& arguments) {
                  return arguments.allocator->allocate(0, {kUnknown, 3}).status();
              }).code(),
              StatusCode::INTERNAL);
}

TEST_F(RuleBreaking, AllocatingTwiceGivesTheSameMemoryOrFails) {
    EXPECT_EQ(runWith([](const RunArguments& arguments) {
                  const Result<TensorView> first = arguments.allocator->allocate(0, {2, 3});
                  const Result<TensorView> second = arguments.allocator->allocate(0, {2, 3});
                  EXPECT_EQ(first->data, second->data);
                  return arguments.allocator->allocate(0, {3, 2}).status();
              }).code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_F(RuleBreaking, ComputingNothingIsAnError) {
    reshapes.computesNothing = true;
    const Status status = runWith(nullptr);
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(status.message(), "Reshapes computed no output 0 of a partition");
}

TEST_F(RuleBreaking, MiscountingOutputsIsAnError) {
    reshapes.onOutputTypes = [](std::vector<TensorType>& types) { types.emplace_back(); };
    EXPECT_EQ(runWith(nullptr).code(), StatusCode::INTERNAL);
}

TEST_F(RuleBreaking, ReportingAnotherTypeIsAnError) {
    reshapes.onOutputTypes = [](std::vector<TensorType>& types) {
        types[0].type = DataType::FLOAT16;
    };
    EXPECT_EQ(runWith(nullptr).code(), StatusCode::INTERNAL);
}

TEST_F(RuleBreaking, ReportingAShapeThatTheGraphForbidsIsAnError) {
    reshapes.onOutputTypes = [](std::vector<TensorType>& types) { types[0].shape = {7, 7, 7}; };
    EXPECT_EQ(runWith(nullptr).code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::engine
