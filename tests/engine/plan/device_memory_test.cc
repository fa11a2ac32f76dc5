// SPDX-License-Identifier: Apache-2.0
//
// Tensors that live where the host can't touch them: what the planner puts there, what it copies
// and how often, what is charged, and what is left where a station fails. Whatever reads or writes
// such a tensor by mistake dies.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/budget.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"
#include "tests/second_backend/distant_backend.h"

namespace halyard::engine {
namespace {

constexpr int32_t kElements = 6;
constexpr size_t kBytes = kElements * sizeof(float);

class OnADevice : public testing::Test {
  protected:
    ~OnADevice() override {
        EXPECT_EQ(mDeviceMemory->reserved(), 0U);
        EXPECT_EQ(mMemory->reserved(), 0U);
        EXPECT_EQ(mDistant->memory()->inUse, 0U);
    }

    // Nodes go to the device as it takes them, and to CpuRef.
    void takes(Takes what) { mDistant = std::make_unique<DistantBackend>(what); }

    Result<std::shared_ptr<const Program>> tryBuild(Graph graph) {
        const BackendList backends = {mDistant.get(), mRef.get()};
        HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed,
                                 analyze(std::move(graph), backends, mMemory));
        return Program::build(std::move(analyzed), backends,
                              {.threads = mThreads,
                               .memory = mMemory,
                               .deviceMemory = mDeviceMemory,
                               .movesPartitions = false});
    }
    std::shared_ptr<const Program> build(Graph graph) { return tryBuild(std::move(graph)).value(); }

    // x of six elements, through the nodes.
    static Graph graphOf(const std::function<TensorId(Graph&, TensorId)>& nodes,
                         Shape shape = {kElements}) {
        Graph graph;
        const TensorId x = graph.addTensor(float32(shape));
        graph.setInputs({x});
        graph.setOutputs({nodes(graph, x)});
        return graph;
    }

    static std::vector<std::string> describe(const Program& program) {
        std::vector<std::string> lines;
        for (const Program::Copy& copy : program.copies()) {
            lines.push_back(copy.tensor + ": " + copy.from + " > " + copy.to + ", " +
                            std::to_string(copy.bytes));
        }
        return lines;
    }

    std::unique_ptr<DistantBackend> mDistant = std::make_unique<DistantBackend>(Takes::ALL);
    const std::unique_ptr<const Backend> mRef = makeCpuRef();
    const std::shared_ptr<ThreadPool> mThreads = std::make_shared<ThreadPool>(2);
    const std::shared_ptr<Budget> mMemory = std::make_shared<Budget>(size_t{1} << 20);
    std::shared_ptr<Budget> mDeviceMemory = std::make_shared<Budget>(size_t{1} << 20);
    const Floats mIn = {-1, 2, -3, 4, -5, 6};
};

TensorId relu(Graph& graph, TensorId x, std::string label = "relu") {
    return addNode(graph, Activate{.function = Activate::Function::RELU}, {x}, std::move(label));
}

TensorId absolute(Graph& graph, TensorId x, std::string label = "abs") {
    return addNode(graph, Unary{.function = Unary::Function::ABS}, {x}, std::move(label));
}

using OnADeviceDeathTest = OnADevice;

TEST_F(OnADeviceDeathTest, MemoryIsOutOfTheHostsReach) {
    const auto buffer = mDistant->memory()->allocate(100).value();
    std::byte* const base = static_cast<DistantBuffer&>(*buffer).base();
    EXPECT_EXIT(static_cast<volatile std::byte&>(*base) = std::byte{1},
                testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(OnADevice, TensorsStayThereFromPartitionToPartition) {
    const auto program = build(graphOf([](Graph& graph, TensorId x) {
        return addSum(graph, relu(graph, x), absolute(graph, x));
    }));
    EXPECT_EQ(program->arenaBytes(), 0U);
    EXPECT_GE(program->deviceArenaBytes(), 2 * kBytes);
    EXPECT_EQ(describe(*program), (std::vector<std::string>{"graph input 0: host > Far, 24",
                                                            "output 0 of sum: Far > host, 24"}));
    Execution execution = Execution::create(program).value();
    Floats out(kElements);
    ExecutionReport report;
    ASSERT_TRUE(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}, &report).ok());
    EXPECT_EQ(out, (Floats{1, 4, 3, 8, 5, 12}));
    EXPECT_EQ(report.copies, 2U);
    EXPECT_EQ(report.copiedBytes, 2 * kBytes);
}

TEST_F(OnADevice, ATensorIsCopiedOnceHoweverManyReadIt) {
    takes(Takes::EVERY_SECOND);
    const auto program = build(graphOf([](Graph& graph, TensorId x) {
        const TensorId a = relu(graph, x, "first");             // there
        const TensorId b = absolute(graph, a, "second");        // here
        const TensorId c = addSum(graph, a, b, "third");        // there
        const TensorId d = addSum(graph, a, c, "fourth");       // here
        const TensorId e = addSum(graph, x, d, "fifth");        // there
        return addSum(graph, a, addSum(graph, a, e, "sixth"));  // here, there
    }));
    EXPECT_EQ(describe(*program), (std::vector<std::string>{
                                          "graph input 0: host > Far, 24",
                                          "output 0 of first: Far > host, 24",
                                          "output 0 of second: host > Far, 24",
                                          "output 0 of third: Far > host, 24",
                                          "output 0 of fourth: host > Far, 24",
                                          "output 0 of fifth: Far > host, 24",
                                          "output 0 of sixth: host > Far, 24",
                                          "output 0 of sum: Far > host, 24",
                                  }));
    Execution execution = Execution::create(program).value();
    Floats out(kElements);
    for (int round = 0; round < 2; ++round) {
        ExecutionReport report;
        ASSERT_TRUE(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}, &report).ok());
        // a = relu(x), c = 2a, d = 3a, e = x + 3a, then a + a + e
        EXPECT_EQ(out, (Floats{-1, 12, -3, 24, -5, 36}));
        EXPECT_EQ(report.copies, 8U);
    }
    EXPECT_EQ(program->bytesBetweenPartitions(), 10 * kBytes) << "copies are no partitions";
}

