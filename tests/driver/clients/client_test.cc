// SPDX-License-Identifier: Apache-2.0
//
// Limits of one client, and the share left to the others.

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

using Clients = ClientTest;

TEST_F(Clients, AreProcessesUntilTheirAccountsCloseOrTheyDie) {
    const std::shared_ptr<Client> first = account(kGreedy);
    EXPECT_EQ(account(kGreedy), first);
    EXPECT_NE(account(kModest), first);
    first->end();
    const std::shared_ptr<Client> next = account(kGreedy);
    EXPECT_NE(next, first);
    EXPECT_TRUE(next->alive().ok());
    EXPECT_EQ(first->alive().code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(account({.pid = kGreedy.pid, .uid = 7}), next) << "the number was reused";
}

TEST_F(Clients, AreChargedForModelsAndPoolsUntilTheyLetGoOfThem) {
    const std::shared_ptr<Client> client = account(kGreedy);
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

// The budgets of an account, each with more than a client may take of it, and with what its user
// has in any case; of a device of 16 MiB.
struct Bounds {
    std::shared_ptr<Budget> budget;
    size_t tooMany;
    size_t minimum;
};

std::vector<Bounds> boundsOf(const Client& client) {
    const Account& account = client.account();
    return {{account.memory, (size_t{8} << 20) + 1, size_t{256} << 10},
            {account.addressSpace, (size_t{1} << 41) + 1, size_t{1} << 38},
            {account.mappings, 8193, 512},
            {account.models, 1025, 256},
            {account.tasks, 513, 128}};
}

TEST_F(Clients, HaveLimitsOfTheirOwn) {
    const std::shared_ptr<Client> greedy = account(kGreedy);
    for (const Bounds& bounds : boundsOf(*greedy)) {
        EXPECT_EQ(Reservation::create(bounds.budget, bounds.tooMany).status().code(),
                  StatusCode::RESOURCE_EXHAUSTED)
                << bounds.tooMany;
        EXPECT_TRUE(Reservation::create(bounds.budget, bounds.tooMany - 1).ok());
    }
}

// Takes as much as there is, in parts that become smaller.
void takeAll(const std::shared_ptr<Budget>& budget, std::vector<Reservation>& taken) {
    for (size_t count = budget->limit(); count > 0;) {
        Result<Reservation> some = Reservation::create(budget, count);
        if (some.ok()) {
            taken.push_back(std::move(*some));
        } else {
            count /= 2;
        }
    }
}

TEST_F(Clients, OfUsersThatHoardAllTheyGetLeaveEachNewUserItsMinimum) {
    std::vector<std::shared_ptr<Client>> clients;
    std::vector<Reservation> taken;
    int32_t pid = 1000;
    for (uint32_t uid = 20'000; uid < 20'003; ++uid) {
        for (int i = 0; i < 40; ++i) {
            clients.push_back(account({.pid = ++pid, .uid = uid}));
            for (const Bounds& bounds : boundsOf(*clients.back())) {
                takeAll(bounds.budget, taken);
            }
        }
    }
    for (uint32_t uid = 30'000; uid < 30'000 + kUsersWithMinimum - 3; ++uid) {
        clients.push_back(account({.pid = ++pid, .uid = uid}));
        for (const Bounds& bounds : boundsOf(*clients.back())) {
            Result<Reservation> minimum = Reservation::create(bounds.budget, bounds.minimum);
            ASSERT_TRUE(minimum.ok()) << uid << ": " << minimum.status().toString();
            taken.push_back(std::move(*minimum));
        }
    }
    EXPECT_FALSE(prepare(account({.pid = ++pid, .uid = 40'000}), floatConvModel()).ok())
            << "nothing is left";
    clients.clear();
    taken.clear();
    EXPECT_TRUE(prepare(account({.pid = pid, .uid = 40'000}), floatConvModel()).ok());
}

TEST_F(Clients, OfOneUserTakeNoMoreThanItsPart) {
    std::vector<std::shared_ptr<Client>> clients;
    std::vector<Reservation> taken;
    for (int32_t pid = 1000; pid < 1060; ++pid) {
        clients.push_back(account({.pid = pid, .uid = kGreedy.uid}));
        for (const Bounds& bounds : boundsOf(*clients.back())) {
            takeAll(bounds.budget, taken);
        }
    }
    const Account& user = clients.front()->user()->account();
    EXPECT_EQ(user.memory->reserved(), size_t{10} << 20);
    EXPECT_EQ(user.models->reserved(), 10240U);
    EXPECT_EQ(user.tasks->reserved(), 5120U);
    EXPECT_EQ(user.mappings->reserved(), 20480U);
    EXPECT_EQ(prepare(account({.pid = 1060, .uid = kGreedy.uid}), floatConvModel()).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(prepare(account(kModest), floatConvModel()).ok());
}

TEST_F(Clients, AreSoManyOfOneUserAndNoMore) {
    std::vector<std::shared_ptr<Client>> clients;
    for (int32_t pid = 1000; pid < 1064; ++pid) {
        clients.push_back(account({.pid = pid, .uid = kGreedy.uid}));
    }
    const Status refused = mDevice->client({.pid = 2000, .uid = kGreedy.uid}).status();
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(refused.message(),
              "an account for a process of user 10000: 1 processes, with 64 in use, are more than "
              "the limit of 64");
    EXPECT_EQ(account({.pid = 1000, .uid = kGreedy.uid}), clients.front()) << "it has one";
    EXPECT_TRUE(mDevice->client(kModest).ok());
    clients.pop_back();
    EXPECT_TRUE(mDevice->client({.pid = 2000, .uid = kGreedy.uid}).ok());
}

TEST_F(Clients, OfManyUsersLeaveEachNewUserSomeAccounts) {
    std::vector<std::shared_ptr<Client>> clients;
    int32_t pid = 1000;
    for (uint32_t uid = 20'000; uid < 20'010; ++uid) {
        for (int i = 0; i < 64; ++i) {
            Result<std::shared_ptr<Client>> client = mDevice->client({.pid = ++pid, .uid = uid});
            if (client.ok()) {
                clients.push_back(std::move(*client));
            }
        }
    }
    EXPECT_LT(clients.size(), 512U);
    for (int i = 0; i < 8; ++i) {
        clients.push_back(account({.pid = ++pid, .uid = kModest.uid}));
    }
    EXPECT_TRUE(prepare(clients.back(), floatConvModel()).ok());
}

TEST_F(Clients, AreReportedWithTheirUsers) {
    const std::shared_ptr<Client> first = account(kGreedy);
    const std::shared_ptr<Client> second = account({.pid = 101, .uid = kGreedy.uid});
    const std::shared_ptr<PreparedModel> one = prepare(first, floatConvModel()).value();
    const std::shared_ptr<PreparedModel> two = prepare(second, floatConvModel()).value();
    EXPECT_NE(mDevice->report().find("user\tuid\t10000\tprocesses\t2\tmodels\t2\tmemory\t"),
              std::string::npos)
            << mDevice->report();
    EXPECT_EQ(reported(kGreedy, "models"), 1);
}

TEST_F(Clients, KeepTheirWitnessUntilTheirAccountsClose) {
    std::shared_ptr<Client> client = account(kGreedy);
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
    const std::shared_ptr<Client> greedy = account(kGreedy);
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
    const std::shared_ptr<Client> modest = account(kModest);
    EXPECT_TRUE(prepare(modest, modelOfValues()).ok()) << "the other half is for others";
    models.clear();
    EXPECT_TRUE(prepare(greedy, modelOfValues()).ok());
}

TEST_F(Clients, HaveTheMemoryThatTheOptionGivesThem) {
    Options limited = options();
    limited.maxClientMemoryMib = 1;
    mDevice = makeDevice(limited);
    const std::shared_ptr<Client> client = account(kGreedy);
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
            mDevice->supportedOperations(model, HalVersion::V1_3, account(kGreedy));
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_TRUE(std::ranges::count(*supported, false)) << "as a whole it would not prepare";
    EXPECT_EQ(prepare(account(kGreedy), model).status().code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(Clients, PayForRequestsThatWaitAndHaveTheirPoolsBackWhenTheyAreTold) {
    const std::shared_ptr<Client> client = account(kGreedy);
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
    const std::shared_ptr<Client> client = account(kGreedy);
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
    const std::shared_ptr<Client> client = account(kGreedy);
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
    const std::shared_ptr<Client> client = account(kGreedy);
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

TEST_F(Clients, MapOfTheirPoolsWhatTheyUse) {
    Model model = floatConvModel();  // its bias lies in a pool
    ASSERT_EQ(model.pools.size(), 1U);
    const auto bias = std::make_shared<FakeMemory>(model.pools[0]->size() + 5000);
    const auto unused = std::make_shared<FakeMemory>(5000);
    unused->mappable = false;
    std::ranges::copy(*model.pools[0]->map(), bias->map()->begin());
    model.pools = {bias, unused};
    const Operand& operand = model.main.operands[conv_model::kBias];
    ASSERT_TRUE(prepare(account(kGreedy), model).ok());
    EXPECT_EQ(bias->used->begin, operand.location.offset);
    EXPECT_EQ(bias->used->end, operand.location.offset + operand.location.length);
    EXPECT_TRUE(unused->used->empty());
}

}  // namespace
}  // namespace halyard::driver
