// SPDX-License-Identifier: Apache-2.0

#include "driver/device/device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <future>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using std::chrono::steady_clock;

struct Prepared {
    Status launch;
    Status status;
    std::shared_ptr<PreparedModel> model;
    int calls = 0;
};

// Waits for the callback; a second call would be counted.
Prepared prepareAndWait(const Device& device, const Model& model, HalVersion version,
                        const PrepareOptions& options = {}) {
    const Awaited<Prepared> answer;
    const Status launch = device.prepareAsync(
            model, version, options,
            [answer](const Status& status, std::shared_ptr<PreparedModel> result) {
                Prepared prepared;
                prepared.status = status;
                prepared.model = std::move(result);
                answer.set(std::move(prepared));
            });
    Prepared prepared = answer.get();
    prepared.launch = launch;
    prepared.calls = answer.count();
    return prepared;
}

TEST(Device, RejectsAnUnknownBackendAndListsTheKnownOnes) {
    Options options;
    options.backends = {"CpuRef", "TpuAcc"};
    const Status status = Device::create(options).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    for (const std::string_view name : {"TpuAcc", "CpuRef", "CpuAcc", "GpuAcc"}) {
        EXPECT_NE(status.message().find(name), std::string_view::npos) << status.message();
    }
}

// CpuRef, on a processor of another kind.
class TypedBackend final : public engine::Backend {
  public:
    TypedBackend(std::string name, engine::DeviceType type) : mName(std::move(name)), mType(type) {}
    std::string_view name() const override { return mName; }
    engine::DeviceType deviceType() const override { return mType; }
    Status supports(const engine::Graph& graph, engine::NodeId node) const override {
        return mCpuRef->supports(graph, node);
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& arguments) const override {
        return mCpuRef->compile(arguments);
    }

  private:
    const std::string mName;
    const engine::DeviceType mType;
    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
};

TEST(Device, IsOfTheKindOfTheBackendThatIsAskedFirst) {
    const std::vector<std::pair<engine::DeviceType, DeviceType>> types = {
            {engine::DeviceType::GPU, DeviceType::GPU},
            {engine::DeviceType::CPU, DeviceType::CPU},
            {engine::DeviceType::ACCELERATOR, DeviceType::ACCELERATOR},
            {engine::DeviceType::OTHER, DeviceType::OTHER}};
    for (const auto& [first, type] : types) {
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(std::make_unique<TypedBackend>("First", first));
        backends.push_back(std::make_unique<TypedBackend>("Gpu", engine::DeviceType::GPU));
        backends.push_back(engine::makeCpuRef());
        EXPECT_EQ(Device::create({}, std::move(backends)).value()->type(), type);
    }
    EXPECT_EQ(makeDevice()->type(), DeviceType::CPU);
}

TEST(Device, PreparesWhateverCacheFilesAndHintsItIsGiven) {
    const auto device = makeDevice();
    PrepareOptions options;
    auto cache = std::make_shared<CompilationCache>();
    cache->modelFiles.emplace_back(memfd_create("cache", MFD_CLOEXEC));
    cache->dataFiles.resize(2);
    const std::weak_ptr<const CompilationCache> kept = cache;
    options.cache = std::move(cache);
    options.hints.pairs.push_back({.token = 0x10005, .value = {1, 2, 3}});
    Prepared prepared = prepareAndWait(*device, reluModel(), HalVersion::AIDL_V4, options);
    EXPECT_TRUE(prepared.status.ok()) << prepared.status.toString();
    EXPECT_TRUE(device->prepare(reluModel(), HalVersion::AIDL_V4, options).ok());
    options = {};
    EXPECT_TRUE(kept.expired()) << "nothing is kept of it";
}

TEST(Device, FindsNothingWithoutACacheAndSaysSoOnce) {
    const auto device = makeDevice();
    int calls = 0;
    const Status status = device->prepareFromCacheAsync(
            {}, [&](const Status& told, const std::shared_ptr<PreparedModel>& model) {
                ++calls;
                EXPECT_EQ(told.code(), StatusCode::INVALID_ARGUMENT);
                EXPECT_EQ(model, nullptr);
            });
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(device->prepareFromCacheAsync({}, nullptr).code(), StatusCode::INVALID_ARGUMENT);
}

