// SPDX-License-Identifier: Apache-2.0
//
// If and While, run by the planner over the partitions of their graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

namespace halyard::engine {
namespace {

TensorType bool8() {
    return {.type = DataType::BOOL8, .shape = Shape({1}), .quantization = {}};
}

std::shared_ptr<const Graph> shared(Graph graph) {
    return std::make_shared<const Graph>(std::move(graph));
}

// x + amount, of vectors.
std::shared_ptr<const Graph> adding(float amount, Shape shape = {kUnknownDimension}) {
    Graph graph;
    const TensorId x = graph.addTensor(float32(shape));
    graph.setInputs({x});
    graph.setOutputs({addSum(graph, x, addConstant<float>(graph, float32({1}), {amount}))});
    return shared(std::move(graph));
}

// The values are a count [1], which goes down, a sum, and what is added to it in each round.
std::shared_ptr<const Graph> countIsPositive(Shape sums) {
    Graph graph;
    const TensorId count = graph.addTensor(float32({1}));
    const TensorId sum = graph.addTensor(float32(sums));
    const TensorId term = graph.addTensor(float32(sums));
    const TensorId zero = addConstant<float>(graph, float32({1}), {0});
    const TensorId positive = graph.addTensor(bool8());
    graph.addNode({.descriptor = Compare{.function = Compare::Function::GREATER},
                   .inputs = {count, zero},
                   .outputs = {positive},
                   .label = "operation 0 (GREATER)",
                   .sources = {0}});
    graph.setInputs({count, sum, term});
    graph.setOutputs({positive});
    return shared(std::move(graph));
}

std::shared_ptr<const Graph> addTerm(Shape sums) {
    Graph graph;
    const TensorId count = graph.addTensor(float32({1}));
    const TensorId sum = graph.addTensor(float32(sums));
    const TensorId term = graph.addTensor(float32(sums));
    const TensorId minusOne = addConstant<float>(graph, float32({1}), {-1});
    graph.setInputs({count, sum, term});
    const TensorId less = addSum(graph, count, minusOne, "operation 0 (ADD)");
    graph.setOutputs({less, addSum(graph, sum, term, "operation 1 (ADD)")});
    return shared(std::move(graph));
}

class ControlFlow : public testing::Test {
  protected:
    // condition, x -> x + 1 or x + 10
    Graph branch(Shape shape) {
        Graph graph;
        const TensorId condition = graph.addTensor(bool8());
        const TensorId x = graph.addTensor(float32(shape));
        const TensorId y = graph.addTensor(float32(Shape::unknownRank()));
        graph.addNode({.descriptor = If{.then = {adding(1)}, .otherwise = {adding(10)}},
                       .inputs = {condition, x},
                       .outputs = {y},
                       .label = "operation 0 (IF)",
                       .sources = {0}});
        graph.setInputs({condition, x});
        graph.setOutputs({y});
        return graph;
    }

    // count, sum, term -> sum + count * term
    Graph loop(Shape sums, Shape inside) {
        Graph graph;
        const TensorId count = graph.addTensor(float32({1}));
        const TensorId sum = graph.addTensor(float32(sums));
        const TensorId term = graph.addTensor(float32(sums));
        const TensorId left = graph.addTensor(float32(Shape::unknownRank()));
        const TensorId total = graph.addTensor(float32(Shape::unknownRank()));
        graph.addNode({.descriptor = While{.condition = {countIsPositive(inside)},
                                           .body = {addTerm(inside)}},
                       .inputs = {count, sum, term},
                       .outputs = {left, total},
                       .label = "operation 0 (WHILE)",
                       .sources = {0}});
        graph.setInputs({count, sum, term});
        graph.setOutputs({left, total});
        return graph;
    }

    void build(Graph graph) {
        program = buildOrDie(std::move(graph), {cpuRef.get()});
        execution = std::make_unique<Execution>(Execution::create(program).value());
    }

