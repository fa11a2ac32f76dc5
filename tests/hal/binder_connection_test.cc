// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/connection.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hal/binder/incoming_call.h"
#include "hal/binder/parcel.h"
#include "tests/hal/fake_kernel.h"
#include "tests/hal/open_descriptors.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal {
namespace {

using testing::FakeKernel;
using testing::Returns;
using testing::SentCommand;

using Serve = std::function<WireStatus(IncomingCall& call)>;

// The reply, of a call whose arguments have been read.
ParcelWriter& replyTo(IncomingCall& call) {
    Result<ParcelWriter*> reply = call.endArguments();
    EXPECT_TRUE(reply.ok()) << reply.status().toString();
    static ParcelWriter nowhere;
    return reply.ok() ? **reply : nowhere;
}

// Serves a word, to which it replies with another.
Serve serveWord(std::function<int32_t(int32_t)> answer) {
    return [answer = std::move(answer)](IncomingCall& call) {
        const Result<int32_t> word = call.arguments().readInt32();
        if (!word.ok()) {
            return WireStatus::NOT_ENOUGH_DATA;
        }
        ParcelWriter& reply = replyTo(call);
        reply.writeInt32(answer(*word));
        return WireStatus::OK;
    };
}

class ServedObject : public LocalObject {
  public:
    // Answers a word with nothing unless told otherwise.
    explicit ServedObject(Serve serve = nullptr) : mServe(std::move(serve)) {}
    WireStatus onTransact(IncomingCall& call) override {
        ++calls;
        if (mServe) {
            return mServe(call);
        }
        return call.arguments().readInt32().ok() ? WireStatus::OK : WireStatus::NOT_ENOUGH_DATA;
    }
    void onLastRelease() override { ++lastReleases; }

    std::atomic<int> calls = 0;
    std::atomic<int> lastReleases = 0;

  private:
    const Serve mServe;
};

binder_ptr_cookie pairOf(const LocalObject* object) {
    const auto pointer = reinterpret_cast<uintptr_t>(object);
    return {.ptr = pointer, .cookie = pointer};
}

// A flat_binder_object as the kernel would deliver it.
flat_binder_object flat(uint32_t type, uint64_t binderOrHandle) {
    flat_binder_object object = {};
    object.hdr.type = type;
    object.binder = binderOrHandle;
    object.cookie = type == BINDER_TYPE_BINDER ? binderOrHandle : 0;
    return object;
}

class Connection : public ::testing::Test {
  protected:
    ~Connection() override {
        mConnection.stop();
        EXPECT_FALSE(kernel->wrongFree());
    }

    // The object becomes known to the kernel, as after having been sent.
    void send(const std::shared_ptr<LocalObject>& object) {
        kernel->onOneway = [object](const SentCommand&) {
            return Returns()
                    .add(BR_INCREFS, pairOf(object.get()))
                    .add(BR_ACQUIRE, pairOf(object.get()))
                    .add(BR_TRANSACTION_COMPLETE);
        };
        ParcelWriter arguments;
        arguments.writeObject(object);
        ASSERT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 1, arguments).ok());
        kernel->onOneway = nullptr;
    }
    binder_transaction_data parcelWith(const flat_binder_object& object) {
        const uint64_t offset = 0;
        return kernel->parcel({reinterpret_cast<const uint8_t*>(&object), sizeof(object)},
                              {&offset, 1});
    }
    Result<ObjectRef> receive(const flat_binder_object& object) {
        kernel->onCall = [&](const SentCommand&) {
            return Returns().add(BR_REPLY, parcelWith(object));
        };
        Result<std::unique_ptr<Reply>> reply =
                mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
        kernel->onCall = nullptr;
        return reply.ok() ? (*reply)->reader().readObject() : reply.status();
    }
    std::shared_ptr<RemoteObject> receiveRemote(uint32_t handle) {
        Result<ObjectRef> object = receive(flat(BINDER_TYPE_HANDLE, handle));
        const auto* remote =
                object.ok() ? std::get_if<std::shared_ptr<RemoteObject>>(&*object) : nullptr;
        return remote == nullptr ? nullptr : *remote;
    }
    // Calls `object` from outside and gives what was replied.
    SentCommand callObject(const LocalObject* object, uint32_t code, int32_t word) {
        const size_t before = kernel->sent(BC_REPLY_SG).size();
        kernel->deliver(Returns().add(BR_TRANSACTION, kernel->callTo(object, code, word)));
        EXPECT_TRUE(kernel->waitForSent(BC_REPLY_SG, before + 1));
        return kernel->sent(BC_REPLY_SG).back();
    }

    const testing::TimeLimit mTimeLimit;
    const std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
    BinderConnection mConnection{kernel};
};

