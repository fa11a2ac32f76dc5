// SPDX-License-Identifier: Apache-2.0
//
// What one client may take, what is left to the others, and what ends with it.

#include "driver/client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

constexpr ProcessId kGreedy = {.pid = 100, .uid = 10'000};
constexpr ProcessId kModest = {.pid = 200, .uid = 10'001};

class Clients : public testing::Test {
  protected:
    static Options options() {
        Options options;
        options.maxMemoryMib = 16;
        return options;
    }

    Result<std::shared_ptr<PreparedModel>> prepare(const std::shared_ptr<Client>& client,
                                                   const Model& model) {
        PrepareOptions prepareOptions;
        prepareOptions.client = client;
        return mDevice->prepare(model, HalVersion::V1_3, prepareOptions);
    }
    // The value of a field in the client's line of the report, or -1 if it has none.
    int64_t reported(ProcessId process, const std::string& field) {
        const std::string report = mDevice->report();
        const size_t line = report.find("client\tpid\t" + std::to_string(process.pid) + "\t");
        const size_t end = report.find('\n', line);
        const size_t found = report.find("\t" + field + "\t", line);
        return line == std::string::npos || found > end
                       ? -1
                       : std::stoll(report.substr(found + field.size() + 2));
    }

    std::unique_ptr<Device> mDevice = makeDevice(options());
};

// An execution that never ends of itself, launched.
class Endless {
  public:
    explicit Endless(const PreparedModel& model) {
        mRequest.input<float>({1}).input<float>({5}).output(4);
        ExecuteOptions options;
        options.loopTimeout = kMaxLoopTimeout;
        EXPECT_TRUE(model.executeAsync(mRequest.request(), HalVersion::V1_3, options,
                                       [done = mDone](const ExecutionResult& result) {
                                           done.set(result.status);
                                       })
                            .ok());
    }
    const Awaited<Status>& done() const { return mDone; }

  private:
    RequestBuilder mRequest;
    Awaited<Status> mDone;
};

void awaitRunning(const Client& client, size_t count) {
    while (client.shares().executing->running() < count) {
        std::this_thread::yield();
    }
}

TEST_F(Clients, AreProcessesUntilTheirAccountsCloseOrTheyDie) {
    const std::shared_ptr<Client> first = mDevice->client(kGreedy);
    EXPECT_EQ(mDevice->client(kGreedy), first);
    EXPECT_NE(mDevice->client(kModest), first);
    EXPECT_NE(mDevice->client({.pid = kGreedy.pid, .uid = 7}), first) << "the number was reused";
    first->end();
    const std::shared_ptr<Client> next = mDevice->client(kGreedy);
    EXPECT_NE(next, first);
    EXPECT_TRUE(next->alive().ok());
    EXPECT_EQ(first->alive().code(), StatusCode::UNAVAILABLE);
}

TEST_F(Clients, AreChargedForModelsAndPoolsUntilTheyLetGoOfThem) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    Result<std::shared_ptr<PreparedModel>> model = prepare(client, floatConvModel());
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(reported(kGreedy, "models"), 1);
    EXPECT_GT(reported(kGreedy, "memory"), 1000);
    EXPECT_EQ(reported(kGreedy, "tasks"), 0);
    EXPECT_EQ(reported(kModest, "models"), -1) << "it has no account";
    model = Status(StatusCode::UNAVAILABLE, "let go");
    EXPECT_EQ(reported(kGreedy, "models"), 0);
    EXPECT_EQ(reported(kGreedy, "memory"), 0);
}

// 100 KiB of values in the model itself.
Model modelOfValues() {
    constexpr uint32_t kLength = 25 * 1024;
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({kLength}));
    const uint32_t values = builder.constant<float>(floats({kLength}), std::vector<float>(kLength));
    builder.operation(OperationType::ADD, {input, values, builder.int32(0)},
                      {builder.output(floats({kLength}))});
    return builder.build();
}