TEST(Device, RejectsCpuFeaturesThatTheProcessorLacksAndListsThoseItHas) {
    Options options;
    options.backends = {"CpuAcc"};
    options.cpuFeatures = "mmx";
    const Status status = Device::create(options).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    for (const std::string_view name : {"mmx", "portable"}) {
        EXPECT_NE(status.message().find(name), std::string_view::npos) << status.message();
    }
}

TEST(Device, ComputesWithTheCpuFeaturesThatItIsTold) {
    Options options;
    options.backends = {"CpuAcc"};
    options.cpuFeatures = "portable";
    const auto device = Device::create(options).value();
    const auto prepared = device->prepare(reluModel(), HalVersion::V1_3, {}).value();
    EXPECT_NE(prepared->report().find(" portable"), std::string::npos) << prepared->report();
}

TEST(Device, SaysWhichFormsOfItsKernelsLostAndWhy) {
    Options options;
    options.backends = {"CpuAcc"};
    const auto device = Device::create(options).value();
    const std::string report =
            device->prepare(floatConvModel(), HalVersion::V1_3, {}).value()->report();
    const size_t node = report.find("node\t0\toperation 0 (CONV_2D)\t");
    const size_t lost = report.find("\nlost\t0\toperation 0 (CONV_2D)\t");
    ASSERT_NE(lost, std::string::npos) << report;
    EXPECT_LT(node, lost) << report;
    const std::string line = report.substr(lost + 1, report.find('\n', lost + 1) - lost);
    EXPECT_NE(line.find(": "), std::string::npos) << line;
}

TEST(Device, HandsGpuAccItsTuning) {
    Options options;
    options.backends = {"GpuAcc:library=/nowhere/libOpenCL.so"};
    const auto refusal = [&] { return std::string(Device::create(options).status().message()); };
    options.clTunedParametersMode = "UpdateTunedParameters";
    EXPECT_EQ(refusal(),
              "--cl-tuned-parameters-mode UpdateTunedParameters needs --cl-tuned-parameters-file");
    options.clTunedParametersFile = "a,b:c";
    options.clTuningLevel = "normal";
    EXPECT_EQ(refusal(), "") << "a machine without OpenCL has nothing to tune";
    options.backends = {"GpuAcc:library=/nowhere/libOpenCL.so:tuning-file=other"};
    EXPECT_EQ(refusal(), "--cl-tuned-parameters-file says a,b:c, and -c GpuAcc:tuning-file=other");
    options.backends = {"GpuAcc:library=/nowhere/libOpenCL.so:tuning-mode=use"};
    EXPECT_EQ(refusal(), "--cl-tuned-parameters-mode says update, and -c GpuAcc:tuning-mode=use");
    // GpuAcc resolves the word.
    options.backends = {"GpuAcc:library=/nowhere/libOpenCL.so"};
    options.clTuningLevel = "slow";
    EXPECT_EQ(refusal(), "GpuAcc's tuning-level is one of rapid, normal, exhaustive, not \"slow\"");
}

TEST(Device, EndsTheListOfBackendsWithCpuRef) {
    Options options;
    options.backends = {};
    const Result<std::unique_ptr<Device>> device = Device::create(options);
    ASSERT_TRUE(device.ok());
    EXPECT_EQ((*device)->backendNames(), std::vector<std::string>{"CpuRef"});
    options.backends = {"CpuRef", "CpuRef"};
    EXPECT_EQ((*Device::create(options))->backendNames(), std::vector<std::string>{"CpuRef"});
}