// ---- Calls to others ---------------------------------------------------------------------------

TEST_F(Connection, SendsAParcelAndGivesItsReply) {
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

TEST_F(Connection, FreesAReplyWithItsOwner) {
    {
        Result<std::unique_ptr<Reply>> reply =
                mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(kernel->buffersInUse(), 1u);
    }
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, TellsWhyACallFailed) {
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

TEST_F(Connection, RefusesAReplyOutsideTheReceiveBuffer) {
    kernel->onCall = [&](const SentCommand&) {
        binder_transaction_data reply = kernel->parcelOfWord(1);
        reply.data_size = 1 << 20;
        return Returns().add(BR_REPLY, reply);
    };
    EXPECT_EQ(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).status().code(),
              StatusCode::INTERNAL);
}

TEST_F(Connection, RefusesACallToNobody) {
    EXPECT_EQ(mConnection.transact(nullptr, 1, ParcelWriter()).status().code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mConnection.transactOneway(nullptr, 1, ParcelWriter()).code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(kernel->sent(BC_TRANSACTION_SG).empty());
}

TEST_F(Connection, OnewayCallsReturnOnceTheKernelHasThem) {
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
              uint32_t{TF_ACCEPT_FDS | TF_ONE_WAY});
}

TEST_F(Connection, AOnewayCallToAFrozenProcessIsSent) {
    kernel->onOneway = [](const SentCommand&) {
        return Returns().add(static_cast<uint32_t>(_IO('r', 20)));
    };
    EXPECT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
}

TEST_F(Connection, AnUnknownReturnEndsAOnewayCallUnlessItCarriesSomething) {
    const binder_uintptr_t word = 0;
    kernel->onOneway = [&](const SentCommand&) {
        return Returns()
                .add(static_cast<uint32_t>(_IOR('r', 77, binder_uintptr_t)), word)
                .add(static_cast<uint32_t>(_IO('r', 78)));
    };
    EXPECT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 3, ParcelWriter()).ok());
    // What was not looked at yet belongs to somebody else.
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

