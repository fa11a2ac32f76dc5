// SPDX-License-Identifier: Apache-2.0
//
// What one client may take, what is left to the others, and what ends with it.

#include "driver/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
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
    first->end();
    const std::shared_ptr<Client> next = mDevice->client(kGreedy);
    EXPECT_NE(next, first);
    EXPECT_TRUE(next->alive().ok());
    EXPECT_EQ(first->alive().code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(mDevice->client({.pid = kGreedy.pid, .uid = 7}), next) << "the number was reused";
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

// The budgets of an account, each with more than a client may take of it and a device has.
std::vector<std::pair<std::shared_ptr<Budget>, size_t>> budgetsOf(const Client& client) {
    const Account& account = client.account();
    return {{account.memory, (size_t{8} << 20) + 1},
            {account.addressSpace, (size_t{1} << 41) + 1},
            {account.mappings, 8193},
            {account.models, 1025},
            {account.tasks, 513}};
}

TEST_F(Clients, LeaveRoomForOthersInEveryBudget) {
    const std::shared_ptr<Client> greedy = mDevice->client(kGreedy);
    const std::shared_ptr<Client> modest = mDevice->client(kModest);
    std::vector<Reservation> taken;
    for (const auto& [budget, tooMany] : budgetsOf(*greedy)) {
        EXPECT_EQ(Reservation::create(budget, tooMany).status().code(),
                  StatusCode::RESOURCE_EXHAUSTED)
                << tooMany;
        Result<Reservation> most = Reservation::create(budget, tooMany - 1);
        ASSERT_TRUE(most.ok()) << most.status().toString();
        taken.push_back(std::move(*most));
    }
    for (const auto& [budget, tooMany] : budgetsOf(*modest)) {
        EXPECT_TRUE(Reservation::create(budget, tooMany - 1).ok()) << tooMany;
    }
}

TEST_F(Clients, KeepTheirWitnessUntilTheirAccountsClose) {
    std::shared_ptr<Client> client = mDevice->client(kGreedy);
    EXPECT_FALSE(client->hasWitness());
    auto witness = std::make_shared<int>();
    const std::weak_ptr<int> kept = witness;
    client->keepWitness(std::move(witness));
    EXPECT_TRUE(client->hasWitness());
    EXPECT_FALSE(kept.expired());
    client = nullptr;
    EXPECT_TRUE(kept.expired());
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

TEST_F(Clients, HaveNoMoreThanTheDeviceWhateverTheOptionGivesThem) {
    Options limited;
    limited.maxMemoryMib = 1;
    limited.maxClientMemoryMib = 16;
    mDevice = makeDevice(limited);
    ModelBuilder builder;
    const uint32_t elements = 150 * 1024;  // 600 KiB: one such tensor has room, two have not
    uint32_t value = builder.input(floats({elements}));
    for (int i = 0; i < 3; ++i) {
        const uint32_t next = builder.temporary(floats({elements}));
        builder.operation(OperationType::RELU, {value}, {next});
        value = next;
    }
    builder.operation(OperationType::RELU, {value}, {builder.output(floats({elements}))});
    const Model model = builder.build();
    const Result<std::vector<bool>> supported =
            mDevice->supportedOperations(model, HalVersion::V1_3, mDevice->client(kGreedy));
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_TRUE(std::ranges::count(*supported, false)) << "as a whole it would not prepare";
    EXPECT_EQ(prepare(mDevice->client(kGreedy), model).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(Clients, PayForRequestsThatWaitAndHaveTheirPoolsBackWhenTheyAreTold) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> model = prepare(client, reluModel()).value();
    std::vector<Scheduler::Slot> slots;
    while (std::optional<Scheduler::Slot> slot = client->shares().executing->tryEnter()) {
        slots.push_back(std::move(*slot));
    }
    RequestBuilder builder;
    builder.input<float>({1, 2, 3, 4}).output(16);
    Request request = std::move(builder.request());
    std::vector<std::weak_ptr<const Memory>> pools;
    for (const auto& pool : request.pools) {
        pools.emplace_back(std::get<SharedMemory>(pool));
    }
    const size_t before = client->account().memory->reserved();
    const Awaited<bool> free;
    ASSERT_TRUE(model->executeAsync(std::move(request), HalVersion::V1_3, {},
                                    [free, pools](const ExecutionResult& result) {
                                        EXPECT_TRUE(result.status.ok());
                                        free.set(std::ranges::all_of(pools, [](const auto& pool) {
                                            return pool.expired();
                                        }));
                                    })
                        .ok());
    EXPECT_GT(client->account().memory->reserved(), before);
    slots.clear();
    EXPECT_TRUE(free.get()) << "the client may count on the memory";
}

TEST_F(Clients, AreToldThatAModelIsReadyWhenItIsAllTheyPayFor) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    PrepareOptions prepareOptions;
    prepareOptions.client = client;
    const size_t paid = [&] {
        const auto model = prepare(client, modelOfValues()).value();
        return client->account().memory->reserved();
    }();
    const Awaited<size_t> told;
    ASSERT_TRUE(mDevice->prepareAsync(modelOfValues(), HalVersion::V1_3, prepareOptions,
                                      [told, client](const Status& status,
                                                     const std::shared_ptr<PreparedModel>&) {
                                          EXPECT_TRUE(status.ok()) << status.toString();
                                          told.set(client->account().memory->reserved());
                                      })
                        .ok());
    EXPECT_EQ(told.get(), paid) << "not for what came with the call";
}

TEST_F(Clients, HearOfAPreparationsDeadlineThatPassesInTheQueue) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    std::vector<Scheduler::Slot> slots;
    while (std::optional<Scheduler::Slot> slot = client->shares().preparing->tryEnter()) {
        slots.push_back(std::move(*slot));
    }
    PrepareOptions prepareOptions;
    prepareOptions.client = client;
    prepareOptions.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    const Awaited<Status> told;
    ASSERT_TRUE(mDevice->prepareAsync(
                               reluModel(), HalVersion::V1_3, prepareOptions,
                               [told](const Status& status, const std::shared_ptr<PreparedModel>&) {
                                   told.set(status);
                               })
                        .ok());
    EXPECT_EQ(told.get().code(), StatusCode::DEADLINE_EXCEEDED) << "while the slots are taken";
}

TEST_F(Clients, ThatAskForSupportWaitForASlotAmongThoseThatPrepare) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    std::vector<Scheduler::Slot> slots;
    while (std::optional<Scheduler::Slot> slot = client->shares().preparing->tryEnter()) {
        slots.push_back(std::move(*slot));
    }
    const Awaited<bool> answered;
    std::thread caller([&] {
        answered.set(mDevice->supportedOperations(reluModel(), HalVersion::V1_3, client).ok());
    });
    while (client->shares().preparing->waiting() == 0 && answered.count() == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(answered.count(), 0);
    slots.clear();
    caller.join();
    EXPECT_TRUE(answered.get());
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

TEST_F(Clients, ThatDieAreNotWaitedForWhereNoSlotIsFree) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(client, loopModel(OperationType::MINIMUM)).value();
    std::vector<Scheduler::Slot> slots;
    while (std::optional<Scheduler::Slot> slot = client->shares().executing->tryEnter()) {
        slots.push_back(std::move(*slot));
    }
    const Endless waiting(*loop);
    EXPECT_EQ(waiting.done().count(), 0);
    client->end();
    EXPECT_EQ(waiting.done().count(), 1) << "told before end() returns";
    EXPECT_EQ(reported(kGreedy, "tasks"), 0);
}

// Two operations, so that an execution has an arena, of 300 KiB.
Model arenaModel() {
    constexpr uint32_t kLength = 75 * 1024;
    ModelBuilder builder;
    const uint32_t between = builder.temporary(floats({kLength}));
    builder.operation(OperationType::RELU, {builder.input(floats({kLength}))}, {between});
    builder.operation(OperationType::RELU, {between}, {builder.output(floats({kLength}))});
    return builder.build();
}

Status runArena(const PreparedModel& model) {
    constexpr size_t kBytes = size_t{300} * 1024;
    RequestBuilder request;
    request.input(allocateHeapMemory(kBytes)).output(kBytes);
    return model.execute(request.request(), HalVersion::V1_3, {}).status;
}

TEST_F(Clients, KeepNoIdleExecutionsOnceTheyDied) {
    const std::shared_ptr<Client> client = mDevice->client(kGreedy);
    const std::shared_ptr<PreparedModel> model = prepare(client, arenaModel()).value();
    const size_t before = client->account().memory->reserved();
    ASSERT_TRUE(runArena(*model).ok());
    EXPECT_GE(client->account().memory->reserved(), before + 300 * 1024) << "for the next run";
    client->end();
    EXPECT_EQ(client->account().memory->reserved(), before);
}

TEST_F(Clients, GiveUpTheirOwnIdleExecutionsWhereTheirMemoryRunsShort) {
    Options limited = options();
    limited.maxClientMemoryMib = 1;
    mDevice = makeDevice(limited);
    const std::shared_ptr<Client> greedy = mDevice->client(kGreedy);
    const std::shared_ptr<Client> modest = mDevice->client(kModest);
    const std::shared_ptr<PreparedModel> others = prepare(modest, arenaModel()).value();
    ASSERT_TRUE(runArena(*others).ok());
    const size_t reserved = modest->account().memory->reserved();
    std::vector<std::shared_ptr<PreparedModel>> models;
    for (int i = 0; i < 5; ++i) {
        models.push_back(prepare(greedy, arenaModel()).value());
        const Status status = runArena(*models.back());
        EXPECT_TRUE(status.ok()) << status.toString();
    }
    EXPECT_EQ(modest->account().memory->reserved(), reserved) << "others keep theirs";
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
    const auto start = std::chrono::steady_clock::now();
    const Endless endless(*loop);
    const Status status = endless.done().get();
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10))
            << "or else it was the loop's own limit that ended it";
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
