// SPDX-License-Identifier: Apache-2.0
//
// The stations of a backend's life: in which order they come, what each is given, and what is left
// where one fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/budget.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

class Stations : public testing::Test {
  protected:
    Stations() {
        mFake.onCompile = [this](const CompileArguments&) { return passed("compile"); };
        mFake.onFinish = [this](const PartitionResources& resources) {
            mStore.assign(resources.constants.begin(), resources.constants.end());
            expectOurs(resources);
            return passed("finish");
        };
        mFake.onSpecialize = [this](std::span<const TensorType* const>) {
            return passed("specialize");
        };
        mFake.onMakeState = [this](const PartitionResources& resources)
                -> Result<std::unique_ptr<PartitionState>> {
            expectOurs(resources);
            HALYARD_RETURN_IF_ERROR(passed("makeState"));
            return std::unique_ptr<PartitionState>();
        };
        mFake.onRun = [this](const RunArguments& arguments) {
            EXPECT_EQ(arguments.deviceMemory, mDeviceMemory);
            return passed("run");
        };
    }

    // The whole way; at the first failure, what it says. No partition goes to another backend.
    Status pass(Graph graph) {
        HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed,
                                 analyze(std::move(graph), mBackends, mMemory));
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                                 Program::build(std::move(analyzed), mBackends,
                                                {.memory = mMemory,
                                                 .deviceMemory = mDeviceMemory,
                                                 .movesPartitions = false}));
        HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
        const Floats x(2);
        Floats y(2);
        HALYARD_RETURN_IF_ERROR(runOnce(execution, {bindInput(x)}, {bindOutput(y)}));
        return runOnce(execution, {bindInput(x)}, {bindOutput(y)});
    }

    static Graph chain() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({2}));
        graph.setInputs({x});
        graph.setOutputs({addActivate(graph, addActivate(graph, x))});
        return graph;
    }

    std::string mFailing;  // the station that is out of order
    std::vector<std::string> mPassed;
    std::vector<std::byte> mStore;  // as it was in the last finish()
    FakeBackend mFake{"Fake", {NodeKind::Activate, NodeKind::Binary}};
    std::unique_ptr<const Backend> mRef = makeCpuRef();
    BackendList mBackends = {&mFake, mRef.get()};
    const std::shared_ptr<Budget> mMemory = std::make_shared<Budget>(size_t{1} << 20);
    const std::shared_ptr<Budget> mDeviceMemory = std::make_shared<Budget>(size_t{1} << 20);

  private:
    Status passed(const std::string& station) {
        mPassed.push_back(station);
        return station == mFailing ? unsupported("its " + station + " is out of order") : Status();
    }
    void expectOurs(const PartitionResources& resources) const {
        EXPECT_EQ(resources.memory, mMemory);
        EXPECT_EQ(resources.deviceMemory, mDeviceMemory);
    }
};

TEST_F(Stations, ComeInTheirOrder) {
    ASSERT_TRUE(pass(chain()).ok());
    EXPECT_EQ(mPassed, (std::vector<std::string>{"compile", "finish", "specialize", "makeState",
                                                 "run", "run"}));
}

TEST_F(Stations, FinishWithTheStoreThatIsFilled) {
    ASSERT_TRUE(pass(chain()).ok());
    EXPECT_EQ(mStore, std::vector<std::byte>(2 * FakeBackend::kBytesPerNode, std::byte{0x5a}));
}

TEST_F(Stations, FailWithTheirOwnWordsAndKeepNothing) {
    for (const std::string station : {"compile", "finish", "specialize", "makeState", "run"}) {
        SCOPED_TRACE(station);
        mFailing = station;
        const Status status = pass(chain());
        EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
        EXPECT_EQ(status.message(), "Fake: its " + station + " is out of order");
        EXPECT_EQ(mMemory->reserved(), 0U);
        mFailing.clear();
        EXPECT_TRUE(pass(chain()).ok()) << "the next attempt";
    }
}

