// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a device that a caller binds: partitions there use them where they lie, so that one
// program's output is another's input and no byte comes to the host; all else has them copied, and
// counted.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/second_backend/distant_backend.h"

namespace halyard::engine {
namespace {

constexpr int32_t kBoundElements = 6;
constexpr size_t kBoundBytes = kBoundElements * sizeof(float);

// A block that a test has on the device.
struct Block {
    DistantMemory& memory;
    std::unique_ptr<DeviceBuffer> buffer;

    DeviceBytes bytes(size_t offset = 0, size_t size = kBoundBytes) const {
        return {.memory = &memory,
                .place = {.buffer = buffer.get(), .offset = offset},
                .bytes = size};
    }
    InputBinding input(size_t offset = 0, Shape shape = {kBoundElements}) const {
        InputBinding binding;
        binding.shape = shape;
        binding.device = bytes(offset, std::min(kBoundBytes, buffer->size() - offset));
        return binding;
    }
    OutputBinding output(size_t offset = 0, size_t size = kBoundBytes) const {
        OutputBinding binding;
        binding.device = bytes(offset, size);
        return binding;
    }
    void write(const Floats& floats, size_t offset = 0) const {
        EXPECT_TRUE(memory.copyIn(bytes(offset).place, std::as_bytes(std::span(floats)), {}).ok());
    }
    Floats read(size_t offset = 0, size_t count = kBoundElements) const {
        Floats floats(count);
        EXPECT_TRUE(
                memory.copyOut(std::as_writable_bytes(std::span(floats)), bytes(offset).place, {})
                        .ok());
        return floats;
    }
};

class DeviceBindings : public testing::Test {
  protected:
    Block block(size_t bytes = kBoundBytes) {
        return {*mDistant->memory(), mDistant->memory()->allocate(bytes).value()};
    }
    Block blockOf(const Floats& floats) {
        Block made = block(floats.size() * sizeof(float));
        made.write(floats);
        return made;
    }
    void takes(Takes what) { mDistant = std::make_unique<DistantBackend>(what); }
    Execution executionOf(Graph graph) {
        return Execution::create(buildOrDie(std::move(graph), {mDistant.get(), mRef.get()}))
                .value();
    }
    // A run that must succeed.
    void run(Execution& execution, const std::vector<InputBinding>& inputs,
             const std::vector<OutputBinding>& outputs) {
        const Status status = runOnce(execution, inputs, outputs, &report);
        EXPECT_TRUE(status.ok()) << status.toString();
    }
    static Graph graphOf(const std::function<TensorId(Graph&, TensorId)>& nodes,
                         Shape shape = {kBoundElements}) {
        Graph graph;
        const TensorId x = graph.addTensor(float32(shape));
        graph.setInputs({x});
        graph.setOutputs({nodes(graph, x)});
        return graph;
    }