TEST(Device, RejectsMoreThreadsThanTheLimit) {
    Options options;
    options.threads = 65;
    EXPECT_EQ(Device::create(options).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST(Device, ListsCapabilitiesByAscendingTypeWithoutSubgraph) {
    const std::unique_ptr<Device> device = makeDevice();
    const Capabilities& capabilities = device->capabilities();
    const auto typeOf = [](const OperandPerformance& entry) { return entry.type; };
    EXPECT_TRUE(
            std::ranges::is_sorted(capabilities.operandPerformance, std::less_equal<>(), typeOf));
    EXPECT_EQ(capabilities.operandPerformance.size(), 15U);
    for (const OperandPerformance& entry : capabilities.operandPerformance) {
        EXPECT_NE(entry.type, OperandType::SUBGRAPH);
        EXPECT_GT(entry.info.execTime, 0.0F);
        EXPECT_GT(entry.info.powerUsage, 0.0F);
        EXPECT_EQ(performanceOf(capabilities, entry.type).execTime, entry.info.execTime);
    }
    EXPECT_GT(capabilities.ifPerformance.execTime, 0.0F);
    EXPECT_GT(capabilities.whilePerformance.powerUsage, 0.0F);
    EXPECT_EQ(performanceOf(capabilities, OperandType::OEM).execTime,
              std::numeric_limits<float>::max());
}

TEST(Device, PreparesAsynchronouslyWithOneCallback) {
    const std::unique_ptr<Device> device = makeDevice();
    const Prepared prepared = prepareAndWait(*device, floatConvModel(), HalVersion::V1_0);
    EXPECT_TRUE(prepared.launch.ok());
    EXPECT_TRUE(prepared.status.ok()) << prepared.status.toString();
    EXPECT_NE(prepared.model, nullptr);
    EXPECT_EQ(prepared.calls, 1);
}

TEST(Device, RejectsANullCallbackWithoutPreparing) {
    const std::unique_ptr<Device> device = makeDevice();
    EXPECT_EQ(device->prepareAsync(floatConvModel(), HalVersion::V1_0, {}, nullptr).code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST(Device, LaunchesButFailsAnUnsupportedModel) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t output = builder.output(floats({2}));
    builder.operation(OperationType::OEM_OPERATION, {input}, {output});
    const std::unique_ptr<Device> device = makeDevice();
    const Prepared prepared = prepareAndWait(*device, builder.build(), HalVersion::V1_0);
    EXPECT_TRUE(prepared.launch.ok());
    EXPECT_EQ(prepared.status.code(), StatusCode::UNSUPPORTED);
    EXPECT_NE(prepared.status.message().find("operation 0 (OEM_OPERATION)"), std::string_view::npos)
            << prepared.status.message();
    EXPECT_EQ(prepared.model, nullptr);
    EXPECT_EQ(prepared.calls, 1);
}

TEST(Device, LaunchesButFailsAfterThePassedDeadline) {
    const std::unique_ptr<Device> device = makeDevice();
    PrepareOptions options;
    options.deadline = steady_clock::time_point();
    const Prepared prepared = prepareAndWait(*device, floatConvModel(), HalVersion::V1_3, options);
    EXPECT_TRUE(prepared.launch.ok());
    EXPECT_EQ(prepared.status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(prepared.calls, 1);
    options.deadline = steady_clock::time_point::max();
    EXPECT_TRUE(prepareAndWait(*device, floatConvModel(), HalVersion::V1_3, options).status.ok());
}

TEST(Device, FailsWhereAPoolCannotBeMapped) {
    const auto pool = std::make_shared<FakeMemory>(8);
    pool->mappable = false;
    Model model = floatConvModel();
    model.pools[0] = pool;
    const std::unique_ptr<Device> device = makeDevice();
    const Prepared prepared = prepareAndWait(*device, model, HalVersion::V1_0);
    EXPECT_TRUE(prepared.launch.ok());
    EXPECT_EQ(prepared.status.code(), StatusCode::INTERNAL);
    EXPECT_TRUE(prepared.status.message().starts_with("pool 0 can't be mapped"))
            << prepared.status.toString();
    EXPECT_EQ(prepared.calls, 1);
    // Only CONV_2D reads the pool.
    const Result<std::vector<bool>> supported =
            device->supportedOperations(model, HalVersion::V1_0);
    ASSERT_TRUE(supported.ok());
    EXPECT_EQ(*supported, (std::vector<bool>{false, true, true}));
}

TEST(Device, FailsWhereAPoolWasCutShort) {
    Model model = floatConvModel();
    const auto pool = std::make_shared<FakeMemory>(model.pools[0]->size());
    pool->cutShort = true;
    model.pools[0] = pool;
    const Prepared prepared = prepareAndWait(*makeDevice(), model, HalVersion::V1_0);
    EXPECT_EQ(prepared.status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(prepared.calls, 1);
}

TEST(Device, DeniesTheOperationsThatItsOptionsTurnOff) {
    Options options;
    options.unsupportedOperations = {OperationType::RELU};
    const std::unique_ptr<Device> device = makeDevice(options);
    const Result<std::vector<bool>> supported =
            device->supportedOperations(floatConvModel(), HalVersion::V1_0);
    ASSERT_TRUE(supported.ok());
    EXPECT_EQ(*supported, (std::vector<bool>{true, false, true}));
    const Status status = device->prepare(floatConvModel(), HalVersion::V1_0, {}).status();
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_NE(status.message().find("operation 1 (RELU)"), std::string_view::npos);
}

TEST(Device, FindsShapesThatContradictEachOtherOnlyInTheWhole) {
    // Each operation alone is fine: the value between them has unknown extents.
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 3}));
    const uint32_t middle = builder.temporary(floats({0, 0}));
    const uint32_t output = builder.output(floats({2, 4}));
    builder.operation(OperationType::RELU, {input}, {middle})
            .operation(OperationType::RELU, {middle}, {output});
    const std::unique_ptr<Device> device = makeDevice();
    const Result<std::vector<bool>> supported =
            device->supportedOperations(builder.build(), HalVersion::V1_0);
    ASSERT_TRUE(supported.ok()) << "structure and signatures are valid";
    EXPECT_EQ(*supported, (std::vector<bool>{true, false})) << "the later one is to blame";
    const Prepared prepared = prepareAndWait(*device, builder.build(), HalVersion::V1_0);
    EXPECT_TRUE(prepared.launch.ok());
    EXPECT_EQ(prepared.status.code(), StatusCode::UNSUPPORTED) << prepared.status.toString();
    EXPECT_EQ(prepared.calls, 1);
}

TEST(Device, PreparesFromManyThreadsAtOnce) {
    const std::unique_ptr<Device> device = makeDevice();
    std::vector<std::future<Status>> results;
    results.reserve(8);
    for (int i = 0; i < 8; ++i) {
        results.push_back(std::async(std::launch::async, [&device, i] {
            const Model model = i % 2 == 0 ? floatConvModel() : quantConvModel();
            return prepareAndWait(*device, model, HalVersion::V1_1).status;
        }));
    }
    for (std::future<Status>& result : results) {
        const Status status = result.get();
        EXPECT_TRUE(status.ok()) << status.toString();
    }
}

TEST(Device, ReportsWhatItIsAndTheModelsAlive) {
    Options options;
    options.unsupportedOperations = {OperationType::TANH};
    const std::unique_ptr<Device> device = makeDevice(options);
    EXPECT_NE(device->report().find("live_models\t0\n"), std::string::npos) << device->report();
    {
        const Prepared prepared = prepareAndWait(*device, reluModel(), HalVersion::V1_0);
        const std::string report = device->report();
        EXPECT_NE(report.find("live_models\t1\n"), std::string::npos) << report;
        EXPECT_NE(report.find("version\thalyard "), std::string::npos) << report;
        EXPECT_NE(report.find("backend\tCpuRef\n"), std::string::npos) << report;
        EXPECT_NE(report.find("unsupported_operation\tTANH\n"), std::string::npos) << report;
    }
}

TEST(Device, IsOutlivedByItsModels) {
    std::unique_ptr<Device> device = makeDevice();
    std::shared_ptr<PreparedModel> model =
            prepareAndWait(*device, reluModel(), HalVersion::V1_0).model;
    ASSERT_NE(model, nullptr);
    device.reset();
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(16);
    const Awaited<Status> done;
    const Status launch =
            model->executeAsync(request.request(), HalVersion::V1_0, {},
                                [done](const ExecutionResult& result) { done.set(result.status); });
    EXPECT_TRUE(launch.ok());
    model.reset();  // the execution keeps it, and with it the scheduler that runs it
    EXPECT_TRUE(done.get().ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
}

}  // namespace
}  // namespace halyard::driver