TEST_F(Connection, AReplyOwnsItsDescriptors) {
    const size_t before = testing::openDescriptors();
    for (const uint32_t flags : {0U, uint32_t{TF_STATUS_CODE}}) {
        kernel->onCall = [&](const SentCommand&) {
            binder_transaction_data reply = kernel->parcelOfDescriptors(-22, 100);
            reply.flags = flags;
            return Returns().add(BR_REPLY, reply);
        };
        Result<std::unique_ptr<Reply>> reply =
                mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
        EXPECT_EQ(reply.ok(), flags == 0);
        EXPECT_EQ(testing::openDescriptors(), before + (flags == 0 ? 100 : 0));
    }
    EXPECT_EQ(testing::openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, AReplyWithTooManyDescriptorsIsRefusedAndClosed) {
    const size_t before = testing::openDescriptors();
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
    EXPECT_EQ(testing::openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, AReplyThatNobodyWaitsForIsGivenBack) {
    const size_t before = testing::openDescriptors();
    kernel->onOneway = [&](const SentCommand&) {
        return Returns().add(BR_REPLY, kernel->parcelOfDescriptors(0, 3));
    };
    static_cast<void>(mConnection.transactOneway(mConnection.contextManager(), 1, ParcelWriter()));
    kernel->onOneway = nullptr;
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    kernel->deliver(Returns().add(BR_REPLY, kernel->parcelOfDescriptors(0, 3)));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(testing::openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, ServesNestedCallsWhileItWaits) {
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

TEST_F(Connection, EndsCallsThatNestTooDeeply) {
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

// ---- Calls from others -------------------------------------------------------------------------

TEST_F(Connection, DispatchesACallAndReplies) {
    Caller seen;
    auto object = std::make_shared<ServedObject>([&](IncomingCall& call) {
        seen = call.caller();
        const int32_t word = call.arguments().readInt32().value();
        replyTo(call).writeInt32(word + static_cast<int32_t>(call.code()));
        return call.oneway() ? WireStatus::UNKNOWN_ERROR : WireStatus::OK;
    });
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 4).ok());
    SentCommand reply = callObject(object.get(), 5, 100);
    EXPECT_EQ(reply.word(), 105);
    EXPECT_EQ(reply.as<binder_transaction_data>().flags, 0u);
    EXPECT_EQ(seen.pid, 4711);
    EXPECT_EQ(seen.euid, 1000u);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
    EXPECT_EQ(kernel->maxThreads(), 4u);
}

TEST_F(Connection, ACallThatCannotBeServedGetsABareStatus) {
    auto object = std::make_shared<ServedObject>([](IncomingCall& call) {
        static_cast<void>(call.arguments().readInt32());
        replyTo(call).writeInt32(1);  // of no use
        return WireStatus::UNKNOWN_TRANSACTION;
    });
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    SentCommand reply = callObject(object.get(), 5, 0);
    EXPECT_EQ(reply.data.size(), 4u);
    EXPECT_EQ(reply.word(), -74);
    EXPECT_EQ(reply.as<binder_transaction_data>().flags, uint32_t{TF_STATUS_CODE});
}

TEST_F(Connection, GivesTheReceiveBufferBackBeforeTheWork) {
    size_t duringWork = 99;
    std::vector<uint32_t> codes;
    auto object = std::make_shared<ServedObject>(serveWord([&](int32_t word) {
        duringWork = kernel->buffersInUse();
        return word;
    }));
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    callObject(object.get(), 1, 0);
    EXPECT_EQ(duringWork, 0u);
}

// The kernel gives out an object's next oneway call when the buffer of the last one is free.
TEST_F(Connection, KeepsTheOrderOfOnewayCallsByTheirBuffers) {
    std::atomic<size_t> duringWork = 99;
    const size_t descriptors = testing::openDescriptors();
    std::atomic<size_t> openDuringWork = 0;
    auto object = std::make_shared<ServedObject>([&](IncomingCall& call) {
        static_cast<void>(call.arguments().readInt32());
        Result<FileDescriptor> taken = call.arguments().readDescriptor();
        taken->reset();
        static_cast<void>(replyTo(call));
        duringWork = kernel->buffersInUse();
        openDuringWork = testing::openDescriptors();
        return WireStatus::OK;
    });
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    binder_transaction_data call = kernel->parcelOfDescriptors(1, 1);
    call.target.ptr = reinterpret_cast<uintptr_t>(object.get());
    call.flags = TF_ONE_WAY;
    kernel->deliver(Returns().add(BR_TRANSACTION, call));
    ASSERT_TRUE(kernel->waitForSent(BC_FREE_BUFFER, 1));
    EXPECT_EQ(duringWork, 1u);
    EXPECT_EQ(openDuringWork, descriptors);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, OwesTheKernelNothingWhileItWorks) {
    auto other = std::make_shared<ServedObject>();
    size_t taken = 0;
    auto object = std::make_shared<ServedObject>(serveWord([&](int32_t word) {
        taken = kernel->sent(BC_ACQUIRE_DONE).size();
        return word;
    }));
    send(other);
    send(object);
    const size_t before = kernel->sent(BC_ACQUIRE_DONE).size();
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    size_t expected = before;
    for (const uint32_t flags : {0U, uint32_t{TF_ONE_WAY}}) {
        kernel->deliver(Returns()
                                .add(BR_ACQUIRE, pairOf(other.get()))
                                .add(BR_TRANSACTION, kernel->callTo(object.get(), 1, 0, flags)));
        ASSERT_TRUE(kernel->waitUntilIdle());
        EXPECT_EQ(taken, ++expected);
    }
}

TEST_F(Connection, RefusesWhatFollowsTheLastArgument) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    const std::vector<uint8_t> twoWords(8);
    binder_transaction_data call = kernel->parcel(twoWords);
    call.target.ptr = reinterpret_cast<uintptr_t>(object.get());
    kernel->deliver(Returns().add(BR_TRANSACTION, call));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 1));
    EXPECT_EQ(kernel->sent(BC_REPLY_SG)[0].word(), -22);
}

