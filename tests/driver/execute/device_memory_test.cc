// SPDX-License-Identifier: Apache-2.0
//
// Limits of clients' models and executions on the memory of a backend's device. It has 1 MiB here,
// of which a client may have half.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/driver/client_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/second_backend/distant_backend.h"

namespace halyard::driver {
namespace {

constexpr size_t kCapacity = size_t{1} << 20;

class DeviceMemoryOfClients : public ClientTest {
  protected:
    DeviceMemoryOfClients() {
        auto distant = std::make_unique<engine::DistantBackend>(engine::Takes::ALL, kCapacity);
        mDistant = distant.get();
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(std::move(distant));
        backends.push_back(engine::makeCpuRef());
        mDevice = Device::create(options(), std::move(backends)).value();
    }

    // x + constant, of so many floats.
    static Model sumModel(uint32_t elements) {
        ModelBuilder builder;
        const uint32_t x = builder.input(floats({elements}));
        const uint32_t weights =
                builder.constant<float>(floats({elements}), std::vector<float>(elements, 1.0F));
        const uint32_t none = builder.int32(0);
        const uint32_t y = builder.output(floats({elements}));
        builder.operation(OperationType::ADD, {x, weights, none}, {y});
        return builder.build();
    }

    static Status run(const PreparedModel& model, uint32_t elements) {
        RequestBuilder request;
        request.input<float>(std::vector<float>(elements, 1.0F), {elements})
                .output(elements * sizeof(float), {elements});
        const Status status = model.execute(request.request(), HalVersion::V1_3, {}).status;
        EXPECT_TRUE(!status.ok() ||
                    request.result<float>(0, elements) == std::vector<float>(elements, 2.0F));
        return status;
    }

    int64_t taken(ProcessId process) { return reported(process, "device_memory"); }

    engine::DistantBackend* mDistant = nullptr;
};

TEST_F(DeviceMemoryOfClients, IsChargedToWhoPreparesAndExecutes) {
    const auto greedy = account(kGreedy);
    const auto modest = account(kModest);
    std::shared_ptr<PreparedModel> model = prepare(greedy, sumModel(1000)).value();
    EXPECT_GE(taken(kGreedy), 4000) << "the constant";
    EXPECT_LT(taken(kGreedy), 5000);
    ASSERT_TRUE(run(*model, 1000).ok());
    EXPECT_GE(taken(kGreedy), 3 * 4000);
    EXPECT_EQ(taken(kModest), 0);
    EXPECT_EQ(mDistant->memory()->inUse, static_cast<size_t>(taken(kGreedy)));
    model = nullptr;
    EXPECT_EQ(taken(kGreedy), 0);
    EXPECT_EQ(mDistant->memory()->inUse, 0U);
}

TEST_F(DeviceMemoryOfClients, LeavesTheOthersHalfOfIt) {
    const auto greedy = account(kGreedy);
    const auto modest = account(kModest);
    constexpr uint32_t kElements = 10'000;
    std::vector<std::shared_ptr<PreparedModel>> models;
    Status status;
    while (status.ok()) {
        const auto model = prepare(greedy, sumModel(kElements));
        status = model.status();
        if (model.ok()) {
            models.push_back(*model);
        }
        ASSERT_LT(models.size(), 100U);
    }
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_NE(status.message().find("bytes on devices"), std::string::npos) << status.message();
    EXPECT_LE(taken(kGreedy), static_cast<int64_t>(kCapacity / 2));
    const auto model = prepare(modest, sumModel(kElements));
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_TRUE(run(**model, kElements).ok());
    models.clear();
    EXPECT_TRUE(prepare(greedy, sumModel(kElements)).ok()) << "once there is room";
}

// An execution between two requests gives its memory up to one that runs.
TEST_F(DeviceMemoryOfClients, ComesBackFromExecutionsThatAreIdle) {
    const auto client = account(kGreedy);
    constexpr uint32_t kElements = 50'000;  // 200,000 bytes
    // Of unknown extents: the arenas, of 400,000 bytes, come with the requests.
    const auto reluModel = [] {
        ModelBuilder builder;
        const uint32_t x = builder.input(floats({0}));
        const uint32_t y = builder.output(floats({0}));
        builder.operation(OperationType::RELU, {x}, {y});
        return builder.build();
    };
    const auto first = prepare(client, reluModel()).value();
    const auto second = prepare(client, reluModel()).value();
    for (const auto& model : {first, second, first}) {
        RequestBuilder request;
        request.input<float>(std::vector<float>(kElements, 1.0F), {kElements})
                .output(kElements * sizeof(float), {kElements});
        const Status status = model->execute(request.request(), HalVersion::V1_3, {}).status;
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_GT(taken(kGreedy), 400'000);
    }
}

TEST_F(DeviceMemoryOfClients, IsNoneWhereNoBackendHasAny) {
    mDevice = makeDevice(options());
    const auto client = account(kGreedy);
    const auto model = prepare(client, sumModel(10)).value();
    EXPECT_TRUE(run(*model, 10).ok());
    EXPECT_EQ(taken(kGreedy), 0);
    EXPECT_EQ(mDevice->report().find("memory_of_devices"), std::string::npos);
}

// A state that can't be made is an error of the request, and of nothing else.
TEST_F(DeviceMemoryOfClients, IsGivenBackWhereAnExecutionCannotBeMade) {
    const auto client = account(kGreedy);
    const auto model = prepare(client, sumModel(10)).value();
    const int64_t before = taken(kGreedy);
    mDistant->failing = engine::FailingStage::MAKE_STATE;
    const Status status = run(*model, 10);
    EXPECT_EQ(status.message(), "Distant: fails because it was told to");
    EXPECT_EQ(taken(kGreedy), before);
    mDistant->failing = engine::FailingStage::NONE;
    EXPECT_TRUE(run(*model, 10).ok());
}

TEST(DeviceMemoryLimit, LiesBelowWhatTheDevicesHave) {
    const auto limitWith = [](size_t mib) {
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(
                std::make_unique<engine::DistantBackend>(engine::Takes::ALL, size_t{4} << 20));
        backends.push_back(engine::makeCpuRef());
        Options options;
        options.maxDeviceMemoryMib = mib;
        const std::string report =
                Device::create(std::move(options), std::move(backends)).value()->report();
        const std::string name = "memory_of_devices\t0\t";
        const size_t at = report.find(name);
        return at == std::string::npos ? 0 : std::stoul(report.substr(at + name.size()));
    };
    EXPECT_EQ(limitWith(0), size_t{4} << 20);
    EXPECT_EQ(limitWith(3), size_t{3} << 20);
    EXPECT_EQ(limitWith(5), size_t{4} << 20);
    EXPECT_EQ(limitWith(kMostMemoryMib), size_t{4} << 20);
    Options options;
    options.maxDeviceMemoryMib = kMostMemoryMib + 1;
    EXPECT_EQ(Device::create(options).status().code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::driver
