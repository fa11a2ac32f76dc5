// SPDX-License-Identifier: Apache-2.0

#include "engine/compile/compile.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/compile/backends.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// x -> relu "first" -> relu "second": a pass takes one of them away.
Graph twiceActivated() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({3}), "x");
    graph.setInputs({x});
    const TensorId y = addNode(graph, Activate(), {x}, "first", {3});
    const TensorId z = addNode(graph, Activate(), {y}, "second", {3});
    graph.setName(z, "y");
    graph.setOutputs({z});
    return graph;
}

// x + 0, twice over: constants fold, so that a pass has something to do.
Graph withFoldableConstants() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({3}), "x");
    graph.setInputs({x});
    const TensorId a = addConstant<float>(graph, float32({3}), {1, 2, 3});
    const TensorId b = addConstant<float>(graph, float32({3}), {10, 20, 30});
    const TensorId sum = addNode(graph, Binary(), {a, b}, "folds", {3});
    const TensorId result = addNode(graph, Binary(), {x, sum}, "stays", {3});
    graph.setName(result, "y");
    graph.setOutputs({result});
    return graph;
}

std::vector<float> run(const std::shared_ptr<const Program>& program, std::vector<float> x) {
    std::vector<float> y(x.size());
    const std::vector<InputBinding> inputs = {bindInput(x)};
    const std::vector<OutputBinding> outputs = {bindOutput(y)};
    Execution execution = Execution::create(program).value();
    const Status status = execution.run(inputs, outputs, {}, nullptr);
    EXPECT_TRUE(status.ok()) << status.toString();
    return y;
}

class Watching final : public CompileObserver {
  public:
    void came(const Graph& graph) override { nodesThatCame = graph.nodes().size(); }
    void ran(std::string_view pass, const Graph& /*before*/, const Graph& /*after*/) override {
        passes.emplace_back(pass);
    }
    void optimized(const Graph& graph) override { nodesLeft = graph.nodes().size(); }

    size_t nodesThatCame = 0;
    size_t nodesLeft = 0;
    std::vector<std::string> passes;
};

TEST(Compile, OptimisesAGraphAndShowsWhatBecomesOfIt) {
    const OwnedBackends backends = openBackends({}).value();
    Watching watching;
    const auto program =
            compile(withFoldableConstants(), listOf(backends), {.observer = &watching}).value();
    EXPECT_EQ(watching.nodesThatCame, 2U);
    EXPECT_EQ(watching.nodesLeft, 1U);
    EXPECT_FALSE(watching.passes.empty());
    EXPECT_EQ(program->graph().nodes().size(), 1U);
    EXPECT_EQ(run(program, {1, 1, 1}), (std::vector<float>{12, 23, 34}));
}

TEST(Compile, LeavesAGraphAsItCameWhereThatIsAsked) {
    const OwnedBackends backends = openBackends({}).value();
    Watching watching;
    const auto program = compile(withFoldableConstants(), listOf(backends),
                                 {.optimize = false, .observer = &watching})
                                 .value();
    EXPECT_EQ(program->graph().nodes().size(), 2U);
    EXPECT_TRUE(watching.passes.empty());
    EXPECT_EQ(run(program, {1, 1, 1}), (std::vector<float>{12, 23, 34}));
}

TEST(Compile, BuildsTheGraphAsItCameWhereTheBetterOneCantBeHad) {
    int compilations = 0;
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onCompile = [&](const CompileArguments& /*arguments*/) -> Status {
        return ++compilations == 1 ? Status(StatusCode::RESOURCE_EXHAUSTED, "no room") : Status();
    };
    const auto program = compile(withFoldableConstants(), {&backend}).value();
    EXPECT_EQ(compilations, 2);
    EXPECT_EQ(program->graph().nodes().size(), 2U);
}

TEST(Compile, FailsWhereTheGraphAsItCameDoes) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onCompile = [](const CompileArguments& /*arguments*/) -> Status {
        return {StatusCode::RESOURCE_EXHAUSTED, "no room"};
    };
    EXPECT_EQ(compile(withFoldableConstants(), {&backend}).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST(Compile, NamesTheFirstNodeThatNoBackendTakes) {
    const FakeBackend backend("Fake", {NodeKind::Binary});
    const Status status = compile(twiceActivated(), {&backend}).status();
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_NE(status.message().find("first"), std::string::npos) << status.message();
}

TEST(Compile, KeepsTheNamesOfInputsAndOutputsThroughThePasses) {
    const OwnedBackends backends = openBackends({}).value();
    for (Graph graph : {withFoldableConstants(), twiceActivated()}) {
        for (const FloatPrecision precision : {FloatPrecision::FLOAT32, FloatPrecision::FLOAT16}) {
            const auto program = compile(graph, listOf(backends), {.precision = precision}).value();
            EXPECT_EQ(program->graph().inputNamed("x"), 0U);
            EXPECT_EQ(program->graph().outputNamed("y"), 0U);
            EXPECT_EQ(program->graph().inputNamed("y"), std::nullopt);
        }
    }
}

TEST(Compile, GivesAnOutputItsNameWhereAnotherTensorComesToStandForIt) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({3}), "x");
    graph.setInputs({x});
    const TensorId computed = addNode(graph, Activate(), {x}, "computes", {3});
    const TensorId shape = addConstant<int32_t>(graph, int32({1}), {3});
    const TensorId y = addNode(graph, Reshape(), {computed, shape}, "changes nothing", {3});
    graph.setName(y, "y");
    graph.setOutputs({y});
    const OwnedBackends backends = openBackends({}).value();
    const auto program = compile(std::move(graph), listOf(backends)).value();
    ASSERT_EQ(program->graph().nodes().size(), 1U);
    EXPECT_EQ(program->graph().outputNamed("y"), 0U);
}

}  // namespace
}  // namespace halyard::engine