TEST_F(Clients, PayForTheValuesThatTheirModelsBring) {
    const std::shared_ptr<Client> greedy = mDevice->client(kGreedy);
    std::vector<std::shared_ptr<PreparedModel>> models;
    Status refused;
    while (refused.ok() && models.size() < 1000) {
        Result<std::shared_ptr<PreparedModel>> model = prepare(greedy, modelOfValues());
        refused = model.status();
        if (model.ok()) {
            models.push_back(std::move(*model));
        }
    }
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_LE(models.size(), 80U) << "half of 16 MiB";
    EXPECT_GE(models.size(), 60U);
    const std::shared_ptr<Client> modest = mDevice->client(kModest);
    EXPECT_TRUE(prepare(modest, modelOfValues()).ok()) << "the other half is for others";
    models.clear();
    EXPECT_TRUE(prepare(greedy, modelOfValues()).ok());
}

TEST_F(Clients, HaveTheMemoryThatTheOptionGivesThem) {
    Options limited = options();
    limited.maxClientMemoryMib = 1;
    mDevice = makeDevice(limited);
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    std::vector<std::shared_ptr<PreparedModel>> models;
    for (int i = 0; i < 9; ++i) {
        models.push_back(prepare(client, modelOfValues()).value());
    }
    EXPECT_EQ(prepare(client, modelOfValues()).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(mDevice->prepare(modelOfValues(), HalVersion::V1_3, {}).ok())
            << "this process has the device's own limits";
}

TEST_F(Clients, FindASlotThoughAnotherTakesAllThatItGets) {
    const std::shared_ptr<Client> greedy = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(greedy, loopModel(OperationType::MINIMUM)).value();
    std::vector<Endless> endless;
    for (int i = 0; i < 20; ++i) {
        endless.emplace_back(*loop);
    }
    awaitRunning(*greedy, 4);
    EXPECT_EQ(reported(kGreedy, "tasks"), 20);
    const std::shared_ptr<Client> modest = mDevice->client(kModest);
    const std::shared_ptr<PreparedModel> relu = prepare(modest, reluModel()).value();
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(16);
    EXPECT_TRUE(relu->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
    EXPECT_TRUE(mDevice->supportedOperations(reluModel(), HalVersion::V1_3, modest).ok());
    EXPECT_EQ(greedy->shares().executing->running(), 4U) << "all the while";
    greedy->end();
}

TEST_F(Clients, ThatDieTakeTheirWorkWithThem) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(client, loopModel(OperationType::MINIMUM)).value();
    std::vector<Endless> endless;
    for (int i = 0; i < 10; ++i) {
        endless.emplace_back(*loop);
    }
    awaitRunning(*client, 4);
    Status waited;
    std::thread caller([&] {
        RequestBuilder request;
        request.input<float>({1}).input<float>({5}).output(4);
        waited = loop->execute(request.request(), HalVersion::V1_3, {}).status;
    });
    while (client->shares().executing->waiting() < 7) {
        std::this_thread::yield();
    }
    client->end();
    caller.join();
    EXPECT_EQ(waited.code(), StatusCode::UNAVAILABLE);
    for (const Endless& execution : endless) {
        EXPECT_EQ(execution.done().get().code(), StatusCode::UNAVAILABLE)
                << execution.done().get().toString();
        EXPECT_EQ(execution.done().count(), 1);
    }
    // Nothing new begins, by whatever is left of it.
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    EXPECT_EQ(loop->execute(request.request(), HalVersion::V1_3, {}).status.code(),
              StatusCode::UNAVAILABLE);
    const Awaited<Status> told;
    EXPECT_EQ(loop->executeAsync(request.request(), HalVersion::V1_3, {},
                                 [told](const ExecutionResult& result) { told.set(result.status); })
                      .code(),
              StatusCode::UNAVAILABLE);
    EXPECT_EQ(told.get().code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(prepare(client, reluModel()).status().code(), StatusCode::UNAVAILABLE);
}

TEST_F(Clients, MayHaveSoMuchWorkWaitingAndNoMore) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(client, loopModel(OperationType::MINIMUM)).value();
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    ExecuteOptions options;
    options.loopTimeout = kMaxLoopTimeout;
    size_t launched = 0;
    Status refused;
    while (refused.ok() && launched < 5000) {
        const Awaited<Status> told;
        refused = loop->executeAsync(
                request.request(), HalVersion::V1_3, options,
                [told](const ExecutionResult& result) { told.set(result.status); });
        launched += refused.ok() ? 1 : 0;
        if (!refused.ok()) {
            EXPECT_EQ(told.get().code(), refused.code()) << "it is told by the callback too";
        }
    }
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(launched, 512U);
    const Awaited<Status> told;
    PrepareOptions prepareOptions;
    prepareOptions.client = client;
    EXPECT_EQ(mDevice->prepareAsync(reluModel(), HalVersion::V1_3, prepareOptions,
                                    [told](const Status& status,
                                           const std::shared_ptr<PreparedModel>& model) {
                                        EXPECT_EQ(model, nullptr);
                                        told.set(status);
                                    })
                      .code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(told.get().code(), StatusCode::RESOURCE_EXHAUSTED);
    client->end();
}

TEST_F(Clients, HoldNoMoreOfTheirCallersThreadsThanTheyMay) {
    Options limited = options();
    limited.calls = {.perClient = 1, .shared = 8, .most = 8};
    mDevice = makeDevice(limited);
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(client, loopModel(OperationType::MINIMUM)).value();
    const std::shared_ptr<PreparedModel> relu = prepare(client, reluModel()).value();
    std::thread caller([&] {
        RequestBuilder request;
        request.input<float>({1}).input<float>({5}).output(4);
        ExecuteOptions options;
        options.loopTimeout = kMaxLoopTimeout;
        EXPECT_EQ(loop->execute(request.request(), HalVersion::V1_3, options).status.code(),
                  StatusCode::UNAVAILABLE);
    });
    awaitRunning(*client, 1);
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    EXPECT_EQ(relu->execute(request.request(), HalVersion::V1_3, {}).status.code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(mDevice->supportedOperations(reluModel(), HalVersion::V1_3, client).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(
            mDevice->supportedOperations(reluModel(), HalVersion::V1_3, mDevice->client(kModest))
                    .ok());
    client->end();
    caller.join();
}

TEST_F(Clients, AreToldWhenTheDeviceLetsNothingRunLonger) {
    Options limited = options();
    limited.maxRunningSeconds = 1;
    mDevice = makeDevice(limited);
    const std::shared_ptr<PreparedModel> loop =
            prepare(mDevice->client(kGreedy), loopModel(OperationType::MINIMUM)).value();
    const Endless endless(*loop);
    const Status status = endless.done().get();
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_TRUE(status.message().starts_with("the device lets nothing take longer than 1 s"))
            << status.toString();
    ExecuteOptions options;
    options.loopTimeout = kMaxLoopTimeout;
    options.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    const Status late = loop->execute(request.request(), HalVersion::V1_3, options).status;
    EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(late.message().find("the device lets"), std::string_view::npos)
            << "here it was the client's own deadline: " << late.toString();
}

TEST_F(Clients, HearOfADeadlineThatPassesInTheQueue) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(client, loopModel(OperationType::MINIMUM)).value();
    std::vector<Endless> endless;
    for (int i = 0; i < 4; ++i) {
        endless.emplace_back(*loop);
    }
    awaitRunning(*client, 4);
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    ExecuteOptions options;
    options.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    const Awaited<Status> told;
    EXPECT_TRUE(
            loop->executeAsync(request.request(), HalVersion::V1_3, options,
                               [told](const ExecutionResult& result) { told.set(result.status); })
                    .ok());
    EXPECT_EQ(told.get().code(), StatusCode::DEADLINE_EXCEEDED);
    for (const Endless& execution : endless) {
        EXPECT_EQ(execution.done().count(), 0) << "the slots are still taken";
    }
    client->end();
}

TEST_F(Clients, MapOfTheirPoolsWhatTheyUse) {
    Model model = floatConvModel();  // its bias lies in a pool
    ASSERT_EQ(model.pools.size(), 1U);
    const auto bias = std::make_shared<FakeMemory>(model.pools[0]->size() + 5000);
    const auto unused = std::make_shared<FakeMemory>(5000);
    unused->mappable = false;
    std::ranges::copy(*model.pools[0]->map(), bias->map()->begin());
    model.pools = {bias, unused};
    const Operand& operand = model.main.operands[conv_model::kBias];
    ASSERT_TRUE(prepare(mDevice->client(kGreedy), model).ok());
    EXPECT_EQ(bias->used->begin, operand.location.offset);
    EXPECT_EQ(bias->used->end, operand.location.offset + operand.location.length);
    EXPECT_TRUE(unused->used->empty());
}

}  // namespace
}  // namespace halyard::driver
