// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/trace_file.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::steady_clock::time_point kStart(std::chrono::hours(1));

TEST(TraceFile, IsInTheTraceEventFormat) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    addActivate(graph, x, "the \"first\"\n");
    TraceFile file;
    file.record({.name = "ref::Activate",
                 .track = "CpuRef",
                 .node = &graph.node(0),
                 .begin = kStart + nanoseconds(1500),
                 .time = microseconds(2),
                 .bytes = 8});
    file.record({.kind = Trace::Kind::COPY,
                 .name = "to Far",
                 .track = "Far",
                 .begin = kStart,
                 .time = nanoseconds(7),
                 .deviceTime = nanoseconds(5),
                 .bytes = 4});
    EXPECT_EQ(
            file.text({.process = 7, .thread = 8}),
            R"({"displayTimeUnit":"ns","otherData":{"left_out":0,"begin_ns":3600000000000,"pid":7,"tid":8},"traceEvents":[
{"ph":"X","pid":1,"tid":0,"cat":"node","name":"ref::Activate","ts":1.500,"dur":2.000,"args":{"bytes":8,"kernel":"ref::Activate","node":"the \"first\"\u000a","kind":"Activate","fused":[]}},
{"ph":"X","pid":1,"tid":1,"cat":"copy","name":"to Far","ts":0.000,"dur":0.007,"args":{"bytes":4,"kernel":"to Far","device_us":0.005}},
{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"CpuRef"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"Far"}}
]}
)");
}

TEST(TraceFile, HasSlicesOfTheCallersAroundTheWork) {
    TraceFile file([](const Trace& work) { return "<" + std::string(work.name) + ">"; });
    file.record({.name = "work", .track = "CpuRef", .begin = kStart, .time = nanoseconds(5)});
    file.around("all of it", kStart - nanoseconds(20), nanoseconds(30));
    const std::string text = file.text({});
    EXPECT_NE(text.find(R"("tid":0,"cat":"driver","name":"all of it","ts":0.000,"dur":0.030)"),
              std::string::npos)
            << text;
    EXPECT_NE(text.find(R"("tid":1,"cat":"node","name":"<work>","ts":0.020,"dur":0.005)"),
              std::string::npos)
            << text;
    EXPECT_NE(text.find(R"("args":{"name":"driver"})"), std::string::npos) << text;
}

TEST(TraceFile, OfNothingIsEmpty) {
    EXPECT_NE(TraceFile().text({}).find(R"("begin_ns":0,)"), std::string::npos);
}

TEST(TraceFile, CountsWhatIsTooMuch) {
    TraceFile file;
    for (size_t i = 0; i < TraceFile::kMost + 3; ++i) {
        file.record({.name = "work", .track = "CpuRef", .begin = kStart});
    }
    EXPECT_NE(file.text({}).find(R"("left_out":3,)"), std::string::npos);
}

// A sink's calls: work begins, and in the end is described, partitions around their nodes.
TEST(Traces, BeginAndEndInTheOrderOfTheRun) {
    struct Order : TraceSink {
        void begin(const Trace& work) override {
            EXPECT_EQ(work.time.count(), 0);
            lines.push_back("begin " + std::string(work.name));
        }
        void record(const Trace& work) override {
            EXPECT_EQ(work.track, "CpuRef");
            EXPECT_GE(work.begin, since);
            EXPECT_LE(work.begin + work.time, std::chrono::steady_clock::now());
            lines.push_back("end " + std::string(work.name));
        }
        const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
        std::vector<std::string> lines;
    } order;
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, addSum(graph, x, x))});
    const std::unique_ptr<const Backend> cpuRef = makeCpuRef();
    const auto program = buildOrDie(std::move(graph), {cpuRef.get()});
    Execution execution = Execution::create(program).value();
    const Floats in = {1};
    Floats out(1);
    ASSERT_TRUE(execution
                        .run(std::array{bindInput(in)}, std::array{bindOutput(out)},
                             {.trace = &order}, nullptr)
                        .ok());
    const std::string first(program->placement()[0].kernel);
    const std::string second(program->placement()[1].kernel);
    EXPECT_EQ(order.lines,
              (std::vector<std::string>{"begin CpuRef", "begin " + first, "end " + first,
                                        "begin " + second, "end " + second, "end CpuRef"}));
}

}  // namespace
}  // namespace halyard::engine