    const std::unique_ptr<const Backend> cpuRef = makeCpuRef();
    std::shared_ptr<const Program> program;
    std::unique_ptr<Execution> execution;
    ExecutionReport report;
};

TEST_F(ControlFlow, RunsTheBranchThatTheConditionNames) {
    build(branch({2}));
    const Floats x = {1, 2};
    Floats y(2);
    for (const uint8_t condition : {1, 0, 1}) {
        const std::vector<uint8_t> bytes = {condition};
        const Status status =
                runOnce(*execution, {bindInput(bytes), bindInput(x)}, {bindOutput(y)}, &report);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(y, condition != 0 ? (Floats{2, 3}) : (Floats{11, 12}));
        EXPECT_EQ(report.outputs[0].shape, Shape({2}));
    }
}

TEST_F(ControlFlow, TakesShapesThatOnlyARunTells) {
    build(branch({kUnknownDimension}));
    for (const size_t count : {3U, 1U, 0U, 3U}) {
        const Floats x(count, 5);
        Floats y(count);
        const std::vector<uint8_t> condition = {0};
        const Status status =
                runOnce(*execution, {bindInput(condition), bindInput(x)}, {bindOutput(y)}, &report);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(y, Floats(count, 15));
        EXPECT_EQ(report.outputs[0].shape, Shape({static_cast<int32_t>(count)}));
    }
}

TEST_F(ControlFlow, SaysHowLargeABranchesResultWouldBe) {
    build(branch({kUnknownDimension}));
    const Floats x(4, 5);
    Floats y(2);
    const std::vector<uint8_t> condition = {1};
    EXPECT_EQ(runOnce(*execution, {bindInput(condition), bindInput(x)}, {bindOutput(y)}, &report)
                      .code(),
              StatusCode::OUTPUT_TOO_SMALL);
    EXPECT_EQ(report.outputs[0].shape, Shape({4}));
    EXPECT_FALSE(report.outputs[0].sufficient);
}

TEST_F(ControlFlow, RefusesAConditionWithoutAnElement) {
    Graph graph = branch({2});
    graph.mutableTensor(graph.inputs()[0]).type.shape = Shape({kUnknownDimension});
    build(std::move(graph));
    const Floats x = {1, 2};
    Floats y(2);
    EXPECT_EQ(
            runOnce(*execution, {bindInput(std::vector<uint8_t>()), bindInput(x)}, {bindOutput(y)})
                    .code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(ControlFlow, RefusesAConditionThatIsLeftOut) {
    build(branch({2}));
    const Floats x = {1, 2};
    Floats y(2);
    InputBinding absent;
    absent.present = false;
    const Status status = runOnce(*execution, {absent, bindInput(x)}, {bindOutput(y)});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), "operation 0 (IF): the condition is left out");
}

TEST_F(ControlFlow, LoopsUntilTheConditionFails) {
    build(loop({2}, {2}));
    const Floats sum = {1, 2};
    const Floats term = {10, 100};
    for (const float rounds : {3.0F, 0.0F, 1.0F, 4.0F}) {
        const Floats count = {rounds};
        Floats left(1, 77);
        Floats total(2);
        const Status status =
                runOnce(*execution, {bindInput(count), bindInput(sum), bindInput(term)},
                        {bindOutput(left), bindOutput(total)}, &report);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(left, Floats{0});
        EXPECT_EQ(total, (Floats{1 + 10 * rounds, 2 + 100 * rounds}));
        EXPECT_EQ(report.outputs[1].shape, Shape({2}));
    }
    EXPECT_EQ(sum, (Floats{1, 2})) << "inputs stay as they are";
}

TEST_F(ControlFlow, LoopsOverShapesThatOnlyARunTells) {
    build(loop({kUnknownDimension}, {kUnknownDimension}));
    const Floats count = {2};
    const Floats sum = {1, 2, 3};
    const Floats term = {10, 100, 1000};
    Floats left(1);
    Floats total(3);
    const Status status = runOnce(*execution, {bindInput(count), bindInput(sum), bindInput(term)},
                                  {bindOutput(left), bindOutput(total)}, &report);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(total, (Floats{21, 202, 2003}));
}

TEST_F(ControlFlow, EndsALoopAtItsTimeout) {
    build(loop({1}, {1}));
    const Floats count = {1e9F};
    const Floats one = {1};
    Floats left(1);
    Floats total(1);
    const std::vector<InputBinding> inputs = {bindInput(count), bindInput(one), bindInput(one)};
    const std::vector<OutputBinding> outputs = {bindOutput(left), bindOutput(total)};
    const Status status =
            execution->run(inputs, outputs, {.loopTimeout = std::chrono::milliseconds(5)}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.message(), "operation 0 (WHILE): the loop took more than 5 ms");
}

TEST_F(ControlFlow, EndsALoopAtTheDeadlineOfTheRun) {
    build(loop({1}, {1}));
    const Floats count = {1e9F};
    const Floats one = {1};
    Floats left(1);
    Floats total(1);
    const std::vector<InputBinding> inputs = {bindInput(count), bindInput(one), bindInput(one)};
    const std::vector<OutputBinding> outputs = {bindOutput(left), bindOutput(total)};
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    const Status status = execution->run(
            inputs, outputs, {.deadline = soon, .loopTimeout = std::chrono::hours(1)}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.message().find("the loop took"), std::string::npos) << status.message();
}

TEST_F(ControlFlow, EndsALoopThatIsCancelled) {
    build(loop({1}, {1}));
    const Floats count = {1e9F};
    const Floats one = {1};
    Floats left(1);
    Floats total(1);
    const std::vector<InputBinding> inputs = {bindInput(count), bindInput(one), bindInput(one)};
    const std::vector<OutputBinding> outputs = {bindOutput(left), bindOutput(total)};
    const std::atomic<bool> cancelled = true;
    EXPECT_EQ(
            execution
                    ->run(inputs, outputs,
                          {.cancelled = &cancelled, .loopTimeout = std::chrono::hours(1)}, nullptr)
                    .code(),
            StatusCode::UNAVAILABLE);
}

TEST_F(ControlFlow, AllocatesNothingInTheSteadyState) {
    build(loop({3}, {3}));
    const Floats count = {5};
    const Floats sum(3, 1);
    Floats left(1);
    Floats total(3);
    const std::vector<InputBinding> inputs = {bindInput(count), bindInput(sum), bindInput(sum)};
    const std::vector<OutputBinding> outputs = {bindOutput(left), bindOutput(total)};
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(execution->run(inputs, outputs, {}, &report).ok());
    }
    const size_t before = allocationCount();
    ASSERT_TRUE(execution->run(inputs, outputs, {}, &report).ok());
    EXPECT_EQ(allocationCount(), before);
}

TEST_F(ControlFlow, RunsABodyOnTheBackendsThatTakeItsNodes) {
    FakeBackend adds("Adds", {NodeKind::Binary});
    program = buildOrDie(loop({1}, {1}), {&adds, cpuRef.get()});
    std::vector<std::string> placed;
    for (const NodePlacement& node : program->placement()) {
        placed.push_back(node.label + " on " + node.backend);
        EXPECT_EQ(node.sources, std::vector<uint32_t>{0});
    }
    EXPECT_EQ(placed,
              (std::vector<std::string>{"operation 0 (WHILE) on planner",
                                        "operation 0 (WHILE): operation 0 (GREATER) on CpuRef",
                                        "operation 0 (WHILE): operation 0 (ADD) on Adds",
                                        "operation 0 (WHILE): operation 1 (ADD) on Adds"}));
    Execution run = Execution::create(program).value();
    const Floats count = {3};
    const Floats one = {1};
    Floats left(1);
    Floats total(1);
    ASSERT_TRUE(runOnce(run, {bindInput(count), bindInput(one), bindInput(one)},
                        {bindOutput(left), bindOutput(total)})
                        .ok());
    EXPECT_EQ(total, Floats{4});
}

TEST_F(ControlFlow, IsUnsupportedWhereANodeInsideIs) {
    const FakeBackend adds("Adds", {NodeKind::Binary});
    const auto built = Program::build(loop({1}, {1}), {&adds}, nullptr);
    EXPECT_EQ(built.status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(built.status().message(),
              "operation 0 (WHILE): operation 0 (GREATER): no backend takes this Compare: Adds has "
              "no Compare");
}

TEST_F(ControlFlow, LeavesOutWhatABranchCanDoWithout) {
    // Squeezes x [1, 2, 1] along axes that the caller may leave out.
    Graph inside;
    const TensorId innerX = inside.addTensor(float32({1, 2, 1}));
    const TensorId innerAxes = inside.addTensor(int32({kUnknownDimension}));
    inside.setInputs({innerX, innerAxes});
    inside.setOutputs({addNode(inside, Squeeze(), {innerX, innerAxes})});
    const auto both = shared(std::move(inside));
    Graph graph;
    const TensorId condition = graph.addTensor(bool8());
    const TensorId x = graph.addTensor(float32({1, 2, 1}));
    const TensorId axes = graph.addTensor(int32({kUnknownDimension}));
    const TensorId y = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = If{.then = {both}, .otherwise = {both}},
                   .inputs = {condition, x, axes},
                   .outputs = {y},
                   .label = "if",
                   .sources = {0}});
    graph.setInputs({condition, x, axes});
    graph.setOutputs({y});
    build(std::move(graph));
    const std::vector<uint8_t> yes = {1};
    const Floats in = {3, 4};
    Floats out(2);
    InputBinding absent;
    absent.present = false;
    const InputBinding bound = bindInput<float>(std::span(in), {1, 2, 1});
    ASSERT_TRUE(
            runOnce(*execution, {bindInput(yes), bound, absent}, {bindOutput(out)}, &report).ok());
    EXPECT_EQ(report.outputs[0].shape, Shape({2}));
    const std::vector<int32_t> first = {0};
    ASSERT_TRUE(runOnce(*execution, {bindInput(yes), bound, bindInput(first)}, {bindOutput(out)},
                        &report)
                        .ok());
    EXPECT_EQ(report.outputs[0].shape, Shape({2, 1}));
}

