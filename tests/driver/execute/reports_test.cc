// SPDX-License-Identifier: Apache-2.0
//
// A model's account of itself: its report, and the dumps of its tensors.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/execute/device_state.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/execute/executing_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

TEST_F(Executing, ReportsMemoryAndPlacement) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    ASSERT_TRUE(model->execute(convRequest().request(), HalVersion::V1_3, {}).status.ok());
    const std::string report = model->report();
    EXPECT_NE(report.find("constant_bytes\t"), std::string::npos) << report;
    EXPECT_NE(report.find("arena_bytes\t"), std::string::npos) << report;
    EXPECT_NE(report.find("node\t0\toperation 0 (CONV_2D)\tConv2d\tCpuRef\t0\tref::Conv2d\n"),
              std::string::npos)
            << report;
    EXPECT_NE(report.find("partitions\t1\n"), std::string::npos) << report;
    EXPECT_NE(report.find("bytes_between_partitions\t0\n"), std::string::npos) << report;
    EXPECT_NE(report.find("node\t2\toperation 2 (ADD)\tBinary\tCpuRef\t0\tref::Binary\n"),
              std::string::npos)
            << report;
}

TEST_F(Executing, ReportsTheLargestArenaThatAnExecutionTook) {
    ModelBuilder builder;
    const uint32_t between = builder.temporary(floats({0}));
    builder.operation(OperationType::RELU, {builder.input(floats({0}))}, {between})
            .operation(OperationType::RELU, {between}, {builder.output(floats({0}))});
    const std::shared_ptr<PreparedModel> model = prepare(builder.build());
    const auto arenaAfter = [&](uint32_t elements) {
        RequestBuilder request;
        request.input<float>(std::vector<float>(elements), {elements}).output(4 * elements);
        EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
        const std::string report = model->report();
        return std::stoul(report.substr(report.find("arena_bytes\t") + 12));
    };
    const size_t small = arenaAfter(10);
    const size_t large = arenaAfter(1000);
    EXPECT_GE(large, 4000U);
    EXPECT_LT(small, large);
    EXPECT_EQ(arenaAfter(10), large);
}

TEST(Reporting, TellsEveryOperationsFate) {
    const std::shared_ptr<DeviceState> state = makeState();
    engine::Graph graph;
    const engine::TensorType type = {
            .type = engine::DataType::FLOAT32, .shape = {4}, .quantization = {}};
    const engine::TensorId input = graph.addTensor(type);
    const engine::TensorId output = graph.addTensor(type);
    graph.setInputs({input});
    graph.setOutputs({output});
    graph.addNode({.descriptor = engine::Unary(),
                   .inputs = {input},
                   .outputs = {output},
                   .label = "operation 1 (ABS)",
                   .sources = {1, 4, 7}});
    graph.addVanished({.operation = 4, .fate = "fused into operation 1"});
    const auto program = engine::Program::build(std::move(graph), state->backendList,
                                                state->threads, state->account.memory);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    const auto model =
            std::make_shared<PreparedModel>(state, state->clients.own(), PreparedModel::Holdings(),
                                            ModelBoundary(), PoolUses(), *program, Priority::LOW);
    const std::string report = model->report();
    EXPECT_NE(report.find("node\t1,4,7\toperation 1 (ABS)\tUnary\tCpuRef\t0\tref::Unary\n"),
              std::string::npos)
            << report;
    EXPECT_NE(report.find("vanished\t4\tfused into operation 1\n"), std::string::npos) << report;
}

TEST(Dumping, WritesEveryTensorOfEveryRequest) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                         ("halyard_dump_test_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    Options options;
    options.dumpDirectory = folder.string();
    const std::unique_ptr<Device> device = makeDevice(options);
    const std::shared_ptr<PreparedModel> model =
            *device->prepare(reluModel(), HalVersion::V1_0, {});
    RequestBuilder request;
    // With room beyond what the operand takes, which is no part of it.
    request.input<float>({-1, 2, -3, 4, 5, 6}).output(16);
    ASSERT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
    const auto floatsIn = [&](const char* name) {
        std::ifstream file(folder / name, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    };
    EXPECT_EQ(floatsIn("1_input0.dump"), (std::vector<float>{-1, 2, -3, 4}));
    EXPECT_EQ(floatsIn("1_output0.dump"), (std::vector<float>{0, 2, 0, 4}));
    std::filesystem::remove_all(folder);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
}

}  // namespace
}  // namespace halyard::driver
