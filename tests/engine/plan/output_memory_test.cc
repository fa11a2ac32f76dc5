// SPDX-License-Identifier: Apache-2.0
//
// Memory that a run asks for: outputs whose size only the run tells go straight to where the caller
// says, and the program runs once. What the caller gives is checked before anything is written.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"
#include "tests/second_backend/distant_backend.h"

namespace halyard::engine {
namespace {

// Gives of one block after the other, and writes down what was asked for.
class Giver : public OutputMemory {
  public:
    struct Asked {
        size_t output;
        Shape shape;
        size_t bytes;
        size_t alignment;
    };

    Result<std::span<uint8_t>> allocate(size_t output, const Shape& shape, size_t bytes,
                                        size_t alignment) override {
        asked.push_back({output, shape, bytes, alignment});
        if (gives != nullptr) {
            return gives(output, bytes);
        }
        blocks[output].resize((bytes + sizeof(float) - 1) / sizeof(float));
        return std::span(reinterpret_cast<uint8_t*>(blocks[output].data()), bytes);
    }

    std::vector<Asked> asked;
    std::vector<Floats> blocks = std::vector<Floats>(8);
    std::function<Result<std::span<uint8_t>>(size_t output, size_t bytes)> gives;
};

std::span<uint8_t> bytesOf(Floats& floats) {
    return {reinterpret_cast<uint8_t*>(floats.data()), floats.size() * sizeof(float)};
}

class AskedMemory : public testing::Test {
  protected:
    // x [6] and a shape that comes with the run; y has that shape, which only the run tells, and
    // z = y + 1.
    static Graph reshaping() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({6}));
        const TensorId shape = graph.addTensor(int32({2}));
        graph.setInputs({x, shape});
        const TensorId y = addNode(graph, Reshape(), {x, shape}, "reshape");
        graph.setOutputs({y, addSum(graph, y, addConstant<float>(graph, float32({1}), {1}))});
        return graph;
    }

    Status run(Execution& execution, const std::vector<InputBinding>& inputs,
               const std::vector<OutputBinding>& outputs) {
        return execution.run(inputs, outputs, {.outputMemory = &giver}, &report);
    }

    const std::unique_ptr<const Backend> ref = makeCpuRef();
    Giver giver;
    ExecutionReport report;
    Floats in = {1, 2, 3, 4, 5, 6};
    std::vector<int32_t> extents = {2, 3};
};

TEST_F(AskedMemory, IsAskedForOnceTheRunKnowsTheShapeAndWrittenInPlace) {
    Execution execution = Execution::create(buildOrDie(reshaping(), {ref.get()})).value();
    const Status status =
            run(execution, {bindInput(in), bindInput(extents)}, {OutputBinding(), OutputBinding()});
    ASSERT_TRUE(status.ok()) << status.toString();
    ASSERT_EQ(giver.asked.size(), 2U);
    for (const size_t i : {0U, 1U}) {
        EXPECT_EQ(giver.asked[i].output, i);
        EXPECT_EQ(giver.asked[i].shape, Shape({2, 3}));
        EXPECT_EQ(giver.asked[i].bytes, 24U);
        EXPECT_EQ(giver.asked[i].alignment, sizeof(float));
        EXPECT_TRUE(report.outputs[i].sufficient);
    }
    EXPECT_EQ(giver.blocks[0], in);
    EXPECT_EQ(giver.blocks[1], (Floats{2, 3, 4, 5, 6, 7}));
    // The shape is a control input in memory that others may write to.
    EXPECT_EQ(report.bindingBytes, extents.size() * sizeof(int32_t));
}

TEST_F(AskedMemory, ComputesEachNodeOnce) {
    FakeBackend fake("Fake", kAllFakeKinds);
    int runs = 0;
    fake.onRun = [&](const RunArguments&) {
        ++runs;
        return Status();
    };
    Execution execution = Execution::create(buildOrDie(reshaping(), {&fake})).value();
    ASSERT_TRUE(
            run(execution, {bindInput(in), bindInput(extents)}, {OutputBinding(), OutputBinding()})
                    .ok());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(giver.blocks[1], (Floats{2, 3, 4, 5, 6, 7}));
}