TEST_F(OnADevice, BytesNeedNotBeAlignedOnTheWayThere) {
    const auto program = build(graphOf([](Graph& graph, TensorId x) { return relu(graph, x); }));
    Execution execution = Execution::create(program).value();
    std::vector<uint8_t> bytes(kBytes + 1);
    std::memcpy(bytes.data() + 1, mIn.data(), kBytes);
    Floats out(kElements);
    const size_t before = mMemory->reserved();
    ASSERT_TRUE(runOnce(execution, {{.bytes = std::span(bytes).subspan(1), .shape = {kElements}}},
                        {bindOutput(out)})
                        .ok());
    EXPECT_EQ(out, (Floats{0, 2, 0, 4, 0, 6}));
    EXPECT_EQ(mMemory->reserved(), before) << "no copy on the host in between";
}

TEST_F(OnADevice, OutputsMayOverlapInputs) {
    const auto program = build(
            graphOf([](Graph& graph, TensorId x) { return addSum(graph, relu(graph, x), x); }));
    Execution execution = Execution::create(program).value();
    Floats both = mIn;
    ASSERT_TRUE(runOnce(execution, {bindInput(both)}, {bindOutput(both)}).ok());
    EXPECT_EQ(both, (Floats{-1, 4, -3, 8, -5, 12}));
}

TEST_F(OnADevice, OutputsMayBeGraphInputsOrUnwanted) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kElements}));
    graph.setInputs({x});
    const TensorId a = relu(graph, x);
    const TensorId b = absolute(graph, a);
    graph.setOutputs({x, a, b, a});
    const auto program = build(std::move(graph));
    Execution execution = Execution::create(program).value();
    Floats same(kElements);
    Floats first(kElements);
    Floats last(kElements);
    ExecutionReport report;
    ASSERT_TRUE(runOnce(execution, {bindInput(mIn)},
                        {bindOutput(same), bindOutput(first), unwanted(), bindOutput(last)},
                        &report)
                        .ok());
    EXPECT_EQ(same, mIn);
    EXPECT_EQ(first, (Floats{0, 2, 0, 4, 0, 6}));
    EXPECT_EQ(last, first);
    EXPECT_EQ(report.outputs[2].shape, Shape({kElements}));
    EXPECT_EQ(report.copies, 2U) << "one there, one back; none for unwanted outputs";
    Floats again(kElements);
    ASSERT_TRUE(runOnce(execution, {bindInput(mIn)},
                        {unwanted(), unwanted(), unwanted(), bindOutput(again)})
                        .ok());
    EXPECT_EQ(again, last) << "though what it is the same as is unwanted";
}

TEST_F(OnADevice, ShapesMayComeWithTheRequest) {
    const auto program =
            build(graphOf([](Graph& graph, TensorId x) { return relu(graph, absolute(graph, x)); },
                          {kUnknownDimension}));
    EXPECT_EQ(program->copies().front().bytes, 0U) << "not known yet";
    Execution execution = Execution::create(program).value();
    for (const size_t count : {6U, 2U, 0U, 5U, 6U}) {
        const Floats in(count, -2);
        Floats out(count);
        const Status status = runOnce(execution, {bindInput(in)}, {bindOutput(out)});
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(out, Floats(count, 2));
    }
}