// ---- What does not run and does not fit ---------------------------------------------------------

// x + [1, 1, 1], which takes 3 elements or 1.
std::shared_ptr<const Graph> addingThree() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    const TensorId ones = addConstant<float>(graph, float32({3}), {1, 1, 1});
    graph.setInputs({x});
    graph.setOutputs({addSum(graph, x, ones, "operation 0 (ADD)")});
    return shared(std::move(graph));
}

std::shared_ptr<const Graph> rectifying() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x, "operation 0 (RELU)")});
    return shared(std::move(graph));
}

// condition, x -> then(x) or otherwise(x)
Graph either(std::shared_ptr<const Graph> then, std::shared_ptr<const Graph> otherwise,
             Shape shape = {kUnknownDimension}) {
    Graph graph;
    const TensorId condition = graph.addTensor(bool8());
    const TensorId x = graph.addTensor(float32(shape));
    const TensorId y = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = If{.then = {std::move(then)}, .otherwise = {std::move(otherwise)}},
                   .inputs = {condition, x},
                   .outputs = {y},
                   .label = "operation 0 (IF)",
                   .sources = {0}});
    graph.setInputs({condition, x});
    graph.setOutputs({y});
    return graph;
}

// In 4 elements, of which addingThree() takes none.
class BranchThatDoesNotFit : public ControlFlow, public testing::WithParamInterface<bool> {
  protected:
    static Shape shape() { return GetParam() ? Shape({4}) : Shape({kUnknownDimension}); }

