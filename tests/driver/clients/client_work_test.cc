// SPDX-License-Identifier: Apache-2.0
//
// The work of clients: which client gets a slot, how long it may take, and that it ends with them.

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
#include "tests/driver/client_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using ClientWork = ClientTest;

TEST_F(ClientWork, FindASlotThoughAnotherTakesAllThatItGets) {
    const std::shared_ptr<Client> greedy = account(kGreedy);
    const std::shared_ptr<PreparedModel> loop =
            prepare(greedy, loopModel(OperationType::MINIMUM)).value();
    std::vector<Endless> endless;
    for (int i = 0; i < 20; ++i) {
        endless.emplace_back(*loop);
    }
    awaitRunning(*greedy, 4);
    EXPECT_EQ(reported(kGreedy, "tasks"), 20);
    const std::shared_ptr<Client> modest = account(kModest);
    const std::shared_ptr<PreparedModel> relu = prepare(modest, reluModel()).value();
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(16);
    EXPECT_TRUE(relu->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
    EXPECT_TRUE(mDevice->supportedOperations(reluModel(), HalVersion::V1_3, modest).ok());
    EXPECT_EQ(greedy->shares().executing->running(), 4U) << "all the while";
    greedy->end();
}

TEST_F(ClientWork, MakesTheDeviceBusyWhereItWaits) {
    const std::shared_ptr<Client> client = account(kGreedy);
    EXPECT_EQ(mDevice->status(), DeviceStatus::AVAILABLE);
    for (const auto& share : {client->shares().executing, client->shares().preparing}) {
        std::vector<Scheduler::Slot> slots;
        while (std::optional<Scheduler::Slot> slot = share->tryEnter()) {
            slots.push_back(std::move(*slot));
        }
        EXPECT_EQ(mDevice->status(), DeviceStatus::AVAILABLE) << "nothing waits";
        const Awaited<Status> turn;
        EXPECT_TRUE(
                share->post(Priority::MEDIUM, {}, [turn](const Status& t) { turn.set(t); }).ok());
        EXPECT_EQ(mDevice->status(), DeviceStatus::BUSY);
        slots.clear();
        EXPECT_TRUE(turn.get().ok());
        EXPECT_EQ(mDevice->status(), DeviceStatus::AVAILABLE);
    }
}

TEST_F(ClientWork, OfLowerPriorityStandsStillWhileTheUsersOwnOfAHigherOneRuns) {
    const std::shared_ptr<Client> client = account(kGreedy);
    const std::shared_ptr<Client> other = account(kModest);
    const Model loop = loopModel(OperationType::MINIMUM);
    const std::shared_ptr<PreparedModel> high = prepare(client, loop, Priority::HIGH).value();
    const std::shared_ptr<PreparedModel> low = prepare(client, loop, Priority::LOW).value();
    const std::shared_ptr<PreparedModel> others = prepare(other, loop, Priority::LOW).value();
    const Endless first(*high);
    const Endless second(*others);
    awaitRunning(*client, 1);
    awaitRunning(*other, 1);
    const Endless third(*low);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (client->precedence().waiting() == 0 && std::chrono::steady_clock::now() < patience) {
        std::this_thread::yield();
    }
    EXPECT_EQ(client->precedence().waiting(), 1U);
    EXPECT_EQ(other->precedence().waiting(), 0U) << "priorities count among one user's models";
    client->end();
    other->end();
    EXPECT_EQ(third.done().get().code(), StatusCode::UNAVAILABLE);
}

TEST_F(ClientWork, OfLowerPriorityStandsStillForAnotherProcessOfTheSameUser) {
    const std::shared_ptr<Client> first = account(kGreedy);
    const std::shared_ptr<Client> second = account({.pid = 101, .uid = kGreedy.uid});
    const Model loop = loopModel(OperationType::MINIMUM);
    const std::shared_ptr<PreparedModel> high = prepare(first, loop, Priority::HIGH).value();
    const std::shared_ptr<PreparedModel> low = prepare(second, loop, Priority::LOW).value();
    const Endless one(*high);
    awaitRunning(*first, 1);
    const Endless two(*low);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (second->precedence().waiting() == 0 && std::chrono::steady_clock::now() < patience) {
        std::this_thread::yield();
    }
    EXPECT_EQ(second->precedence().waiting(), 1U) << "NNAPI: among the models of one app";
    first->end();
    second->end();
}

TEST_F(ClientWork, ThatDieTakeTheirWorkWithThem) {
    const std::shared_ptr<Client> client = account(kGreedy);
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

TEST_F(ClientWork, ThatDieAreNotWaitedForWhereNoSlotIsFree) {
    const std::shared_ptr<Client> client = account(kGreedy);
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

TEST_F(ClientWork, KeepNoIdleExecutionsOnceTheyDied) {
    const std::shared_ptr<Client> client = account(kGreedy);
    const std::shared_ptr<PreparedModel> model = prepare(client, arenaModel()).value();
    const size_t before = client->account().memory->reserved();
    ASSERT_TRUE(runArena(*model).ok());
    EXPECT_GE(client->account().memory->reserved(), before + 300 * 1024) << "for the next run";
    client->end();
    EXPECT_EQ(client->account().memory->reserved(), before);
}

TEST_F(ClientWork, GiveUpTheirOwnIdleExecutionsWhereTheirMemoryRunsShort) {
    Options limited = options();
    limited.maxClientMemoryMib = 1;
    mDevice = makeDevice(limited);
    const std::shared_ptr<Client> greedy = account(kGreedy);
    const std::shared_ptr<Client> modest = account(kModest);
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

TEST_F(ClientWork, MayHaveSoMuchWorkWaitingAndNoMore) {
    const std::shared_ptr<Client> client = account(kGreedy);
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

TEST_F(ClientWork, HoldNoMoreOfTheirCallersThreadsThanTheyMay) {
    Options limited = options();
    limited.calls = {.perClient = 1, .perGroup = 8, .shared = 8, .most = 8};
    mDevice = makeDevice(limited);
    const std::shared_ptr<Client> client = account(kGreedy);
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
    EXPECT_TRUE(mDevice->supportedOperations(reluModel(), HalVersion::V1_3, account(kModest)).ok());
    client->end();
    caller.join();
}

TEST_F(ClientWork, AreToldWhenTheDeviceLetsNothingRunLonger) {
    Options limited = options();
    limited.maxRunningSeconds = 1;
    mDevice = makeDevice(limited);
    const std::shared_ptr<PreparedModel> loop =
            prepare(account(kGreedy), loopModel(OperationType::MINIMUM)).value();
    const auto start = std::chrono::steady_clock::now();
    const Endless endless(*loop);
    const Status status = endless.done().get();
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10))
            << "or else it was the loop's own limit that ended it";
    EXPECT_TRUE(status.message().starts_with("the device lets nothing take longer than 1 s"))
            << status.toString();
    EXPECT_TRUE(status.persistent()) << "it would take as long again";
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

TEST_F(ClientWork, IsNotSaidToTakeTooLongForTheDeviceWhereALoopDoesForItself) {
    const std::shared_ptr<PreparedModel> loop =
            prepare(account(kGreedy), loopModel(OperationType::MINIMUM)).value();
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    ExecuteOptions options;
    options.loopTimeout = std::chrono::milliseconds(5);
    const Status status = loop->execute(request.request(), HalVersion::V1_3, options).status;
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.message().find("the device lets"), std::string_view::npos)
            << status.toString();
}

TEST_F(ClientWork, HearOfADeadlineThatPassesInTheQueue) {
    const std::shared_ptr<Client> client = account(kGreedy);
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

}  // namespace
}  // namespace halyard::driver