TEST_F(AskedMemory, IsNotAskedForWhatFitsIsUnwantedOrHasNoElements) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x), addActivate(graph, x), addActivate(graph, x)});
    FakeBackend fake("Fake", kAllFakeKinds);
    Execution execution = Execution::create(buildOrDie(std::move(graph), {&fake})).value();
    Floats roomy(7);
    ASSERT_TRUE(
            run(execution, {bindInput(in)}, {bindOutput(roomy), unwanted(), OutputBinding()}).ok());
    ASSERT_EQ(giver.asked.size(), 1U);
    EXPECT_EQ(giver.asked[0].output, 2U);
    EXPECT_EQ(roomy, (Floats{2, 3, 4, 5, 6, 7, 0}));
    EXPECT_EQ(giver.blocks[2], (Floats{2, 3, 4, 5, 6, 7}));

    const Floats none;
    ASSERT_TRUE(run(execution, {bindInput(none)}, {bindOutput(roomy), unwanted(), OutputBinding()})
                        .ok());
    EXPECT_EQ(giver.asked.size(), 1U);
    EXPECT_EQ(report.outputs[2].shape, Shape({0}));
}

TEST_F(AskedMemory, ComesInPlaceOfRoomThatIsTooSmall) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({6}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    FakeBackend fake("Fake", kAllFakeKinds);
    Execution execution = Execution::create(buildOrDie(std::move(graph), {&fake})).value();
    Floats small(3, -1);
    ASSERT_TRUE(run(execution, {bindInput(in)}, {bindOutput(small)}).ok());
    EXPECT_EQ(small, Floats(3, -1));
    EXPECT_EQ(giver.blocks[0], (Floats{2, 3, 4, 5, 6, 7}));
    // Without an OutputMemory it fails as before.
    EXPECT_EQ(runOnce(execution, {bindInput(in)}, {bindOutput(small)}).code(),
              StatusCode::OUTPUT_TOO_SMALL);
}

TEST_F(AskedMemory, ReplacesRoomThatOverlappedAnInput) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({6}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    FakeBackend fake("Fake", kAllFakeKinds);
    Execution execution = Execution::create(buildOrDie(std::move(graph), {&fake})).value();
    const Floats before = in;
    ASSERT_TRUE(run(execution, {bindInput(in)}, {bindOutput(std::span(in).first(3))}).ok());
    EXPECT_EQ(in, before);
    EXPECT_EQ(report.bindingBytes, 0U);
    EXPECT_EQ(giver.blocks[0], (Floats{2, 3, 4, 5, 6, 7}));
}

