// SPDX-License-Identifier: Apache-2.0
//
// The optimiser's passes in preparing: they run, they may be turned off, they never make a model
// fail that prepares without them, and their graphs can be looked at.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "driver/device/device.h"
#include "driver/execute/prepared_model.h"
#include "driver/prepare/graph_dump.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

// ADD of the input with itself, then RELU, which the passes fuse.
Model sumModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t sum = builder.temporary(floats({2}));
    builder.operation(OperationType::ADD, {input, input, builder.int32(0)}, {sum})
            .operation(OperationType::RELU, {sum}, {builder.output(floats({2}))});
    return builder.build();
}

std::vector<float> doubled(const PreparedModel& model) {
    RequestBuilder request;
    request.input<float>({-1, 2}).output(8);
    EXPECT_TRUE(model.execute(request.request(), HalVersion::V1_3, {}).status.ok());
    return request.result<float>(0, 2);
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Optimizing, RunsThePassesUnlessToldNotTo) {
    const auto model = *makeDevice()->prepare(sumModel(), HalVersion::V1_3, {});
    EXPECT_TRUE(contains(model->report(),
                         "node\t0,1\toperation 0 (ADD)\tBinary\tCpuRef\t0\tref::Binary\n"))
            << model->report();
    EXPECT_EQ(doubled(*model), (std::vector<float>{0, 4}));

    Options options;
    options.optimize = false;
    const auto lowered = *makeDevice(options)->prepare(sumModel(), HalVersion::V1_3, {});
    EXPECT_TRUE(contains(lowered->report(),
                         "node\t1\toperation 1 (RELU)\tActivate\tCpuRef\t0\tref::Activate\n"))
            << lowered->report();
    EXPECT_EQ(doubled(*lowered), (std::vector<float>{0, 4}));
}

TEST(Optimizing, ReducesPrecisionWhereAnOptionAsksAndNotForARelaxedModelAlone) {
    Model relaxed = sumModel();
    relaxed.relaxComputationFloat32toFloat16 = true;
    const auto exact = *makeDevice()->prepare(relaxed, HalVersion::V1_3, {});
    EXPECT_FALSE(contains(exact->report(), "\tCast\t")) << exact->report();

    Options options;
    options.precision = engine::FloatPrecision::FLOAT16;
    const auto reduced = *makeDevice(options)->prepare(sumModel(), HalVersion::V1_3, {});
    EXPECT_TRUE(contains(reduced->report(), "\tCast\t")) << reduced->report();
    EXPECT_EQ(doubled(*reduced), (std::vector<float>{0, 4}));
}

// CpuRef, but that it refuses sums with an activation, or finds no room for them.
class NoFusedSums : public engine::Backend {
  public:
    explicit NoFusedSums(StatusCode failure) : mFailure(failure) {}

    std::string_view name() const override { return "NoFusedSums"; }
    Status supports(const engine::Graph& graph, engine::NodeId node) const override {
        return mFailure == StatusCode::UNSUPPORTED && isFused(graph.node(node))
                       ? unsupported("takes no activation")
                       : mCpuRef->supports(graph, node);
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& arguments) const override {
        for (const engine::Node& node : arguments.graph->nodes()) {
            if (isFused(node)) {
                return Status(mFailure, "not this one");
            }
        }
        return mCpuRef->compile(arguments);
    }

  private:
    static bool isFused(const engine::Node& node) {
        const auto* sum = std::get_if<engine::Binary>(&node.descriptor);
        return sum != nullptr && sum->activation != engine::Activation::NONE;
    }

    const StatusCode mFailure;
    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
};

std::unique_ptr<Device> deviceThatFails(StatusCode failure) {
    std::vector<std::unique_ptr<const engine::Backend>> backends;
    backends.push_back(std::make_unique<NoFusedSums>(failure));
    return Device::create({}, std::move(backends)).value();
}

TEST(Optimizing, FailsNoModelThatPreparesWithoutIt) {
    for (const StatusCode failure : {StatusCode::UNSUPPORTED, StatusCode::RESOURCE_EXHAUSTED}) {
        const std::unique_ptr<Device> device = deviceThatFails(failure);
        EXPECT_EQ(*device->supportedOperations(sumModel(), HalVersion::V1_3),
                  (std::vector<bool>{true, true}));
        const auto model = device->prepare(sumModel(), HalVersion::V1_3, {});
        ASSERT_TRUE(model.ok()) << model.status().toString();
        EXPECT_TRUE(contains((*model)->report(), "operation 1 (RELU)")) << (*model)->report();
        EXPECT_EQ(doubled(**model), (std::vector<float>{0, 4}));
    }
}

// CpuRef, which notes what it was asked for.
class NotesFastMath : public engine::Backend {
  public:
    explicit NotesFastMath(bool& asked) : mAsked(asked) {}

    std::string_view name() const override { return "NotesFastMath"; }
    Status supports(const engine::Graph& graph, engine::NodeId node) const override {
        return mCpuRef->supports(graph, node);
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& arguments) const override {
        mAsked = arguments.options.fastMath;
        return mCpuRef->compile(arguments);
    }