TEST_F(Stations, OfPartitionsInsideControlFlowComeAtTheSameTimes) {
    const auto inside = [] {
        Graph graph;
        const TensorId x = graph.addTensor(float32({2}));
        graph.setInputs({x});
        graph.setOutputs({addActivate(graph, x)});
        return NestedGraph{std::make_shared<const Graph>(std::move(graph))};
    };
    Graph graph;
    const TensorId x = graph.addTensor(float32({2}));
    const TensorId condition = addConstant<uint8_t>(
            graph, {.type = DataType::BOOL8, .shape = {1}, .quantization = {}}, {1});
    const TensorId y = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = If{.then = inside(), .otherwise = inside()},
                   .inputs = {condition, x},
                   .outputs = {y},
                   .label = "operation 0 (IF)",
                   .sources = {0}});
    graph.setInputs({x});
    graph.setOutputs({y});
    ASSERT_TRUE(pass(graph).ok());
    const auto count = [&](const std::string& station) {
        return std::ranges::count(mPassed, station);
    };
    EXPECT_EQ(count("finish"), 2);
    EXPECT_EQ(count("makeState"), 2) << "of the branch that is not taken, too";
    EXPECT_EQ(count("run"), 2);
    const auto firstRun = std::ranges::find(mPassed, "run");
    EXPECT_EQ(std::count(firstRun, mPassed.end(), "makeState"), 0) << "none inside a run";
    mFailing = "finish";
    EXPECT_EQ(pass(graph).message(), "Fake: its finish is out of order");
    mFailing = "makeState";
    EXPECT_EQ(pass(graph).message(), "operation 0 (IF): Fake: its makeState is out of order");
}

TEST_F(Stations, AreLeftOutOnceTheCheckpointSaysStop) {
    AnalyzedGraph analyzed = analyze(chain(), mBackends, mMemory).value();
    const auto program = Program::build(std::move(analyzed), mBackends,
                                        {.memory = mMemory, .deviceMemory = mDeviceMemory})
                                 .value();
    const std::atomic<bool> cancelled = true;
    mPassed.clear();
    EXPECT_EQ(Execution::create(program, Checkpoint({}, &cancelled)).status().code(),
              StatusCode::UNAVAILABLE);
    EXPECT_TRUE(mPassed.empty());
}

// ---- Threads ------------------------------------------------------------------------------------

TEST(ThreadsOfARun, AreTakenByTheFirstLoopThatIsLargeEnoughToShare) {
    const auto threads = std::make_shared<ThreadPool>(2);
    // How many a newcomer would have.
    const auto left = [&] { return ThreadLease::take(threads.get()).threadCount(); };
    FakeBackend first("First", {NodeKind::Activate});
    first.onRun = [&](const RunArguments& arguments) {
        EXPECT_EQ(left(), 2U);
        EXPECT_TRUE(arguments.threads->parallelFor(1, 1, [](int64_t, int64_t, size_t) {}).ok());
        EXPECT_EQ(left(), 2U) << "that was no loop to share";
        return Status();
    };
    FakeBackend second("Second", {NodeKind::Binary});
    second.onRun = [&](const RunArguments& arguments) {
        EXPECT_TRUE(arguments.threads->parallelFor(9, 1, [](int64_t, int64_t, size_t) {}).ok());
        EXPECT_EQ(left(), 1U);
        return Status();
    };
    Graph graph;
    const TensorId x = graph.addTensor(float32({2}));
    graph.setInputs({x});
    const TensorId y = addActivate(graph, x);
    graph.setOutputs({addSum(graph, y, y)});
    Execution execution = Execution::create(buildOrDie(graph, {&first, &second}, threads)).value();
    const Floats in(2);
    Floats out(2);
    ASSERT_TRUE(runOnce(execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(left(), 2U) << "after the run";
}

}  // namespace
}  // namespace halyard::engine