// x [6], shape [2] -> Reshape -> Activate; the shape is computed on the device and is a control
// input there.
TEST_F(OnADevice, ControlInputsLieOnTheHost) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kElements}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({x, shape});
    const TensorId doubled = graph.addTensor(int32({2}));
    graph.addNode({.descriptor = Binary{.function = Binary::Function::MAXIMUM},
                   .inputs = {shape, shape},
                   .outputs = {doubled},
                   .label = "control",
                   .sources = {}});
    graph.setOutputs({relu(graph, addNode(graph, Reshape(), {x, doubled}, "reshape"))});
    // On one device alone they are one partition, whose own kernels see to it.
    for (const Takes what : {Takes::ALL, Takes::FORESEEN, Takes::EVERY_SECOND}) {
        takes(what);
        const auto program = build(graph);
        Execution execution = Execution::create(program).value();
        for (const std::vector<int32_t>& extents :
             {std::vector<int32_t>{2, 3}, std::vector<int32_t>{-1, 1}}) {
            Floats out(kElements);
            ExecutionReport report;
            const Status status = runOnce(execution, {bindInput(mIn), bindInput(extents)},
                                          {bindOutput(out)}, &report);
            ASSERT_TRUE(status.ok()) << status.toString();
            EXPECT_EQ(out, (Floats{0, 2, 0, 4, 0, 6}));
            EXPECT_EQ(report.outputs[0].shape.rank(), 2U);
        }
    }
}

TEST_F(OnADevice, APartitionFindsItsControlInputsOnTheHost) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kElements}));
    const TensorId shape = graph.addTensor(int32({2}));
    graph.setInputs({x, shape});
    graph.setOutputs({addNode(graph, Reshape(), {x, shape}, "reshape")});
    Execution execution = Execution::create(build(graph)).value();
    const std::vector<int32_t> extents = {3, 2};
    Floats out(kElements);
    ExecutionReport report;
    const Status status =
            runOnce(execution, {bindInput(mIn), bindInput(extents)}, {bindOutput(out)}, &report);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out, mIn);
    EXPECT_EQ(report.outputs[0].shape, Shape({3, 2}));
    EXPECT_EQ(report.copies, 2U) << "the shape stays";
}

TEST_F(OnADevice, ValuesGoInAndOutOfControlFlow) {
    const auto nest = [](const std::function<TensorId(Graph&, TensorId)>& node) {
        return NestedGraph{std::make_shared<const Graph>(graphOf(node))};
    };
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({kElements}));
    graph.setInputs({condition, x});
    const TensorId before = absolute(graph, x);
    const TensorId y = graph.addTensor(float32(Shape::unknownRank()));
    graph.addNode({.descriptor = If{.then = nest([](Graph& inside, TensorId in) {
                                        return addSum(inside, in, in);
                                    }),
                                    .otherwise = nest([](Graph& inside, TensorId in) {
                                        return addSum(inside, addSum(inside, in, in), in);
                                    })},
                   .inputs = {condition, before},
                   .outputs = {y},
                   .label = "operation 0 (IF)",
                   .sources = {0}});
    graph.setOutputs({relu(graph, y)});
    Execution execution = Execution::create(build(graph)).value();
    for (const uint8_t taken : {1, 0, 1}) {
        const std::vector<uint8_t> bytes = {taken};
        Floats out(kElements);
        const Status status =
                runOnce(execution, {bindInput(bytes), bindInput(mIn)}, {bindOutput(out)});
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(out[5], taken != 0 ? 12 : 18);
    }
}

// ---- Memory -------------------------------------------------------------------------------------

TEST_F(OnADevice, BytesAreChargedUnderALimitOfTheirOwn) {
    auto program = build(graphOf([](Graph& graph, TensorId x) {
        const TensorId weights = addConstant<float>(graph, float32({kElements}), Floats(6, 1));
        return addSum(graph, relu(graph, x), weights);
    }));
    const size_t constants = mDeviceMemory->reserved();
    EXPECT_GE(constants, kBytes);
    EXPECT_EQ(mDistant->memory()->inUse, constants);
    {
        Execution execution = Execution::create(program).value();
        const size_t states = DistantBackend::kStateBytes;
        EXPECT_EQ(mDeviceMemory->reserved(), constants + states);
        Floats out(kElements);
        ASSERT_TRUE(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}).ok());
        EXPECT_EQ(mDeviceMemory->reserved(), constants + states + program->deviceArenaBytes());
        EXPECT_EQ(mDistant->memory()->inUse, mDeviceMemory->reserved());
    }
    EXPECT_EQ(mDeviceMemory->reserved(), constants);
}