  private:
    bool& mAsked;
    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
};

TEST(FastMath, IsAskedOfBackendsWhereTheDeviceIsStartedWithIt) {
    for (const bool wanted : {true, false}) {
        bool asked = !wanted;
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(std::make_unique<NotesFastMath>(asked));
        Options options;
        options.fastMath = wanted;
        const auto device = Device::create(options, std::move(backends)).value();
        ASSERT_TRUE(device->prepare(sumModel(), HalVersion::V1_3, {}).ok());
        EXPECT_EQ(asked, wanted);
    }
}

// 4 elements as [9]: once the sum is folded, everybody can tell that no run will do it.
TEST(Optimizing, LeavesItToARunToFailOnSizesThatContradictEachOther) {
    const OperandSpec one = {OperandType::TENSOR_INT32, {1}};
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({4}));
    const uint32_t shape = builder.temporary(one);
    builder.operation(OperationType::ADD,
                      {builder.constant<int32_t>(one, {4}), builder.constant<int32_t>(one, {5}),
                       builder.int32(0)},
                      {shape})
            .operation(OperationType::RESHAPE, {input, shape}, {builder.output(floats({0}))});
    const Model model = builder.build();
    for (const bool optimize : {true, false}) {
        Options options;
        options.optimize = optimize;
        const Result<std::shared_ptr<PreparedModel>> prepared =
                makeDevice(options)->prepare(model, HalVersion::V1_3, {});
        ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
        RequestBuilder request;
        request.input<float>({1, 2, 3, 4}).output(64);
        EXPECT_EQ((*prepared)->execute(request.request(), HalVersion::V1_3, {}).status.code(),
                  StatusCode::INVALID_ARGUMENT);
    }
}

TEST(Optimizing, HidesNoOtherFailure) {
    EXPECT_EQ(deviceThatFails(StatusCode::INTERNAL)
                      ->prepare(sumModel(), HalVersion::V1_3, {})
                      .status()
                      .code(),
              StatusCode::INTERNAL);
}

class DumpingGraphs : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::remove_all(mFolder);
        std::filesystem::create_directories(mFolder);
    }
    void TearDown() override { std::filesystem::remove_all(mFolder); }

    std::unique_ptr<Device> device() const {
        Options options;
        options.graphDumpDirectory = mFolder.string();
        return makeDevice(options);
    }
    std::string text(const std::string& name) const {
        std::ifstream file(mFolder / name, std::ios::binary);
        EXPECT_TRUE(file.good()) << name;
        return {(std::istreambuf_iterator<char>(file)), {}};
    }
    size_t fileCount() const {
        return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(mFolder), {}));
    }

    const std::filesystem::path mFolder = std::filesystem::path(testing::TempDir()) /
                                          ("halyard_graph_dump_" + std::to_string(getpid()));
};

TEST_F(DumpingGraphs, ShowsTheGraphBeforeAndAfterAndWhatThePassesChanged) {
    ASSERT_TRUE(device()->prepare(sumModel(), HalVersion::V1_3, {}).ok());
    EXPECT_TRUE(contains(text("model-001-lowered.txt"),
                         "node \"operation 1 (RELU)\" [1] Activate{function: RELU"));
    EXPECT_TRUE(contains(text("model-001-lowered.dot"), "operation 1 (RELU)"));
    EXPECT_TRUE(contains(text("model-001-optimized.txt"),
                         "node \"operation 0 (ADD)\" [0, 1] Binary{function: ADD, "
                         "activation: RELU}"));
    EXPECT_FALSE(contains(text("model-001-optimized.dot"), "RELU)"));
    const std::string passes = text("model-001-passes.txt");
    EXPECT_TRUE(contains(passes, "fuse-activations: 2 nodes, then 1\n")) << passes;
    EXPECT_TRUE(contains(passes, "- \"operation 1 (RELU)\" [1] Activate{")) << passes;
    EXPECT_TRUE(contains(passes, "+ \"operation 0 (ADD)\" [0, 1] Binary{")) << passes;
}

TEST_F(DumpingGraphs, TakesNumbersThatAreFreeAndNoMoreThanItSays) {
    for (uint32_t number = 1; number < NumberedDump::kMost; ++number) {
        char name[64];
        std::snprintf(name, sizeof name, "model-%03u-lowered.txt", number);
        std::ofstream(mFolder / name) << "taken";
    }
    const std::unique_ptr<Device> full = device();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(full->prepare(sumModel(), HalVersion::V1_3, {}).ok());
    }
    EXPECT_EQ(text("model-001-lowered.txt"), "taken");
    EXPECT_FALSE(text("model-100-optimized.txt").empty());
    EXPECT_EQ(fileCount(), NumberedDump::kMost + 4);
}

TEST_F(DumpingGraphs, FailsNoModelForWantOfAFolder) {
    const std::unique_ptr<Device> somewhere = device();
    std::filesystem::remove_all(mFolder);
    EXPECT_TRUE(somewhere->prepare(sumModel(), HalVersion::V1_3, {}).ok());
}

}  // namespace
}  // namespace halyard::driver