TEST_F(Connection, ACallOwnsItsDescriptorsWhateverBecomesOfIt) {
    const size_t before = testing::openDescriptors();
    auto object = std::make_shared<ServedObject>();
    auto refuses = std::make_shared<ServedObject>(
            [](IncomingCall&) { return WireStatus::PERMISSION_DENIED; });
    send(object);
    send(refuses);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    int nowhere = 0;
    for (const uint32_t flags : {0U, uint32_t{TF_ONE_WAY}}) {
        for (const void* target :
             {static_cast<const void*>(object.get()), static_cast<const void*>(refuses.get()),
              static_cast<const void*>(&nowhere)}) {
            binder_transaction_data call = kernel->parcelOfDescriptors(1, 100);
            call.target.ptr = reinterpret_cast<uintptr_t>(target);
            call.flags = flags;
            kernel->deliver(Returns().add(BR_TRANSACTION, call));
        }
    }
    ASSERT_TRUE(kernel->waitForSent(BC_FREE_BUFFER, 6));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(testing::openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
    EXPECT_EQ(object->calls, 2);
}

TEST_F(Connection, RefusesObjectsThatLieOutsideTheReceiveBuffer) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    const std::vector<uint64_t> ours(4);
    const auto damaged = [&](void (*damage)(binder_transaction_data&, const uint64_t* ours)) {
        const size_t before = kernel->sent(BC_REPLY_SG).size();
        binder_transaction_data call = kernel->callTo(object.get(), 1, 0);
        damage(call, ours.data());
        kernel->deliver(Returns().add(BR_TRANSACTION, call));
        EXPECT_TRUE(kernel->waitForSent(BC_REPLY_SG, before + 1));
        EXPECT_EQ(kernel->sent(BC_REPLY_SG).back().word(), -2147483647 - 1);
    };
    // Offsets of our own, or none of which so many can be there; odd ones.
    damaged([](binder_transaction_data& call, const uint64_t* own) {
        call.data.ptr.offsets = reinterpret_cast<uintptr_t>(own);
        call.offsets_size = 8;
    });
    damaged([](binder_transaction_data& call, const uint64_t*) { call.offsets_size = 1 << 20; });
    damaged([](binder_transaction_data& call, const uint64_t*) { call.offsets_size = 4; });
    damaged([](binder_transaction_data& call, const uint64_t*) {
        call.data.ptr.offsets += 4;
        call.offsets_size = 0;
    });
    EXPECT_EQ(object->calls, 0);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, ACallToAnObjectThatIsGoneGetsAStatus) {
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    int nowhere = 0;
    const auto* gone = reinterpret_cast<const LocalObject*>(&nowhere);
    EXPECT_EQ(callObject(gone, 5, 0).word(), -2147483647 - 1);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, RepliesClearTheirBufferIfTheCallDid) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    kernel->deliver(Returns().add(
            BR_TRANSACTION, kernel->callTo(object.get(), 1, 0, TF_ACCEPT_FDS | TF_CLEAR_BUF)));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 1));
    EXPECT_EQ(kernel->sent(BC_REPLY_SG)[0].as<binder_transaction_data>().flags,
              uint32_t{TF_CLEAR_BUF});
}

TEST_F(Connection, OnewayCallsGetNoReplyButFreeTheirBuffer) {
    std::promise<bool> served;
    auto object = std::make_shared<ServedObject>([&](IncomingCall& call) {
        static_cast<void>(call.arguments().readInt32());
        replyTo(call).writeInt32(1);
        served.set_value(call.oneway());
        return WireStatus::UNKNOWN_ERROR;
    });
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    kernel->deliver(Returns().add(BR_TRANSACTION, kernel->callTo(object.get(), 1, 0, TF_ONE_WAY)));
    EXPECT_TRUE(served.get_future().get());
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_TRUE(kernel->sent(BC_REPLY_SG).empty());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, UnderstandsCallsWithASecurityContext) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    binder_transaction_data_secctx call = {};
    call.transaction_data = kernel->callTo(object.get(), 1, 0);
    kernel->deliver(Returns().add(BR_TRANSACTION_SEC_CTX, call));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 1));
    EXPECT_EQ(object->calls, 1);
}