TEST_F(OnADevice, AnArenaThatCouldNeverBeIsRefusedWhenBuilding) {
    const auto graph = graphOf([](Graph& inner, TensorId x) { return relu(inner, x); });
    const size_t arena = build(graph)->deviceArenaBytes();
    mDeviceMemory = std::make_shared<Budget>(arena - 1);
    const Status status = tryBuild(graph).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(status.message().starts_with("the arena of an execution: ")) << status.message();
}

TEST_F(OnADevice, TheFirstThingWithoutRoomIsAnErrorThatKeepsNothing) {
    const auto graph = graphOf([](Graph& inner, TensorId x) {
        const TensorId weights = addConstant<float>(inner, float32({kElements}), Floats(6, 1));
        return addSum(inner, relu(inner, x), weights);
    });
    size_t needed = 0;
    {
        Execution execution = Execution::create(build(graph)).value();
        Floats out(kElements);
        ASSERT_TRUE(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}).ok());
        needed = mDeviceMemory->reserved();
    }
    for (size_t limit = 0; limit < needed; ++limit) {
        mDeviceMemory = std::make_shared<Budget>(limit);
        const auto attempt = [&]() -> Status {
            HALYARD_ASSIGN_OR_RETURN(auto program, tryBuild(graph));
            HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
            Floats out(kElements);
            return runOnce(execution, {bindInput(mIn)}, {bindOutput(out)});
        };
        ASSERT_EQ(attempt().code(), StatusCode::RESOURCE_EXHAUSTED) << limit;
        ASSERT_EQ(mDeviceMemory->reserved(), 0U);
        ASSERT_EQ(mDistant->memory()->inUse, 0U);
    }
}

// ---- Failures -----------------------------------------------------------------------------------

TEST_F(OnADevice, AStationThatFailsLeavesNothingAndTheNextAttemptWorks) {
    const auto graph = graphOf([](Graph& inner, TensorId x) {
        const TensorId weights = addConstant<float>(inner, float32({kElements}), Floats(6, 1));
        return addSum(inner, relu(inner, x), weights);
    });
    const auto attempt = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(auto program, tryBuild(graph));
        HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
        Floats out(kElements);
        return runOnce(execution, {bindInput(mIn)}, {bindOutput(out)});
    };
    const auto expectFailure = [&](const std::string& message) {
        SCOPED_TRACE(message);
        EXPECT_EQ(attempt().message(), message);
        EXPECT_EQ(mDeviceMemory->reserved(), 0U);
        EXPECT_EQ(mMemory->reserved(), 0U);
        EXPECT_EQ(mDistant->memory()->inUse, 0U);
    };
    const std::string told(toldToFail().message());
    for (const FailingStage stage :
         {FailingStage::COMPILE, FailingStage::PACK, FailingStage::FINISH, FailingStage::SPECIALIZE,
          FailingStage::MAKE_STATE, FailingStage::RUN}) {
        mDistant->failing = stage;
        expectFailure(stage == FailingStage::PACK ? told : "Distant: " + told);
        mDistant->failing = FailingStage::NONE;
        EXPECT_TRUE(attempt().ok());
    }
    DistantMemory& memory = *mDistant->memory();
    memory.failsToAllocate = true;
    expectFailure("Distant: Far: " + told);
    memory.failsToAllocate = false;
    EXPECT_TRUE(attempt().ok());
    memory.failsToCopyIn = true;
    expectFailure("Distant: " + told);
    memory.failsToCopyIn = false;
    memory.failsToCopyOut = true;
    expectFailure("copying from Far: " + told);
    memory.failsToCopyOut = false;
    EXPECT_TRUE(attempt().ok());
}

TEST_F(OnADevice, ACopyThatFailsFailsTheRunAndNotTheExecution) {
    const auto program = build(graphOf([](Graph& graph, TensorId x) { return relu(graph, x); }));
    Execution execution = Execution::create(program).value();
    Floats out(kElements);
    DistantMemory& memory = *mDistant->memory();
    memory.failsToAllocate = true;
    EXPECT_EQ(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}).message(),
              "the arena of an execution: Far: " + std::string(toldToFail().message()));
    memory.failsToAllocate = false;
    memory.failsToCopyIn = true;
    EXPECT_EQ(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}).message(),
              "copying to Far: " + std::string(toldToFail().message()));
    memory.failsToCopyIn = false;
    EXPECT_TRUE(runOnce(execution, {bindInput(mIn)}, {bindOutput(out)}).ok());
    EXPECT_EQ(out, (Floats{0, 2, 0, 4, 0, 6}));
}

