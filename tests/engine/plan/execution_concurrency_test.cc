// SPDX-License-Identifier: Apache-2.0
//
// One program, several executions at once. Worth most under the thread sanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 50;

// Calls run(thread, round) kRounds times on each of kThreads threads.
template <typename Run>
void onThreads(Run run) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&run, thread] {
            for (int round = 0; round < kRounds; ++round) {
                run(thread, round);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST(ConcurrentExecutions, OfOneProgramDoNotMix) {
    FakeBackend activates("Activates", {NodeKind::Activate});
    FakeBackend adds("Adds", {NodeKind::Binary});
    // Splits over the pool they share, as a real backend would.
    const auto useThreads = [](const RunArguments& arguments) {
        std::atomic<int64_t> covered = 0;
        HALYARD_RETURN_IF_ERROR(arguments.threads->parallelFor(
                100, 1, [&](int64_t begin, int64_t end, size_t) { covered += end - begin; }));
        return covered == 100 ? Status() : internalError("the pool lost a range");
    };
    activates.onRun = useThreads;
    adds.onRun = useThreads;
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x);
    graph.setOutputs({addActivate(graph, addSum(graph, y, x))});
    const auto program = buildOrDie(graph, {&activates, &adds}, std::make_shared<ThreadPool>(2));

    std::vector<std::unique_ptr<Execution>> executions;
    for (int thread = 0; thread < kThreads; ++thread) {
        executions.push_back(std::make_unique<Execution>(Execution::create(program).value()));
    }
    std::atomic<int> wrong = 0;
    onThreads([&](int thread, int round) {
        const auto value = static_cast<float>(100 * thread + round);
        const Floats in(static_cast<size_t>(1 + (thread + round) % 20), value);
        Floats out(in.size());
        const Status status = runOnce(*executions[static_cast<size_t>(thread)], {bindInput(in)},
                                      {bindOutput(out)});
        if (!status.ok() || out != Floats(in.size(), 2 * value + 2)) {
            ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST(ConcurrentExecutions, ShareTheSpecialisationsThatDataAsksFor) {
    const FakeBackend reshapes("Reshapes", {NodeKind::Reshape});
    const FakeBackend activates("Activates", {NodeKind::Activate});
    Graph graph;
    const TensorId x = graph.addTensor(float32({12}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({x, shape});
    graph.setOutputs({addActivate(graph, addNode(graph, Reshape(), {x, shape}))});
    const auto program = buildOrDie(graph, {&reshapes, &activates});

    std::atomic<int> wrong = 0;
    onThreads([&](int thread, int round) {
        Execution execution = Execution::create(program).value();
        const auto value = static_cast<float>(100 * thread + round);
        const Floats in(12, value);
        const std::vector<int32_t> requested = {1 + (thread + round) % 4, -1};
        Floats out(12);
        const Status status =
                runOnce(execution, {bindInput(in), bindInput(requested)}, {bindOutput(out)});
        if (!status.ok() || out != Floats(12, value + 1)) {
            ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST(ConcurrentExecutions, KeepTheirProgramAlive) {
    const FakeBackend activates("Activates", {NodeKind::Activate});
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    Execution execution = Execution::create(buildOrDie(graph, {&activates})).value();
    const Floats in = {1};
    Floats out(1);
    EXPECT_TRUE(runOnce(execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(out, Floats{2});
}

}  // namespace
}  // namespace halyard::engine