TEST_F(Connection, AFailedReplyEndsNeitherTheThreadNorAnotherCall) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    for (uint32_t failure : {BR_FAILED_REPLY, BR_DEAD_REPLY}) {
        kernel->onReply = [failure](const SentCommand&) { return Returns().add(failure); };
        callObject(object.get(), 1, 0);
        ASSERT_TRUE(kernel->waitUntilIdle());
    }
    kernel->onReply = nullptr;
    callObject(object.get(), 1, 0);
    // One reply per call: the kernel has told the caller of a failed one itself.
    EXPECT_EQ(kernel->sent(BC_REPLY_SG).size(), 3u);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, MalformedParcelsReachNobodyAndHarmNobody) {
    std::vector<StatusCode> codes;
    auto object = std::make_shared<ServedObject>([&](IncomingCall& call) {
        codes.push_back(call.arguments().readObject().status().code());
        return WireStatus::BAD_VALUE;
    });
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    auto call = [&](binder_transaction_data data) {
        const size_t before = kernel->sent(BC_REPLY_SG).size();
        data.target.ptr = reinterpret_cast<uintptr_t>(object.get());
        kernel->deliver(Returns().add(BR_TRANSACTION, data));
        ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, before + 1));
    };
    const std::vector<uint8_t> zeros(32);
    const std::vector<uint64_t> beyond = {1 << 20};
    const std::vector<uint64_t> backwards = {8, 0};
    call(kernel->parcel(zeros, beyond));
    call(kernel->parcel(zeros, backwards));
    call(kernel->parcel({}));
    call(parcelWith(flat(BINDER_TYPE_BINDER, 0x1000)));
    call(parcelWith(flat(BINDER_TYPE_WEAK_HANDLE, 1)));
    EXPECT_EQ(codes, std::vector<StatusCode>(5, StatusCode::INVALID_ARGUMENT));

    binder_transaction_data outside = kernel->parcelOfWord(0);
    outside.data_size = 1 << 20;
    call(outside);
    EXPECT_EQ(codes.size(), 5u);
    EXPECT_EQ(kernel->sent(BC_REPLY_SG).back().word(), -2147483647 - 1);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, ServesAsContextManagerUnderBothNames) {
    auto object = std::make_shared<ServedObject>();
    ASSERT_TRUE(mConnection.becomeContextManager(object).ok());
    EXPECT_EQ(kernel->contextManager, reinterpret_cast<uintptr_t>(object.get()));
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    callObject(object.get(), 1, 0);
    callObject(nullptr, 1, 0);
    EXPECT_EQ(object->calls, 2);
}

// ---- References --------------------------------------------------------------------------------

TEST_F(Connection, AnswersForTheReferencesOfTheKernel) {
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

TEST_F(Connection, TheKernelHearsAtOnceThatItsReferencesWereTaken) {
    send(std::make_shared<ServedObject>());
    EXPECT_EQ(kernel->sent(BC_INCREFS_DONE).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_ACQUIRE_DONE).size(), 1u);
}

TEST_F(Connection, AnObjectOfAReplyThatTheKernelDidNotTakeIsLetGo) {
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
    EXPECT_EQ(replied.use_count(), before) << "nobody can call it";
}

TEST_F(Connection, FailuresThatItGotOverEndNoThread) {
    const auto object =
            std::make_shared<ServedObject>(serveWord([](int32_t word) { return word; }));
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    for (int32_t word = 0; word < 10; ++word) {
        ASSERT_TRUE(kernel->waitUntilIdle());
        // Of the exchange with which the thread comes back for more.
        kernel->failExchange(0, FakeKernel::Fault::NOT_TAKEN);
        kernel->deliver(Returns().add(BR_NOOP));
        EXPECT_EQ(callObject(object.get(), 1, word).word(), word);
    }
}

TEST_F(Connection, FreesWhatCameBeforeAReturnThatIsCutShort) {
    const auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    ASSERT_TRUE(kernel->waitUntilIdle());
    const size_t before = kernel->buffersInUse();
    kernel->deliver(Returns()
                            .add(BR_TRANSACTION, kernel->callTo(object.get(), 1, 7))
                            .add(BR_DEAD_BINDER));  // without its cookie
    EXPECT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), before);
    EXPECT_EQ(object->calls, 0);
}

