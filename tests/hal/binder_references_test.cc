// SPDX-License-Identifier: Apache-2.0
//
// References: of the kernel to objects of ours, and of ours to those of others.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/hal/connection_fixture.h"

namespace halyard::hal {
namespace {

using testing::FakeKernel;
using testing::flat;
using testing::pairOf;
using testing::parcelWith;
using testing::replyTo;
using testing::Returns;
using testing::SentCommand;
using testing::ServedObject;

class References : public testing::ConnectionFixture {};

TEST_F(References, AnswersForTheReferencesOfTheKernel) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    std::weak_ptr<ServedObject> alive = object;
    const binder_ptr_cookie pair = pairOf(object.get());
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    ASSERT_TRUE(kernel->waitForSent(BC_ENTER_LOOPER, 1));
    ASSERT_EQ(kernel->sent(BC_INCREFS_DONE).size(), 1u);
    ASSERT_EQ(kernel->sent(BC_ACQUIRE_DONE).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_INCREFS_DONE)[0].as<binder_ptr_cookie>().ptr, pair.ptr);
    EXPECT_EQ(kernel->sent(BC_ACQUIRE_DONE)[0].as<binder_ptr_cookie>().cookie, pair.cookie);

    const auto* raw = object.get();
    object = nullptr;
    EXPECT_FALSE(alive.expired()) << "the kernel's reference keeps it";
    kernel->deliver(Returns().add(BR_RELEASE, pair));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(raw->lastReleases, 1);
    kernel->deliver(Returns().add(BR_DECREFS, pair));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_TRUE(alive.expired());
}

TEST_F(References, TheKernelHearsAtOnceThatItsReferencesWereTaken) {
    send(std::make_shared<ServedObject>());
    EXPECT_EQ(kernel->sent(BC_INCREFS_DONE).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_ACQUIRE_DONE).size(), 1u);
}

TEST_F(References, AnObjectOfAReplyThatTheKernelDidNotTakeIsLetGo) {
    const auto replied = std::make_shared<ServedObject>();
    const auto object = std::make_shared<ServedObject>([replied](IncomingCall& call) {
        EXPECT_TRUE(call.arguments().readInt32().ok());
        replyTo(call).writeObject(replied);
        return WireStatus::OK;
    });
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    const auto before = replied.use_count();
    EXPECT_EQ(callObject(object.get(), 1, 7).offsets.size(), 1u);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(replied.use_count(), before) << "it can't be called";
}

TEST_F(References, AnObjectThatTheKernelDidNotTakeIsLetGo) {
    auto object = std::make_shared<ServedObject>();
    {
        ParcelWriter arguments;
        arguments.writeObject(object);
        kernel->onCall = [](const SentCommand&) { return Returns().add(BR_FAILED_REPLY); };
        EXPECT_FALSE(mConnection.transact(mConnection.contextManager(), 1, arguments).ok());
    }
    EXPECT_EQ(object.use_count(), 1);
    EXPECT_EQ(object->lastReleases, 0);
}

TEST_F(References, AReleaseAndANewReferenceMayBeSeenInEitherOrder) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    const binder_ptr_cookie pair = pairOf(object.get());
    kernel->deliver(Returns().add(BR_ACQUIRE, pair).add(BR_RELEASE, pair));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(object->lastReleases, 0);
    kernel->deliver(Returns().add(BR_RELEASE, pair));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(object->lastReleases, 1);
}

TEST_F(References, TheLastReleaseInsideACallRunsAfterIt) {
    auto released = std::make_shared<ServedObject>();
    send(released);
    int duringCall = -1;
    auto caller = std::make_shared<ServedObject>([&](IncomingCall& call) {
        static_cast<void>(call.arguments().readInt32());
        kernel->onCall = [&](const SentCommand&) {
            return Returns()
                    .add(BR_RELEASE, pairOf(released.get()))
                    .add(BR_REPLY, kernel->parcelOfWord(0));
        };
        EXPECT_TRUE(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).ok());
        duringCall = released->lastReleases;
        return WireStatus::OK;
    });
    send(caller);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    callObject(caller.get(), 1, 0);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(duringCall, 0);
    EXPECT_EQ(released->lastReleases, 1);
}

TEST_F(References, AcquiresAHandleBeforeItsBufferIsFreed) {
    std::shared_ptr<RemoteObject> remote = receiveRemote(9);
    ASSERT_NE(remote, nullptr);
    EXPECT_EQ(remote->handle(), 9u);
    // receive() has freed the reply by now.
    EXPECT_EQ(kernel->buffersInUse(), 0u);
    EXPECT_EQ(kernel->sentCodes(),
              (std::vector<uint32_t>{BC_TRANSACTION_SG, BC_INCREFS, BC_ACQUIRE}));
    EXPECT_EQ(kernel->sent(BC_ACQUIRE)[0].as<uint32_t>(), 9u);

    std::shared_ptr<RemoteObject> again = receiveRemote(9);
    EXPECT_EQ(again, remote) << "one object per handle";
    EXPECT_EQ(kernel->sent(BC_ACQUIRE).size(), 1u);
    again = nullptr;
    EXPECT_TRUE(kernel->sent(BC_RELEASE).empty());
    remote = nullptr;
    EXPECT_EQ(kernel->sent(BC_RELEASE).at(0).as<uint32_t>(), 9u);
    EXPECT_EQ(kernel->sent(BC_DECREFS).at(0).as<uint32_t>(), 9u);
}

TEST_F(References, AHandleThatIsNotReadTakesNoReference) {
    kernel->onCall = [&](const SentCommand&) {
        return Returns().add(BR_REPLY, parcelWith(*kernel, flat(BINDER_TYPE_HANDLE, 9)));
    };
    EXPECT_TRUE(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).ok());
    EXPECT_TRUE(kernel->sent(BC_ACQUIRE).empty());
}

TEST_F(References, AnObjectOfOursComesHomeAsItself) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    Result<ObjectRef> home =
            receive(flat(BINDER_TYPE_BINDER, reinterpret_cast<uintptr_t>(object.get())));
    ASSERT_TRUE(home.ok()) << home.status().toString();
    EXPECT_EQ(std::get<std::shared_ptr<LocalObject>>(*home), object);
}

TEST_F(References, HandlesOutliveTheConnection) {
    auto other = std::make_shared<FakeKernel>();
    std::shared_ptr<RemoteObject> remote;
    {
        BinderConnection connection(other);
        other->onCall = [&](const SentCommand&) {
            return Returns().add(BR_REPLY, parcelWith(*other, flat(BINDER_TYPE_HANDLE, 3)));
        };
        Result<std::unique_ptr<Reply>> reply =
                connection.transact(connection.contextManager(), 1, ParcelWriter());
        remote = std::get<std::shared_ptr<RemoteObject>>((*reply)->reader().readObject().value());
    }
    EXPECT_TRUE(other->sent(BC_RELEASE).empty());
    remote = nullptr;
    EXPECT_EQ(other->sent(BC_RELEASE).size(), 1u);
}

}  // namespace
}  // namespace halyard::hal
