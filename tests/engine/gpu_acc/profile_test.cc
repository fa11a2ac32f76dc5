// SPDX-License-Identifier: Apache-2.0
//
// GpuAcc's report of the time on its device and of the memory there.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/gpu_acc.h"
#include "engine/base/budget.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/gpu_acc/on_device.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine::gpu_test {
namespace {

constexpr int32_t kLongRow = 4096;

std::unique_ptr<const Backend> open(bool profiles) {
    const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
    return makeGpuAcc({.choice = {.library = "", .device = named != nullptr ? named : "pthread"},
                       .compilesApart = false,
                       .profiles = profiles})
            .value();
}

// softmax(x) + numbers, of so many elements; -1: only a run tells how many.
Graph graphOf(int32_t extent) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({extent}));
    graph.setInputs({x});
    const TensorId numbers = addConstant<float>(graph, float32({1}), {2});
    graph.setOutputs({addSum(graph, addNode(graph, Softmax(), {x}), numbers)});
    return graph;
}

struct Ran {
    std::vector<NodeProfile> nodes;
    std::vector<std::string> kernels;
    ExecutionReport report;
};

Ran run(const std::shared_ptr<const Program>& program, int32_t extent) {
    Execution execution = Execution::create(program).value();
    const Floats in(static_cast<size_t>(extent), 1.0F);
    Floats out(in.size());
    Profile profile(program);
    Ran ran;
    const Status status = execution.run(
            std::array{InputBinding{.bytes = bindInput(in).bytes, .shape = Shape{extent}}},
            std::array{bindOutput(out)}, {.trace = &profile}, &ran.report);
    EXPECT_TRUE(status.ok()) << status.toString();
    profile.endRun();
    ran.nodes = profile.nodes();
    for (const NodeProfile& node : ran.nodes) {
        ran.kernels.emplace_back(node.kernel);
    }
    return ran;
}

TEST(GpuAccProfile, TellsTheDevicesTimesAndKernelsWhereItIsAskedTo) {
    HALYARD_NEEDS_DEVICE();
    const std::unique_ptr<const Backend> device = open(true);
    const auto program = buildOrDie(graphOf(kLongRow), {device.get()});
    const Ran ran = run(program, kLongRow);
    ASSERT_EQ(ran.nodes.size(), 2U);
    for (const NodeProfile& node : ran.nodes) {
        EXPECT_GT(node.medianDeviceTime.count(), 0) << node.kernel;
        EXPECT_LE(node.medianDeviceTime, node.medianTime) << node.kernel;
    }
    EXPECT_EQ(ran.kernels, (std::vector<std::string>{"gpu::Softmax: softmax", "gpu::Binary: map"}));
}

TEST(GpuAccProfile, TellsWallTimesAloneWhereItIsNot) {
    HALYARD_NEEDS_DEVICE();
    const std::unique_ptr<const Backend> device = open(false);
    const Ran ran = run(buildOrDie(graphOf(kLongRow), {device.get()}), kLongRow);
    ASSERT_EQ(ran.nodes.size(), 2U);
    for (const NodeProfile& node : ran.nodes) {
        EXPECT_EQ(node.medianDeviceTime.count(), 0) << node.kernel;
        EXPECT_GT(node.medianTime.count(), 0) << node.kernel;
    }
    EXPECT_EQ(ran.kernels, (std::vector<std::string>{"gpu::Softmax", "gpu::Binary"}));
}

TEST(GpuAccProfile, NamesOutliveTheShapesThatTheyWereMadeFor) {
    HALYARD_NEEDS_DEVICE();
    const std::unique_ptr<const Backend> device = open(true);
    const auto program = buildOrDie(graphOf(-1), {device.get()});
    const Ran first = run(program, 1);
    // More shapes than a schedule keeps plans for.
    for (int32_t extent = 2; extent < 40; ++extent) {
        run(program, extent);
    }
    EXPECT_EQ(first.nodes[0].kernel, "gpu::Softmax: softmax");
}

TEST(GpuAccProfile, TellsWhatLiesOnTheDevice) {
    HALYARD_NEEDS_DEVICE();
    const auto budget = std::make_shared<Budget>(size_t{1} << 24);
    AnalyzedGraph analyzed = analyze(graphOf(kLongRow), {backend()}, nullptr).value();
    const std::shared_ptr<const Program> program =
            Program::build(std::move(analyzed), {backend()},
                           {.memory = nullptr, .deviceMemory = budget})
                    .value();
    const size_t held = budget->reserved();
    EXPECT_GT(program->deviceConstantBytes(), 0U);
    Execution execution = Execution::create(program).value();
    const Floats in(kLongRow, 1.0F);
    Floats out(kLongRow);
    ExecutionReport report;
    ASSERT_TRUE(execution.run(std::array{bindInput(in)}, std::array{bindOutput(out)}, {}, &report)
                        .ok());
    EXPECT_EQ(held, program->deviceConstantBytes() + report.deviceTableBytes)
            << "of a program that is not executed";
    EXPECT_GE(report.deviceArenaBytes, kLongRow * sizeof(float)) << "what is between the nodes";
    EXPECT_EQ(budget->reserved(), held + report.deviceArenaBytes);
}

}  // namespace
}  // namespace halyard::engine::gpu_test