    Status run(uint8_t condition, Floats& y) {
        const Floats x = {-1, 2, -3, 4};
        y.assign(4, 77);
        const std::vector<uint8_t> bytes = {condition};
        return runOnce(*execution, {bindInput(bytes), bindInput(x)}, {bindOutput(y)}, &report);
    }
    void expectRectified() {
        Floats y;
        const Status status = run(0, y);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(y, (Floats{0, 2, 0, 4}));
        EXPECT_EQ(report.outputs[0].shape, Shape({4}));
    }
    void expectRefused(const std::string& place) {
        Floats y;
        const Status status = run(1, y);
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_TRUE(status.message().starts_with(place)) << status.message();
        EXPECT_NE(status.message().find("operation 0 (ADD)"), std::string::npos)
                << status.message();
    }
};

TEST_P(BranchThatDoesNotFit, FailsOnlyWhereItIsTaken) {
    build(either(addingThree(), rectifying(), shape()));
    for (int round = 0; round < 2; ++round) {
        expectRectified();
        expectRefused("operation 0 (IF): then: ");
    }
}

TEST_P(BranchThatDoesNotFit, FailsOnlyWhereItIsTakenInAnother) {
    // The branches of both lie in a branch, next to one that fits.
    const auto inside = shared(either(addingThree(), rectifying()));
    Graph passing;
    const TensorId innerCondition = passing.addTensor(bool8());
    const TensorId innerX = passing.addTensor(float32({kUnknownDimension}));
    passing.setInputs({innerCondition, innerX});
    passing.setOutputs({addActivate(passing, innerX)});
    Graph graph;
    const TensorId outer = graph.addTensor(bool8());
    const TensorId inner = graph.addTensor(bool8());
    const TensorId x = graph.addTensor(float32(shape()));
    const TensorId y = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = If{.then = {inside}, .otherwise = {shared(std::move(passing))}},
                   .inputs = {outer, inner, x},
                   .outputs = {y},
                   .label = "operation 7 (IF)",
                   .sources = {7}});
    graph.setInputs({outer, inner, x});
    graph.setOutputs({y});
    build(std::move(graph));
    const Floats in = {-1, 2, -3, 4};
    const std::vector<uint8_t> yes = {1};
    const std::vector<uint8_t> no = {0};
    for (const auto& [first, second] : {std::pair(no, yes), std::pair(yes, no)}) {
        Floats out(4);
        const Status status =
                runOnce(*execution, {bindInput(first), bindInput(second), bindInput(in)},
                        {bindOutput(out)});
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(out, (Floats{0, 2, 0, 4}));
    }
    Floats out(4);
    const Status status =
            runOnce(*execution, {bindInput(yes), bindInput(yes), bindInput(in)}, {bindOutput(out)});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(status.message().starts_with("operation 7 (IF): then: operation 0 (IF): then: "))
            << status.message();
}

