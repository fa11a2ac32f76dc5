// SPDX-License-Identifier: Apache-2.0
//
// Control inputs never lie in memory that somebody else can write to.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// Reshapes and additions on one backend, which tells where it reads.
class ControlInput : public testing::Test {
  protected:
    ControlInput() {
        backend.onRun = [this](const RunArguments& arguments) {
            for (const ConstTensorView& input : arguments.inputs) {
                read.push_back(input.data);
            }
            return Status();
        };
    }

    bool hasRead(const void* address) const {
        return std::ranges::find(read, address) != read.end();
    }

    FakeBackend backend{"Fake", kAllFakeKinds};
    Graph graph;
    std::vector<const void*> read;
    const Floats x = {1, 2, 3, 4};
    const std::vector<int32_t> shape = {2, 2};
};

TEST_F(ControlInput, IsReadFromACopy) {
    const TensorId data = graph.addTensor(float32({4}));
    const TensorId requested = graph.addTensor(int32({2}));
    graph.setInputs({data, requested});
    graph.setOutputs({addNode(graph, Reshape(), {data, requested})});
    Execution execution = Execution::create(buildOrDie(graph, {&backend})).value();
    Floats out(4);
    ASSERT_TRUE(runOnce(execution, {bindInput(x), bindInput(shape)}, {bindOutput(out)}).ok());
    EXPECT_TRUE(hasRead(x.data())) << "data is read in place";
    EXPECT_FALSE(hasRead(shape.data()));
}

TEST_F(ControlInput, ThatNoOtherNodeWritesIsReadInPlace) {
    const TensorId data = graph.addTensor(float32({4}));
    const TensorId requested = graph.addTensor(int32({2}));
    graph.setInputs({data, requested});
    graph.setOutputs({addNode(graph, Reshape(), {data, requested})});
    Execution execution = Execution::create(buildOrDie(graph, {&backend})).value();
    Floats out(4);
    InputBinding safe = bindInput(shape);
    safe.isPrivate = true;
    ASSERT_TRUE(runOnce(execution, {bindInput(x), safe}, {bindOutput(out)}).ok());
    EXPECT_TRUE(hasRead(shape.data()));
}

TEST_F(ControlInput, GraphOutputThatIsReadAgainIsWrittenElsewhereFirst) {
    // The shape passes through a copy, which is a graph output, into the partition behind it.
    FakeBackend copies("Copies", {NodeKind::Activate});
    FakeBackend reshapes("Reshapes", {NodeKind::Reshape});
    const void* written = nullptr;
    const void* control = nullptr;
    copies.computesNothing = true;
    copies.onRun = [&](const RunArguments& arguments) {
        written = arguments.outputs[0].data;
        auto* const result = static_cast<int32_t*>(arguments.outputs[0].data);
        result[0] = 2;
        result[1] = 2;
        return Status();
    };
    reshapes.onRun = [&](const RunArguments& arguments) {
        for (const ConstTensorView& input : arguments.inputs) {
            control = input.type->type == DataType::INT32 ? input.data : control;
        }
        return Status();
    };
    const TensorId data = graph.addTensor(float32({4}));
    const TensorId requested = graph.addTensor(int32({2}));
    const TensorId copy = graph.addTensor(int32({2}));
    graph.addNode({.descriptor = Cast(),
                   .inputs = {requested},
                   .outputs = {copy},
                   .label = "copy",
                   .sources = {0}});
    graph.setInputs({data, requested});
    graph.setOutputs({copy, addNode(graph, Reshape(), {data, copy})});
    FakeBackend casts("Casts", {NodeKind::Cast});
    casts.computesNothing = true;
    casts.onRun = copies.onRun;
    Execution execution = Execution::create(buildOrDie(graph, {&casts, &reshapes})).value();
    std::vector<int32_t> told(2);
    Floats out(4);
    OutputBinding toldOutput;
    toldOutput.bytes = {reinterpret_cast<uint8_t*>(told.data()), told.size() * sizeof(int32_t)};
    ASSERT_TRUE(runOnce(execution, {bindInput(x), bindInput(shape)}, {toldOutput, bindOutput(out)})
                        .ok());
    EXPECT_NE(written, told.data());
    EXPECT_EQ(control, written);
    EXPECT_EQ(told, (std::vector<int32_t>{2, 2})) << "the caller gets it in the end";
    EXPECT_EQ(out, x);
}

TEST_F(ControlInput, ConstantThatAClientCanWriteIsCopiedBeforeItIsRead) {
    std::vector<int32_t> pool = {2, 2};
    const TensorId data = graph.addTensor(float32({4}));
    const TensorId requested =
            graph.addConstant(
                         int32({2}),
                         {.owner = std::shared_ptr<const void>(pool.data(), [](const void*) {}),
                          .bytes = {reinterpret_cast<const uint8_t*>(pool.data()), 8},
                          .shared = true})
                    .value();
    graph.setInputs({data});
    graph.setOutputs({addNode(graph, Reshape(), {data, requested})});
    const auto program = buildOrDie(graph, {&backend});
    pool = {1000, 1000};
    Execution execution = Execution::create(program).value();
    Floats out(4);
    ExecutionReport report;
    ASSERT_TRUE(runOnce(execution, {bindInput(x)}, {bindOutput(out)}, &report).ok());
    EXPECT_EQ(report.outputs[0].shape, Shape({2, 2}));
    EXPECT_EQ(out, x);
}

}  // namespace
}  // namespace halyard::engine
