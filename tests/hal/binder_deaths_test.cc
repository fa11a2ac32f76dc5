// SPDX-License-Identifier: Apache-2.0
//
// Deaths of other processes, and the links and watches that tell of them.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/hal/connection_fixture.h"

namespace halyard::hal {
namespace {

using testing::Returns;
using testing::SentCommand;

class Deaths : public testing::ConnectionFixture {};

TEST_F(Deaths, TellsEveryLinkOfADeathOnce) {
    std::shared_ptr<RemoteObject> remote = receiveRemote(9);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    std::atomic<int> deaths = 0;
    ASSERT_TRUE(remote->linkToDeath([&] { ++deaths; }).ok());
    ASSERT_TRUE(remote->linkToDeath([&] { ++deaths; }).ok());
    Result<uint64_t> unlinked = remote->linkToDeath([&] { deaths += 100; });
    ASSERT_TRUE(unlinked.ok());
    remote->unlinkToDeath(*unlinked);
    const std::vector<SentCommand> requests = kernel->sent(BC_REQUEST_DEATH_NOTIFICATION);
    ASSERT_EQ(requests.size(), 1u) << "the kernel takes one request per handle";
    const auto request = requests[0].as<binder_handle_cookie>();
    EXPECT_EQ(request.handle, 9u);

    const binder_uintptr_t cookie = request.cookie;
    kernel->deliver(Returns().add(BR_DEAD_BINDER, cookie));
    kernel->deliver(Returns().add(BR_DEAD_BINDER, cookie));
    ASSERT_TRUE(kernel->waitForSent(BC_DEAD_BINDER_DONE, 2));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(deaths, 2);
    EXPECT_EQ(kernel->sent(BC_DEAD_BINDER_DONE)[0].as<binder_uintptr_t>(), cookie);
    EXPECT_EQ(remote->linkToDeath([] {}).status().code(), StatusCode::UNAVAILABLE);
}

TEST_F(Deaths, WatchesAnOwnerWhoseObjectMayGo) {
    std::shared_ptr<RemoteObject> remote = receiveRemote(9);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    std::atomic<int> deaths = 0;
    Result<std::unique_ptr<OwnerWatch>> first = remote->watchOwner([&] { ++deaths; });
    Result<std::unique_ptr<OwnerWatch>> second = remote->watchOwner([&] { deaths += 100; });
    ASSERT_TRUE(first.ok() && second.ok());
    const auto request =
            kernel->sent(BC_REQUEST_DEATH_NOTIFICATION).at(0).as<binder_handle_cookie>();
    ASSERT_TRUE(remote->linkToDeath([&] { deaths += 1000; }).ok());
    remote = nullptr;
    EXPECT_EQ(kernel->sent(BC_RELEASE).size(), 1u) << "its owner may destroy it";
    EXPECT_EQ(kernel->sent(BC_DECREFS).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_INCREFS).size(), 3u) << "two of them for the watches";
    EXPECT_TRUE(kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).empty());
    second->reset();
    EXPECT_TRUE(kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).empty()) << "one goes on watching";

    kernel->deliver(Returns().add(BR_DEAD_BINDER, request.cookie));
    ASSERT_TRUE(kernel->waitForSent(BC_DEAD_BINDER_DONE, 1));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(deaths, 1);
    first->reset();
    EXPECT_EQ(kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_DECREFS).size(), 3u);
}

TEST_F(Deaths, WatchesAnOwnerOnWhileItsObjectComesAndGoes) {
    std::shared_ptr<RemoteObject> remote = receiveRemote(9);
    std::atomic<int> deaths = 0;
    Result<std::unique_ptr<OwnerWatch>> watch = remote->watchOwner([&] { ++deaths; });
    ASSERT_TRUE(watch.ok());
    remote = nullptr;
    remote = receiveRemote(9);
    watch->reset();
    EXPECT_TRUE(kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).empty())
            << "the object that is held now may be linked to";
    remote = nullptr;
    EXPECT_EQ(kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_RELEASE).size(), 2u);
    EXPECT_EQ(kernel->sent(BC_INCREFS).size(), kernel->sent(BC_DECREFS).size());
}

TEST_F(Deaths, ADeathAfterTheHandleWasLetGoIsOnlyAnswered) {
    std::shared_ptr<RemoteObject> remote = receiveRemote(9);
    std::atomic<int> deaths = 0;
    ASSERT_TRUE(remote->linkToDeath([&] { ++deaths; }).ok());
    const auto request =
            kernel->sent(BC_REQUEST_DEATH_NOTIFICATION).at(0).as<binder_handle_cookie>();
    remote = nullptr;
    const auto cleared = kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).at(0).as<binder_handle_cookie>();
    EXPECT_EQ(cleared.handle, 9u);
    EXPECT_EQ(cleared.cookie, request.cookie);

    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    const binder_uintptr_t cookie = request.cookie;
    kernel->deliver(
            Returns().add(BR_DEAD_BINDER, cookie).add(BR_CLEAR_DEATH_NOTIFICATION_DONE, cookie));
    ASSERT_TRUE(kernel->waitForSent(BC_DEAD_BINDER_DONE, 1));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(deaths, 0);
}

TEST_F(Deaths, LinksToTheNextContextManagerOnceOneIsDead) {
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    std::atomic<int> deaths = 0;
    for (int manager = 1; manager <= 3; ++manager) {
        ASSERT_TRUE(mConnection.contextManager()->linkToDeath([&] { ++deaths; }).ok());
        const auto requests = kernel->sent(BC_REQUEST_DEATH_NOTIFICATION);
        ASSERT_EQ(requests.size(), static_cast<size_t>(manager)) << "each one is asked for anew";
        const binder_uintptr_t cookie = requests.back().as<binder_handle_cookie>().cookie;
        kernel->deliver(Returns().add(BR_DEAD_BINDER, cookie));
        ASSERT_TRUE(kernel->waitForSent(BC_DEAD_BINDER_DONE, manager));
        ASSERT_TRUE(kernel->waitUntilIdle());
        EXPECT_EQ(deaths, manager);
    }
    // The reference to a dead one is let go of before that to the next can be taken.
    EXPECT_EQ(kernel->sent(BC_ACQUIRE).size(), 3u);
    EXPECT_EQ(kernel->sent(BC_RELEASE).size(), 2u);
    EXPECT_EQ(kernel->sent(BC_CLEAR_DEATH_NOTIFICATION).size(), 2u);
}

TEST_F(Deaths, LinkingToTheContextManagerTakesAReferenceFirst) {
    {
        BinderConnection connection(kernel);
        ASSERT_TRUE(connection.contextManager()->linkToDeath([] {}).ok());
        EXPECT_EQ(kernel->sentCodes(),
                  (std::vector<uint32_t>{BC_INCREFS, BC_ACQUIRE, BC_REQUEST_DEATH_NOTIFICATION}));
    }
    EXPECT_EQ(kernel->sent(BC_RELEASE).size(), 1u);
}

}  // namespace
}  // namespace halyard::hal
