// SPDX-License-Identifier: Apache-2.0
//
// Calls to others: what is sent, what comes back, and who owns it.

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/hal/connection_fixture.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {
namespace {

using testing::openDescriptors;
using testing::pairOf;
using testing::Returns;
using testing::SentCommand;
using testing::ServedObject;
using testing::serveWord;

class OutgoingCalls : public testing::ConnectionFixture {};

TEST_F(OutgoingCalls, SendsAParcelAndGivesItsReply) {
    kernel->onCall = [&](const SentCommand& call) {
        return Returns()
                .add(BR_NOOP)
                .add(BR_TRANSACTION_COMPLETE)
                .add(BR_REPLY, kernel->parcelOfWord(call.word() + 1));
    };
    ParcelWriter arguments;
    arguments.writeInt32(41);
    arguments.writeBuffer(arguments.keepZeroed(13));
    Result<std::unique_ptr<Reply>> reply =
            mConnection.transact(mConnection.contextManager(), 7, arguments);
    ASSERT_TRUE(reply.ok()) << reply.status().toString();
    EXPECT_EQ((*reply)->reader().readInt32().value(), 42);

    const auto sent = kernel->sent(BC_TRANSACTION_SG).at(0).as<binder_transaction_data_sg>();
    EXPECT_EQ(sent.transaction_data.target.handle, 0u);
    EXPECT_EQ(sent.transaction_data.code, 7u);
    EXPECT_EQ(sent.transaction_data.flags, uint32_t{TF_ACCEPT_FDS});
    EXPECT_EQ(sent.transaction_data.data_size, arguments.data().size());
    EXPECT_EQ(sent.transaction_data.offsets_size, 8u);
    EXPECT_EQ(sent.buffers_size, 16u);
}

TEST_F(OutgoingCalls, LetsRepliesBringNoDescriptorsWhereNoneAreExpected) {
    BinderConnection refusing(kernel, ReplyDescriptors::REFUSED);
    EXPECT_TRUE(refusing.transact(refusing.contextManager(), 7, ParcelWriter()).ok());
    const auto sent = kernel->sent(BC_TRANSACTION_SG).at(0).as<binder_transaction_data_sg>();
    EXPECT_EQ(sent.transaction_data.flags & TF_ACCEPT_FDS, 0u);
}

TEST_F(OutgoingCalls, FreesAReplyWithItsOwner) {
    {
        Result<std::unique_ptr<Reply>> reply =
                mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(kernel->buffersInUse(), 1u);
    }
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(OutgoingCalls, TellsWhyACallFailed) {
    struct Case {
        Returns returns;
        StatusCode expected;
    };
    auto status = [&](int32_t value) {
        binder_transaction_data reply = kernel->parcelOfWord(value);
        reply.flags = TF_STATUS_CODE;
        return Returns().add(BR_TRANSACTION_COMPLETE).add(BR_REPLY, reply);
    };
    const Case cases[] = {
            {Returns().add(BR_DEAD_REPLY), StatusCode::UNAVAILABLE},
            {Returns().add(BR_FROZEN_REPLY), StatusCode::UNAVAILABLE},
            {Returns().add(BR_FAILED_REPLY), StatusCode::INTERNAL},
            {status(-74), StatusCode::UNSUPPORTED},
            {status(-22), StatusCode::INVALID_ARGUMENT},
            {status(-61), StatusCode::INVALID_ARGUMENT},
            {status(-2147483647), StatusCode::INVALID_ARGUMENT},
            {status(-32), StatusCode::UNAVAILABLE},
            {status(-2147483647 - 1), StatusCode::INTERNAL},
    };
    for (const Case& item : cases) {
        kernel->onCall = [&](const SentCommand&) { return item.returns; };
        Result<std::unique_ptr<Reply>> reply =
                mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
        EXPECT_EQ(reply.status().code(), item.expected) << reply.status().toString();
    }
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(OutgoingCalls, RefusesAReplyOutsideTheReceiveBuffer) {
    kernel->onCall = [&](const SentCommand&) {
        binder_transaction_data reply = kernel->parcelOfWord(1);
        reply.data_size = 1 << 20;
        return Returns().add(BR_REPLY, reply);
    };
    EXPECT_EQ(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).status().code(),
              StatusCode::INTERNAL);
}

TEST_F(OutgoingCalls, RefusesACallToNoObject) {
    EXPECT_EQ(mConnection.transact(nullptr, 1, ParcelWriter()).status().code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mConnection.transactOneway(nullptr, 1, ParcelWriter()).code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(kernel->sent(BC_TRANSACTION_SG).empty());
}

TEST_F(OutgoingCalls, OnewayCallsReturnOnceTheKernelHasThem) {
    kernel->onOneway = [](const SentCommand&) {
        return Returns().add(BR_NOOP).add(BR_TRANSACTION_COMPLETE);
    };
    EXPECT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
    kernel->onOneway = [](const SentCommand&) { return Returns().add(BR_ONEWAY_SPAM_SUSPECT); };
    EXPECT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
    kernel->onOneway = [](const SentCommand&) { return Returns().add(BR_DEAD_REPLY); };
    EXPECT_EQ(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).code(),
              StatusCode::UNAVAILABLE);
    EXPECT_EQ(kernel->sent(BC_TRANSACTION_SG).at(0).as<binder_transaction_data>().flags,
              uint32_t{TF_ONE_WAY});
}

TEST_F(OutgoingCalls, AOnewayCallToAFrozenProcessIsSent) {
    kernel->onOneway = [](const SentCommand&) {
        return Returns().add(static_cast<uint32_t>(_IO('r', 20)));
    };
    EXPECT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
}

TEST_F(OutgoingCalls, AnUnknownReturnEndsAOnewayCallUnlessItCarriesSomething) {
    const binder_uintptr_t word = 0;
    kernel->onOneway = [&](const SentCommand&) {
        return Returns()
                .add(static_cast<uint32_t>(_IOR('r', 77, binder_uintptr_t)), word)
                .add(static_cast<uint32_t>(_IO('r', 78)));
    };
    EXPECT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
    // Returns that were not looked at yet belong to another call.
    kernel->onOneway = [&](const SentCommand&) {
        return Returns()
                .add(static_cast<uint32_t>(_IOR('r', 77, binder_uintptr_t)), word)
                .add(BR_FAILED_REPLY);
    };
    EXPECT_FALSE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
    kernel->onOneway = nullptr;
    // A synchronous call has a reply to wait for.
    kernel->onCall = [&](const SentCommand&) {
        return Returns()
                .add(static_cast<uint32_t>(_IO('r', 78)))
                .add(BR_REPLY, kernel->parcelOfWord(4));
    };
    Result<std::unique_ptr<Reply>> reply =
            mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
    ASSERT_TRUE(reply.ok()) << reply.status().toString();
    EXPECT_EQ((*reply)->reader().readInt32().value(), 4);
}

TEST_F(OutgoingCalls, AReplyOwnsItsDescriptors) {
    const size_t before = openDescriptors();
    for (const uint32_t flags : {0U, uint32_t{TF_STATUS_CODE}}) {
        kernel->onCall = [&](const SentCommand&) {
            binder_transaction_data reply = kernel->parcelOfDescriptors(-22, 100);
            reply.flags = flags;
            return Returns().add(BR_REPLY, reply);
        };
        Result<std::unique_ptr<Reply>> reply =
                mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
        EXPECT_EQ(reply.ok(), flags == 0);
        EXPECT_EQ(openDescriptors(), before + (flags == 0 ? 100 : 0));
    }
    EXPECT_LE(openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(OutgoingCalls, AReplyWithTooManyDescriptorsIsRefusedAndClosed) {
    const size_t before = openDescriptors();
    binder_fd_array_object array = {};
    array.hdr.type = BINDER_TYPE_FDA;
    array.num_fds = 1025;
    const uint64_t offset = 0;
    kernel->onCall = [&](const SentCommand&) {
        return Returns().add(
                BR_REPLY, kernel->parcel({reinterpret_cast<const uint8_t*>(&array), sizeof(array)},
                                         {&offset, 1}));
    };
    EXPECT_EQ(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).status().code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_LE(openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(OutgoingCalls, AReplyThatIsNotWaitedForIsGivenBack) {
    const size_t before = openDescriptors();
    kernel->onOneway = [&](const SentCommand&) {
        return Returns().add(BR_REPLY, kernel->parcelOfDescriptors(0, 3));
    };
    static_cast<void>(mConnection.transactOneway(mConnection.contextManager(), 1, ParcelWriter()));
    kernel->onOneway = nullptr;
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    kernel->deliver(Returns().add(BR_REPLY, kernel->parcelOfDescriptors(0, 3)));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_LE(openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(OutgoingCalls, ServesNestedCallsWhileItWaits) {
    auto object = std::make_shared<ServedObject>(serveWord([](int32_t word) { return word * 2; }));
    kernel->onCall = [&](const SentCommand&) {
        return Returns()
                .add(BR_TRANSACTION_COMPLETE)
                .add(BR_INCREFS, pairOf(object.get()))
                .add(BR_ACQUIRE, pairOf(object.get()))
                .add(BR_TRANSACTION, kernel->callTo(object.get(), 1, 21));
    };
    kernel->onReply = [&](const SentCommand& reply) {
        return Returns()
                .add(BR_TRANSACTION_COMPLETE)
                .add(BR_REPLY, kernel->parcelOfWord(reply.word()));
    };
    ParcelWriter arguments;
    arguments.writeObject(object);
    Result<std::unique_ptr<Reply>> reply =
            mConnection.transact(mConnection.contextManager(), 1, arguments);
    ASSERT_TRUE(reply.ok()) << reply.status().toString();
    EXPECT_EQ((*reply)->reader().readInt32().value(), 42);
    EXPECT_EQ(kernel->sent(BC_REPLY_SG).at(0).thread, std::this_thread::get_id());
    reply = internalError("freed");
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(OutgoingCalls, EndsCallsThatNestTooDeeply) {
    std::shared_ptr<ServedObject> object;
    object = std::make_shared<ServedObject>([&](IncomingCall& call) {
        static_cast<void>(call.arguments().readInt32());
        return mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).ok()
                       ? WireStatus::OK
                       : WireStatus::UNKNOWN_ERROR;
    });
    send(object);
    // Every call of ours leads to another one of theirs, until one of them is refused.
    kernel->onCall = [&](const SentCommand&) {
        return Returns().add(BR_TRANSACTION, kernel->callTo(object.get(), 1, 0));
    };
    kernel->onReply = [&](const SentCommand& sent) {
        binder_transaction_data reply = kernel->parcelOfWord(sent.word());
        reply.flags = sent.as<binder_transaction_data>().flags & TF_STATUS_CODE;
        return Returns().add(BR_TRANSACTION_COMPLETE).add(BR_REPLY, reply);
    };
    EXPECT_FALSE(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).ok());
    EXPECT_LE(object->calls, 32);
    EXPECT_GT(object->calls, 8);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
    kernel->onReply = nullptr;
}

}  // namespace
}  // namespace halyard::hal