    std::unique_ptr<DistantBackend> mDistant = std::make_unique<DistantBackend>(Takes::ALL);
    const std::unique_ptr<const Backend> mRef = makeCpuRef();
    const Floats mIn = {-1, 2, -3, 4, -5, 6};
    ExecutionReport report;
};

TensorId doubled(Graph& graph, TensorId x) {
    return addSum(graph, x, x, "double");
}

TEST_F(DeviceBindings, AreUsedWhereTheyLieOnTheirDevice) {
    Execution execution = executionOf(graphOf(doubled));
    const Block in = blockOf(mIn);
    const Block out = block();
    const size_t before = mDistant->memory()->copiedBytes;
    run(execution, {in.input()}, {out.output()});
    EXPECT_EQ(mDistant->memory()->copiedBytes, before) << "in either direction";
    EXPECT_EQ(report.copies, 0U);
    EXPECT_EQ(report.copiedBytes + report.bindingBytes, 0U);
    EXPECT_EQ(out.read(), (Floats{-2, 4, -6, 8, -10, 12}));
    EXPECT_EQ(in.read(), mIn);
}

TEST_F(DeviceBindings, LetOneProgramReadWhatAnotherHasLeft) {
    Execution first = executionOf(graphOf(doubled));
    Execution second = executionOf(
            graphOf([](Graph& graph, TensorId x) { return doubled(graph, doubled(graph, x)); }));
    const Block in = blockOf(mIn);
    const Block between = block();
    const Block out = block();
    const size_t before = mDistant->memory()->copiedBytes;
    for (int round = 0; round < 3; ++round) {
        run(first, {in.input()}, {between.output()});
        run(second, {between.input()}, {out.output()});
        EXPECT_EQ(report.copiedBytes, 0U);
    }
    EXPECT_EQ(mDistant->memory()->copiedBytes, before);
    EXPECT_EQ(out.read(), (Floats{-8, 16, -24, 32, -40, 48}));
}

TEST_F(DeviceBindings, MayBeMixedWithPointersFromRunToRun) {
    Execution execution = executionOf(graphOf(doubled));
    const Block in = blockOf(mIn);
    const Block out = block();
    Floats here(kBoundElements);
    run(execution, {in.input()}, {bindOutput(here)});
    EXPECT_EQ(here, (Floats{-2, 4, -6, 8, -10, 12}));
    EXPECT_EQ(report.copiedBytes, kBoundBytes);
    run(execution, {bindInput(here)}, {out.output()});
    EXPECT_EQ(out.read(), (Floats{-4, 8, -12, 16, -20, 24}));
    EXPECT_EQ(report.copiedBytes, kBoundBytes);
    run(execution, {bindInput(here)}, {bindOutput(here)});
    EXPECT_EQ(here, out.read());
    EXPECT_EQ(report.copiedBytes, 2 * kBoundBytes);
}

TEST_F(DeviceBindings, StartAnywhereThatTheDeviceAligns) {
    Execution execution = executionOf(graphOf(doubled));
    const Block both = block(4 * DistantMemory::kAlignment);
    both.write(mIn, DistantMemory::kAlignment);
    run(execution, {both.input(DistantMemory::kAlignment)},
        {both.output(3 * DistantMemory::kAlignment)});
    EXPECT_EQ(report.copiedBytes + report.bindingBytes, 0U);
    EXPECT_EQ(both.read(3 * DistantMemory::kAlignment), (Floats{-2, 4, -6, 8, -10, 12}));
}

TEST_F(DeviceBindings, AreRefusedOutsideTheirBlockOrMisaligned) {
    Execution execution = executionOf(graphOf(doubled));
    const Block one = blockOf(mIn);
    const Block large = block(4 * DistantMemory::kAlignment);
    InputBinding past = one.input();
    past.device.bytes = kBoundBytes + 1;
    EXPECT_EQ(runOnce(execution, {past}, {large.output()}).code(), StatusCode::INVALID_ARGUMENT);
    const Status misaligned = runOnce(execution, {large.input(4)}, {large.output()});
    EXPECT_EQ(misaligned.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(misaligned.message(),
              "graph input 0: it starts at offset 4 of a device's block, no multiple of 256");
    EXPECT_EQ(runOnce(execution, {one.input()}, {one.output(0, kBoundBytes + 1)}).code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(runOnce(execution, {one.input()}, {large.output(4)}).message(),
              "graph output 0: it starts at offset 4 of a device's block, no multiple of 256");
    InputBinding none = one.input();
    none.device.place.buffer = nullptr;
    EXPECT_EQ(runOnce(execution, {none}, {large.output()}).code(), StatusCode::INVALID_ARGUMENT);
    run(execution, {one.input()}, {large.output()});
}

TEST_F(DeviceBindings, MayOverlap) {
    Execution execution = executionOf(
            graphOf([](Graph& graph, TensorId x) { return addSum(graph, doubled(graph, x), x); }));
    const Block both = blockOf(mIn);
    run(execution, {both.input()}, {both.output()});
    EXPECT_EQ(both.read(), (Floats{-3, 6, -9, 12, -15, 18}));
    EXPECT_EQ(report.copiedBytes, 0U) << "not by the host";
    EXPECT_EQ(report.bindingBytes, kBoundBytes);
}

TEST_F(DeviceBindings, ThatAreTooSmallAreToldAsOthersAre) {
    Execution execution = executionOf(graphOf(doubled, {kUnknownDimension}));
    const Block in = blockOf(mIn);
    const Block out = block();
    EXPECT_EQ(runOnce(execution, {in.input(0, {kBoundElements})}, {out.output(0, kBoundBytes - 1)},
                      &report)
                      .code(),
              StatusCode::OUTPUT_TOO_SMALL);
    EXPECT_FALSE(report.outputs[0].sufficient);
    EXPECT_EQ(runOnce(execution, {in.input(0, {kBoundElements + 1})}, {out.output()}).code(),
              StatusCode::INVALID_ARGUMENT);
    run(execution, {in.input(0, {2})}, {out.output()});
    EXPECT_EQ(out.read(0, 2), (Floats{-2, 4}));
    run(execution, {in.input(0, {0})}, {out.output()});
    EXPECT_EQ(report.outputs[0].shape, Shape({0}));
}

TEST_F(DeviceBindings, TakeShapesThatOnlyTheRunTells) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kBoundElements}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({x, shape});
    graph.setOutputs({doubled(graph, addNode(graph, Reshape(), {x, shape}, "reshape"))});
    for (const Takes what : {Takes::ALL, Takes::FORESEEN, Takes::EVERY_SECOND}) {
        takes(what);
        Execution execution = executionOf(graph);
        const Block in = blockOf(mIn);
        const Block out = block();
        const std::vector<int32_t> extents = {2, 3};
        run(execution, {in.input(), bindInput(extents)}, {out.output()});
        EXPECT_EQ(out.read(), (Floats{-2, 4, -6, 8, -10, 12}));
        EXPECT_EQ(report.outputs[0].shape, Shape({2, 3}));
        if (what == Takes::ALL) {
            EXPECT_EQ(report.copiedBytes, 0U);
        }
        const Block small = blockOf(Floats(kBoundElements, 7));
        EXPECT_EQ(runOnce(execution, {in.input(), bindInput(extents)},
                          {small.output(0, kBoundBytes - sizeof(float))})
                          .code(),
                  StatusCode::OUTPUT_TOO_SMALL);
        EXPECT_EQ(small.read().back(), 7) << "it is behind what was bound";
    }
}

TEST_F(DeviceBindings, AreCopiedForTheHostAndCounted) {
    Execution execution = Execution::create(buildOrDie(graphOf(doubled), {mRef.get()})).value();
    const Block in = blockOf(mIn);
    const Block out = block();
    run(execution, {in.input()}, {out.output()});
    EXPECT_EQ(out.read(), (Floats{-2, 4, -6, 8, -10, 12}));
    EXPECT_EQ(report.copies, 2U);
    EXPECT_EQ(report.copiedBytes, 2 * kBoundBytes);
    run(execution, {in.input()}, {in.output()});
    EXPECT_EQ(in.read(), out.read()) << "overlapping";
}

TEST_F(DeviceBindings, AreBroughtToWhereverNodesRun) {
    takes(Takes::EVERY_SECOND);
    Execution execution = executionOf(graphOf([](Graph& graph, TensorId x) {
        const TensorId a = doubled(graph, x);            // there
        const TensorId b = addSum(graph, a, x, "here");  // here
        const TensorId c = addSum(graph, b, x, "there");
        return addSum(graph, c, x, "last");  // here
    }));
    const Block in = blockOf(mIn);
    const Block out = block();
    for (int round = 0; round < 2; ++round) {
        run(execution, {in.input()}, {out.output()});
        EXPECT_EQ(out.read(), (Floats{-5, 10, -15, 20, -25, 30}));
        // The input to the host, once; a from there, b back, c from there, the output.
        EXPECT_EQ(report.copiedBytes, 5 * kBoundBytes);
    }
}

TEST_F(DeviceBindings, OfAnotherDeviceGoByTheHost) {
    const DistantBackend other(Takes::ALL);
    Execution execution = executionOf(graphOf(doubled));
    const Block in = {*other.memory(), other.memory()->allocate(kBoundBytes).value()};
    in.write(mIn);
    const Block out = {*other.memory(), other.memory()->allocate(kBoundBytes).value()};
    run(execution, {in.input()}, {out.output()});
    EXPECT_EQ(out.read(), (Floats{-2, 4, -6, 8, -10, 12}));
    EXPECT_EQ(report.copiedBytes, 4 * kBoundBytes);
}

TEST_F(DeviceBindings, TakeWhatIsNoStepsOutput) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kBoundElements}));
    graph.setInputs({x});
    const TensorId y = doubled(graph, x);
    graph.setOutputs({x, y, addConstant<float>(graph, float32({2}), {8, 9}), y, y});
    Execution execution = executionOf(std::move(graph));
    const Block in = blockOf(mIn);
    const Block same = block();
    const Block first = block();
    const Block constant = block();
    const Block again = block();
    Floats here(kBoundElements);
    run(execution, {in.input()},
        {same.output(), first.output(), constant.output(), again.output(), bindOutput(here)});
    EXPECT_EQ(same.read(), mIn);
    EXPECT_EQ(constant.read(0, 2), (Floats{8, 9}));
    const Floats expected = {-2, 4, -6, 8, -10, 12};
    EXPECT_EQ(first.read(), expected);
    EXPECT_EQ(again.read(), expected);
    EXPECT_EQ(here, expected);
    // Only the first has no room on the device.
    run(execution, {in.input()}, {unwanted(), unwanted(), unwanted(), again.output(), unwanted()});
    EXPECT_EQ(again.read(), expected);
    EXPECT_EQ(report.copiedBytes, kBoundBytes) << "the input, which is an output as well";
}