// ---- At the same time ---------------------------------------------------------------------------

TEST_F(OnADevice, ExecutionsRunSideBySide) {
    takes(Takes::EVERY_SECOND);
    const auto program = build(graphOf([](Graph& graph, TensorId x) {
        const TensorId weights = addConstant<float>(graph, float32({kElements}), Floats(6, 1));
        return addSum(graph, absolute(graph, relu(graph, x)), weights);
    }));
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            Execution execution = Execution::create(program).value();
            for (int round = 0; round < 50; ++round) {
                const auto value = static_cast<float>(thread * 100 + round);
                const Floats in(kElements, value);
                Floats out(kElements);
                const Status status = runOnce(execution, {bindInput(in)}, {bindOutput(out)});
                wrong += !status.ok() || out != Floats(kElements, value + 1) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

// The host's part of a run takes the threads, and gives them back before the device's.
TEST_F(OnADevice, ThreadsAreFreeWhileTheDeviceWorks) {
    FakeBackend host("Host", {NodeKind::Activate});
    size_t left = 0;
    host.onRun = [&](const RunArguments& arguments) {
        EXPECT_TRUE(arguments.threads->parallelFor(9, 1, [](int64_t, int64_t, size_t) {}).ok());
        left = ThreadLease::take(mThreads.get()).threadCount();
        return Status();
    };
    // Looks at the threads from the device's partition.
    struct Watch : TraceSink {
        explicit Watch(ThreadPool* theThreads) : threads(theThreads) {}
        void begin(const Trace& work) override {
            if (work.track == "Distant" || work.track == "Far") {
                left.push_back(ThreadLease::take(threads).threadCount());
            }
        }
        void record(const Trace& /*work*/) override {}
        ThreadPool* threads;
        std::vector<size_t> left;
    } watch(mThreads.get());
    const BackendList backends = {&host, mDistant.get()};
    Graph graph = graphOf(
            [](Graph& inner, TensorId x) { return absolute(inner, addActivate(inner, x)); });
    const auto program = buildOrDie(std::move(graph), backends, mThreads);
    Execution execution = Execution::create(program).value();
    Floats out(kElements);
    ASSERT_TRUE(execution
                        .run(std::array{bindInput(mIn)}, std::array{bindOutput(out)},
                             {.trace = &watch}, nullptr)
                        .ok());
    EXPECT_EQ(left, 1U);
    ASSERT_EQ(watch.left.size(), 4U) << "a copy, the partition and its node, a copy";
    EXPECT_EQ(watch.left, std::vector<size_t>(4, 2));
}

// ---- What people are shown ----------------------------------------------------------------------

TEST_F(OnADevice, AProfileTellsCopiesAndTheDevicesTime) {
    takes(Takes::EVERY_SECOND);
    const auto program = build(graphOf([](Graph& graph, TensorId x) {
        return addSum(graph, absolute(graph, relu(graph, x, "first"), "second"), x, "third");
    }));
    Execution execution = Execution::create(program).value();
    Profile profile(program);
    for (int run = 0; run < 3; ++run) {
        Floats out(kElements);
        ASSERT_TRUE(execution
                            .run(std::array{bindInput(mIn)}, std::array{bindOutput(out)},
                                 {.trace = &profile}, nullptr)
                            .ok());
        profile.endRun();
    }
    const std::vector<NodeProfile> nodes = profile.nodes();
    ASSERT_EQ(nodes.size(), 3U);
    EXPECT_GT(nodes[0].medianDeviceTime.count(), 0);
    EXPECT_EQ(nodes[1].medianDeviceTime.count(), 0) << "CpuRef's";
    const std::vector<CopyProfile> copies = profile.copies();
    ASSERT_EQ(copies.size(), 2U);
    EXPECT_EQ(copies[0].name, "to Far");
    EXPECT_EQ(copies[0].count, 2U) << "x once for two readers";
    EXPECT_EQ(copies[0].bytes, 2 * kBytes);
    EXPECT_GT(copies[0].medianTime.count(), 0);
    EXPECT_EQ(copies[1].name, "from Far");
    EXPECT_EQ(copies[1].count, 2U);
}

}  // namespace
}  // namespace halyard::engine