TEST_P(BranchThatDoesNotFit, FailsOnlyWhereALoopRunsIt) {
    // x is a count of rounds, too: as long as it is not above 0 in its first element nothing runs.
    Graph condition;
    const TensorId x = condition.addTensor(float32({kUnknownDimension}));
    const TensorId begin = addConstant<int32_t>(condition, int32({1}), {0});
    const TensorId size = addConstant<int32_t>(condition, int32({1}), {1});
    const TensorId first = addNode(condition, Slice(), {x, begin, size});
    const TensorId zero = addConstant<float>(condition, float32({1}), {0});
    const TensorId positive = condition.addTensor(bool8());
    condition.addNode({.descriptor = Compare{.function = Compare::Function::GREATER},
                       .inputs = {first, zero},
                       .outputs = {positive},
                       .label = "operation 1 (GREATER)",
                       .sources = {1}});
    condition.setInputs({x});
    condition.setOutputs({positive});
    Graph graph;
    const TensorId value = graph.addTensor(float32(shape()));
    const TensorId result = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = While{.condition = {shared(std::move(condition))},
                                       .body = {addingThree()}},
                   .inputs = {value},
                   .outputs = {result},
                   .label = "operation 0 (WHILE)",
                   .sources = {0}});
    graph.setInputs({value});
    graph.setOutputs({result});
    build(std::move(graph));
    const Floats ended = {-1, 2, 3, 4};
    Floats out(4);
    const Status status = runOnce(*execution, {bindInput(ended)}, {bindOutput(out)}, &report);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out, ended);
    EXPECT_EQ(report.outputs[0].shape, Shape({4}));
    const Floats going = {1, 2, 3, 4};
    const Status refused = runOnce(*execution, {bindInput(going)}, {bindOutput(out)});
    EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(refused.message().starts_with("operation 0 (WHILE): body: ")) << refused.message();
}

INSTANTIATE_TEST_SUITE_P(Shapes, BranchThatDoesNotFit, testing::Bool(),
                         [](const auto& known) { return known.param ? "Known" : "Open"; });

TEST_F(ControlFlow, GivesABranchThatFitsSomeShapesThose) {
    build(either(addingThree(), rectifying()));
    const std::vector<uint8_t> yes = {1};
    for (const size_t count : {3U, 4U, 1U, 2U, 3U}) {
        const Floats x(count, 5);
        Floats y(std::max<size_t>(count, 3));
        const Status status = runOnce(*execution, {bindInput(yes), bindInput(x)}, {bindOutput(y)});
        EXPECT_EQ(status.ok(), count == 3 || count == 1) << status.toString();
        if (status.ok()) {
            EXPECT_EQ(y, Floats(3, 6));
        }
    }
}

}  // namespace
}  // namespace halyard::engine