TEST_F(DeviceBindings, GoInAndOutOfControlFlow) {
    const auto nest = [](const std::function<TensorId(Graph&, TensorId)>& node) {
        return NestedGraph{std::make_shared<const Graph>(graphOf(node))};
    };
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({kBoundElements}));
    graph.setInputs({condition, x});
    graph.setOutputs({addNode(
            graph, If{.then = nest(doubled), .otherwise = nest([](Graph& inside, TensorId in) {
                                                 return addSum(inside, doubled(inside, in), in);
                                             })},
            {condition, x}, "operation 0 (IF)")});
    Execution execution = executionOf(std::move(graph));
    const Block in = blockOf(mIn);
    const Block out = block();
    for (const uint8_t taken : {1, 0}) {
        const std::vector<uint8_t> bytes = {taken};
        run(execution, {bindInput(bytes), in.input()}, {out.output()});
        EXPECT_EQ(out.read()[5], taken != 0 ? 12 : 18);
    }
}

TEST_F(DeviceBindings, TellOfCopiesThatFail) {
    Execution execution = Execution::create(buildOrDie(graphOf(doubled), {mRef.get()})).value();
    const Block in = blockOf(mIn);
    const Block out = block();
    mDistant->memory()->failsToCopyOut = true;
    EXPECT_TRUE(runOnce(execution, {in.input()}, {out.output()})
                        .message()
                        .starts_with("copying a graph input from Far: "));
    mDistant->memory()->failsToCopyOut = false;
    mDistant->memory()->failsToCopyIn = true;
    EXPECT_TRUE(runOnce(execution, {in.input()}, {out.output()})
                        .message()
                        .starts_with("copying a graph output to Far: "));
    mDistant->memory()->failsToCopyIn = false;
    run(execution, {in.input()}, {out.output()});
}