TEST_F(Connection, AnObjectThatTheKernelDidNotTakeIsLetGo) {
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

TEST_F(Connection, AReleaseAndANewReferenceMayBeSeenInEitherOrder) {
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

TEST_F(Connection, TheLastReleaseInsideACallRunsAfterIt) {
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

TEST_F(Connection, AcquiresAHandleBeforeItsBufferIsFreed) {
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

TEST_F(Connection, AHandleThatIsNotReadTakesNoReference) {
    kernel->onCall = [&](const SentCommand&) {
        return Returns().add(BR_REPLY, parcelWith(flat(BINDER_TYPE_HANDLE, 9)));
    };
    EXPECT_TRUE(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).ok());
    EXPECT_TRUE(kernel->sent(BC_ACQUIRE).empty());
}

TEST_F(Connection, AnObjectOfOursComesHomeAsItself) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    Result<ObjectRef> home =
            receive(flat(BINDER_TYPE_BINDER, reinterpret_cast<uintptr_t>(object.get())));
    ASSERT_TRUE(home.ok()) << home.status().toString();
    EXPECT_EQ(std::get<std::shared_ptr<LocalObject>>(*home), object);
}

TEST_F(Connection, HandlesOutliveTheConnection) {
    auto other = std::make_shared<FakeKernel>();
    std::shared_ptr<RemoteObject> remote;
    {
        BinderConnection connection(other);
        other->onCall = [&](const SentCommand&) {
            const flat_binder_object object = flat(BINDER_TYPE_HANDLE, 3);
            const uint64_t offset = 0;
            return Returns().add(BR_REPLY, other->parcel({reinterpret_cast<const uint8_t*>(&object),
                                                          sizeof(object)},
                                                         {&offset, 1}));
        };
        Result<std::unique_ptr<Reply>> reply =
                connection.transact(connection.contextManager(), 1, ParcelWriter());
        remote = std::get<std::shared_ptr<RemoteObject>>((*reply)->reader().readObject().value());
    }
    EXPECT_TRUE(other->sent(BC_RELEASE).empty());
    remote = nullptr;
    EXPECT_EQ(other->sent(BC_RELEASE).size(), 1u);
}

// ---- Deaths ------------------------------------------------------------------------------------

TEST_F(Connection, TellsEveryLinkOfADeathOnce) {
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

TEST_F(Connection, WatchesAnOwnerWhoseObjectMayGo) {
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

TEST_F(Connection, WatchesAnOwnerOnWhileItsObjectComesAndGoes) {
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

TEST_F(Connection, ADeathAfterTheHandleWasLetGoIsOnlyAnswered) {
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

TEST_F(Connection, LinksToTheNextContextManagerOnceOneIsDead) {
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

TEST_F(Connection, LinkingToTheContextManagerTakesAReferenceFirst) {
    {
        BinderConnection connection(kernel);
        ASSERT_TRUE(connection.contextManager()->linkToDeath([] {}).ok());
        EXPECT_EQ(kernel->sentCodes(),
                  (std::vector<uint32_t>{BC_INCREFS, BC_ACQUIRE, BC_REQUEST_DEATH_NOTIFICATION}));
    }
    EXPECT_EQ(kernel->sent(BC_RELEASE).size(), 1u);
}

// ---- Threads -----------------------------------------------------------------------------------

TEST_F(Connection, StartsTheThreadsThatTheKernelAsksFor) {
    ASSERT_TRUE(mConnection.startThreads(2, 3).ok());
    ASSERT_TRUE(kernel->waitForSent(BC_ENTER_LOOPER, 2));
    kernel->deliver(Returns().add(BR_NOOP).add(BR_SPAWN_LOOPER));
    ASSERT_TRUE(kernel->waitForSent(BC_REGISTER_LOOPER, 1));
    EXPECT_EQ(kernel->sent(BC_ENTER_LOOPER).size(), 2u);
    mConnection.stop();
    EXPECT_EQ(kernel->sent(BC_EXIT_LOOPER).size(), 3u);
    EXPECT_EQ(kernel->exitedThreads(), 3u);
}

// No thread can be started for as long as this lives.
class NoThreads {
  public:
    NoThreads() {
        pthread_attr_t attributes;
        pthread_getattr_default_np(&mBefore);
        pthread_getattr_default_np(&attributes);
        pthread_attr_setstacksize(&attributes, size_t{1} << 46);
        pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    ~NoThreads() {
        pthread_setattr_default_np(&mBefore);
        pthread_attr_destroy(&mBefore);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;

  private:
    pthread_attr_t mBefore = {};
};

TEST_F(Connection, StartsLaterTheThreadThatCouldNotBeStarted) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 2).ok());
    {
        const NoThreads noThreads;
        kernel->deliver(Returns().add(BR_SPAWN_LOOPER));
        ASSERT_TRUE(kernel->waitUntilIdle());
        callObject(object.get(), 1, 0);
        ASSERT_TRUE(kernel->waitUntilIdle());
        EXPECT_TRUE(kernel->sent(BC_REGISTER_LOOPER).empty());
    }
    // The kernel does not ask again.
    callObject(object.get(), 1, 0);
    EXPECT_TRUE(kernel->waitForSent(BC_REGISTER_LOOPER, 1));
    callObject(object.get(), 1, 0);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->sent(BC_REGISTER_LOOPER).size(), 1u) << "one was asked for";
}

TEST_F(Connection, StopLetsACallInProgressFinish) {
    std::promise<void> inside;
    std::promise<void> release;
    auto object = std::make_shared<ServedObject>(serveWord([&](int32_t) {
        inside.set_value();
        release.get_future().wait();
        return 77;
    }));
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    kernel->deliver(Returns().add(BR_TRANSACTION, kernel->callTo(object.get(), 1, 0)));
    inside.get_future().wait();
    std::thread stopper([&] { mConnection.stop(); });
    release.set_value();
    stopper.join();
    ASSERT_EQ(kernel->sent(BC_REPLY_SG).size(), 1u);
    EXPECT_EQ(kernel->sent(BC_REPLY_SG)[0].word(), 77);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(Connection, StopLetsGoOfTheObjects) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.becomeContextManager(object).ok());
    mConnection.stop();
    EXPECT_EQ(object.use_count(), 1);
}

TEST_F(Connection, ADeviceThatFailsEndsCallsAndThreads) {
    ASSERT_TRUE(mConnection.startThreads(2, 0).ok());
    kernel->fail(Status(StatusCode::UNAVAILABLE, "gone"));
    EXPECT_EQ(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).status().code(),
              StatusCode::UNAVAILABLE);
    mConnection.stop();
}

TEST_F(Connection, CallsOfManyThreadsDoNotMix) {
    kernel->onCall = [&](const SentCommand& call) {
        return Returns()
                .add(BR_TRANSACTION_COMPLETE)
                .add(BR_REPLY, kernel->parcelOfWord(-call.word()));
    };
    auto object = std::make_shared<ServedObject>(serveWord([](int32_t word) { return word; }));
    send(object);
    ASSERT_TRUE(mConnection.startThreads(3, 0).ok());
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int thread = 0; thread < 4; ++thread) {
        callers.emplace_back([&, thread] {
            for (int i = 0; i < 50; ++i) {
                ParcelWriter arguments;
                const int32_t word = thread * 1000 + i;
                arguments.writeInt32(word);
                Result<std::unique_ptr<Reply>> reply =
                        mConnection.transact(mConnection.contextManager(), 1, arguments);
                wrong += reply.ok() && (*reply)->reader().readInt32().value() == -word ? 0 : 1;
                kernel->deliver(
                        Returns().add(BR_TRANSACTION, kernel->callTo(object.get(), 1, word)));
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 200));
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(object->calls, 200);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

// ---- The stream --------------------------------------------------------------------------------

TEST(BinderReturns, TellsItemsApartByTheSizeInTheirCodes) {
    std::deque<Return> returns;
    const binder_ptr_cookie pair{.ptr = 1, .cookie = 2};
    ASSERT_TRUE(
            parseReturns(Returns().add(BR_NOOP).add(BR_ACQUIRE, pair).add(BR_OK).bytes(), returns)
                    .ok());
    ASSERT_EQ(returns.size(), 3u);
    EXPECT_EQ(returns[1].as<binder_ptr_cookie>().cookie, 2u);
}

TEST(BinderReturns, RefusesWhatIsCutShortOrTooLong) {
    const binder_transaction_data call = {};
    const std::vector<uint8_t> whole = Returns().add(BR_NOOP).add(BR_TRANSACTION, call).bytes();
    for (size_t size = 0; size < whole.size(); ++size) {
        std::deque<Return> returns;
        const bool ok = parseReturns({whole.data(), size}, returns).ok();
        EXPECT_EQ(ok, size == 0 || size == 4) << size;
        EXPECT_EQ(returns.size(), size < 4 ? 0u : 1u);
    }
    std::deque<Return> returns;
    std::vector<uint8_t> huge(1000);
    const uint32_t code = _IOC(_IOC_READ, 'r', 99, 500);
    std::memcpy(huge.data(), &code, sizeof(code));
    EXPECT_FALSE(parseReturns(huge, returns).ok());
}

}  // namespace
}  // namespace halyard::hal