TEST_F(AskedMemory, TakesWhatIsNoStepsOutput) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({6}));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x);
    graph.setOutputs({x, y, addConstant<float>(graph, float32({2}), {8, 9}), y});
    FakeBackend fake("Fake", kAllFakeKinds);
    Execution execution = Execution::create(buildOrDie(std::move(graph), {&fake})).value();
    std::vector<OutputBinding> outputs(4);
    outputs[0] = bindOutput(std::span(in).first(3));
    ASSERT_TRUE(run(execution, {bindInput(in)}, outputs).ok());
    EXPECT_EQ(giver.asked.size(), 4U);
    EXPECT_EQ(report.bindingBytes, 24U + 8U + 24U) << "each once, but for what was written there";
    EXPECT_EQ(giver.blocks[0], in);
    EXPECT_EQ(giver.blocks[1], (Floats{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(giver.blocks[2], (Floats{8, 9}));
    EXPECT_EQ(giver.blocks[3], giver.blocks[1]);
}

TEST_F(AskedMemory, TakesResultsOfControlFlowOfAnyShape) {
    const auto inside = [](bool reshapes) {
        Graph graph;
        const TensorId x = graph.addTensor(float32({6}));
        const TensorId shape = graph.addTensor(int32({2}));
        graph.setInputs({x, shape});
        graph.setOutputs({reshapes ? addNode(graph, Reshape(), {x, shape}) : addSum(graph, x, x)});
        return NestedGraph{std::make_shared<const Graph>(std::move(graph))};
    };
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({6}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({condition, x, shape});
    graph.setOutputs({addNode(graph, If{.then = inside(true), .otherwise = inside(false)},
                              {condition, x, shape}, "operation 0 (IF)")});
    Execution execution = Execution::create(buildOrDie(std::move(graph), {ref.get()})).value();
    for (const uint8_t taken : {1, 0}) {
        const std::vector<uint8_t> bytes = {taken};
        const Status status = run(execution, {bindInput(bytes), bindInput(in), bindInput(extents)},
                                  {OutputBinding()});
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(giver.asked.back().shape, taken != 0 ? Shape({2, 3}) : Shape({6}));
        EXPECT_EQ(giver.blocks[0], taken != 0 ? in : (Floats{2, 4, 6, 8, 10, 12}));
    }
    EXPECT_EQ(giver.asked.size(), 2U) << "once for each run";
}

TEST_F(AskedMemory, TakesWhatADeviceHasComputed) {
    const DistantBackend distant(Takes::ALL);
    Execution execution = Execution::create(buildOrDie(reshaping(), {&distant, ref.get()})).value();
    const Status status =
            run(execution, {bindInput(in), bindInput(extents)}, {OutputBinding(), OutputBinding()});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(giver.asked.size(), 2U);
    EXPECT_EQ(giver.blocks[0], in);
    EXPECT_EQ(giver.blocks[1], (Floats{2, 3, 4, 5, 6, 7}));
}

TEST_F(AskedMemory, AllocatesNothingInTheSteadyState) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    FakeBackend fake("Fake", kAllFakeKinds);
    Execution execution = Execution::create(buildOrDie(std::move(graph), {&fake})).value();
    Floats out(6);
    giver.asked.reserve(8);
    giver.gives = [&](size_t, size_t) { return bytesOf(out); };
    const std::vector<InputBinding> inputs = {bindInput(in)};
    const std::vector<OutputBinding> outputs(1);
    ASSERT_TRUE(run(execution, inputs, outputs).ok());
    const size_t before = allocationCount();
    ASSERT_TRUE(run(execution, inputs, outputs).ok());
    EXPECT_EQ(allocationCount(), before);
    EXPECT_EQ(giver.asked.size(), 2U);
    EXPECT_EQ(report.bindingBytes, 0U);
}

// ---- What is given wrong ------------------------------------------------------------------------

class WrongMemory : public AskedMemory {
  protected:
    WrongMemory() {
        fake.onRun = [this](const RunArguments&) {
            ++runs;
            return Status();
        };
        Graph graph;
        const TensorId x = graph.addTensor(float32({6}));
        graph.setInputs({x});
        graph.setOutputs({addActivate(graph, x), addActivate(graph, x)});
        execution.emplace(Execution::create(buildOrDie(std::move(graph), {&fake})).value());
    }
    // Of a run whose first output has room.
    Status runWith(std::function<Result<std::span<uint8_t>>(size_t output, size_t bytes)> gives) {
        giver.gives = std::move(gives);
        return run(*execution, {bindInput(in)}, {bindOutput(first), OutputBinding()});
    }
    void expectRefused(const Status& status, const std::string& says) {
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_NE(status.message().find(says), std::string::npos) << status.message();
        EXPECT_EQ(runs, 0) << "the shape was known before";
        // The execution is as good as before.
        EXPECT_TRUE(runWith([&](size_t, size_t) { return bytesOf(second); }).ok());
        EXPECT_EQ(second, (Floats{2, 3, 4, 5, 6, 7}));
    }

    FakeBackend fake{"Fake", kAllFakeKinds};
    std::optional<Execution> execution;
    Floats first = Floats(6);
    Floats second = Floats(6);
    int runs = 0;
};

TEST_F(WrongMemory, EndsTheRunWithTheRefusal) {
    const Status status = runWith([](size_t, size_t) -> Result<std::span<uint8_t>> {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "there is none left");
    });
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.message(), "graph output 1: there is none left");
    EXPECT_EQ(runs, 0);
}

TEST_F(WrongMemory, IsRefusedWhereItIsMisaligned) {
    std::vector<uint8_t> bytes(32);
    expectRefused(runWith([&](size_t, size_t size) { return std::span(bytes).subspan(1, size); }),
                  "graph output 1: the memory given for it starts at no multiple of 4");
}

TEST_F(WrongMemory, IsRefusedWhereItIsShortOrNull) {
    expectRefused(runWith([&](size_t, size_t) { return bytesOf(second).first(20); }),
                  "has 20 bytes; it was asked for 24");
    runs = 0;
    expectRefused(runWith([](size_t, size_t) { return std::span<uint8_t>(); }), "has 0 bytes");
}

TEST_F(WrongMemory, IsRefusedWhereItOverlapsABinding) {
    expectRefused(runWith([&](size_t, size_t) { return bytesOf(in); }), "overlaps graph input 0");
    runs = 0;
    expectRefused(runWith([&](size_t, size_t) { return bytesOf(first); }),
                  "overlaps graph output 0");
}

TEST_F(WrongMemory, IsRefusedWhereItIsGivenTwice) {
    giver.gives = [&](size_t, size_t) { return bytesOf(second); };
    const Status status = run(*execution, {bindInput(in)}, {OutputBinding(), OutputBinding()});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("overlaps graph output 0"), std::string::npos);
}

}  // namespace
}  // namespace halyard::engine