// ---- What a program says of its memory ----------------------------------------------------------

class ToldMemory : public DeviceBindings {
  protected:
    std::shared_ptr<const Program> build(Graph graph) {
        return buildOrDie(std::move(graph), {mDistant.get(), mRef.get()});
    }
};

TEST_F(ToldMemory, IsTheDevicesWhereNodesRunThere) {
    const auto program = build(graphOf(doubled));
    for (const MemoryRequirements& told : {program->inputMemory(0), program->outputMemory(0)}) {
        EXPECT_EQ(told.device, mDistant->memory());
        EXPECT_EQ(told.deviceAlignment, DistantMemory::kAlignment);
        EXPECT_FALSE(told.isFreeOnHost || told.isFreeWhereShared);
        EXPECT_EQ(told.alignment, sizeof(float));
        EXPECT_EQ(told.padding, 0U);
    }
}

TEST_F(ToldMemory, IsTheHostsWhereNodesRunThere) {
    const auto program = buildOrDie(graphOf(doubled), {mRef.get()});
    for (const MemoryRequirements& told : {program->inputMemory(0), program->outputMemory(0)}) {
        EXPECT_EQ(told.device, nullptr);
        EXPECT_TRUE(told.isFreeOnHost && told.isFreeWhereShared);
    }
}

TEST_F(ToldMemory, IsPrivateForControlInputs) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kBoundElements}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({x, shape});
    graph.setOutputs({addNode(graph, Reshape(), {x, shape}, "reshape")});
    const auto program = buildOrDie(std::move(graph), {mRef.get()});
    EXPECT_TRUE(program->inputMemory(1).isFreeOnHost);
    EXPECT_FALSE(program->inputMemory(1).isFreeWhereShared);
}

TEST_F(ToldMemory, IsNoneWhereTheHostAndADeviceRead) {
    takes(Takes::EVERY_SECOND);
    const auto program = build(
            graphOf([](Graph& graph, TensorId x) { return addSum(graph, doubled(graph, x), x); }));
    const MemoryRequirements told = program->inputMemory(0);
    EXPECT_EQ(told.device, nullptr);
    EXPECT_FALSE(told.isFreeOnHost || told.isFreeWhereShared);
}

TEST_F(ToldMemory, IsNoneForOutputsThatNoStepWrites) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kBoundElements}));
    graph.setInputs({x});
    const TensorId y = doubled(graph, x);
    graph.setOutputs({y, x, y});
    const auto program = build(std::move(graph));
    EXPECT_EQ(program->outputMemory(0).device, mDistant->memory());
    for (const size_t i : {1U, 2U}) {
        EXPECT_EQ(program->outputMemory(i).device, nullptr);
        EXPECT_FALSE(program->outputMemory(i).isFreeOnHost);
    }
}

}  // namespace
}  // namespace halyard::engine
