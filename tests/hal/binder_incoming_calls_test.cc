// SPDX-License-Identifier: Apache-2.0
//
// Calls from others: how they are served, and what becomes of their buffers and descriptors.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/hal/connection_fixture.h"
#include "tests/hal/open_descriptors.h"
#include "tests/hal/silent_file.h"

namespace halyard::hal {
namespace {

using attacker::SilentFile;
using testing::flat;
using testing::openDescriptors;
using testing::pairOf;
using testing::parcelWith;
using testing::replyTo;
using testing::Returns;
using testing::SentCommand;
using testing::ServedObject;
using testing::serveWord;

class IncomingCalls : public testing::ConnectionFixture {};

TEST_F(IncomingCalls, DispatchesACallAndReplies) {
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

TEST_F(IncomingCalls, ACallThatCannotBeServedGetsABareStatus) {
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

TEST_F(IncomingCalls, GivesTheReceiveBufferBackBeforeTheWork) {
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
TEST_F(IncomingCalls, KeepsTheOrderOfOnewayCallsByTheirBuffers) {
    std::atomic<size_t> duringWork = 99;
    const size_t descriptors = openDescriptors();
    std::atomic<size_t> openDuringWork = 0;
    auto object = std::make_shared<ServedObject>([&](IncomingCall& call) {
        static_cast<void>(call.arguments().readInt32());
        Result<FileDescriptor> taken = call.arguments().readDescriptor();
        taken->reset();
        static_cast<void>(replyTo(call));
        duringWork = kernel->buffersInUse();
        openDuringWork = openDescriptors();
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

TEST_F(IncomingCalls, OwesTheKernelNothingWhileItWorks) {
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

TEST_F(IncomingCalls, RefusesWhatFollowsTheLastArgument) {
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

TEST_F(IncomingCalls, ACallOwnsItsDescriptorsWhateverBecomesOfIt) {
    const size_t before = openDescriptors();
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
    EXPECT_LE(openDescriptors(), before);
    EXPECT_EQ(kernel->buffersInUse(), 0u);
    EXPECT_EQ(object->calls, 2);
}

// A close that waits must hold up no client but the sender.
class SlowDescriptors : public IncomingCalls {
  protected:
    void SetUp() override {
        send(object);
        ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    }
    binder_transaction_data callWith(std::vector<int> descriptors) {
        binder_transaction_data call = kernel->parcelOfArray(std::move(descriptors));
        call.target.ptr = reinterpret_cast<uintptr_t>(object.get());
        call.sender_pid = ++lastPid;
        call.sender_euid = 1000;
        return call;
    }
    // Whether the table has so many descriptors in the end.
    static bool awaitOpen(size_t count) {
        for (int i = 0; i < 1000 && openDescriptors() != count; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return openDescriptors() == count;
    }
    static std::vector<int> pipeEnds() {
        std::vector<int> ends(2);
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        return ends;
    }

    std::shared_ptr<ServedObject> object = std::make_shared<ServedObject>();
    int lastPid = 100;
};

TEST_F(SlowDescriptors, AreClosedOnceTheCallIsOver) {
    for (const bool old : {false, true}) {
        kernel->closesForAll = old;
        const size_t before = openDescriptors();
        kernel->deliver(Returns().add(BR_TRANSACTION, callWith(pipeEnds())));
        EXPECT_TRUE(awaitOpen(before)) << old;
        EXPECT_EQ(kernel->buffersInUse(), 0U);
        EXPECT_FALSE(kernel->wrongFree());
    }
}

TEST_F(SlowDescriptors, KeepNeitherThreadNorBuffer) {
    const Result<std::unique_ptr<SilentFile>> file = SilentFile::make(4096, true);
    if (!file.ok()) {
        GTEST_SKIP() << file.status().message();
    }
    const size_t before = openDescriptors();
    const int fd = fcntl((*file)->fd(), F_DUPFD_CLOEXEC, 0);
    kernel->deliver(Returns().add(BR_TRANSACTION, callWith({fd})));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 1)) << "the file keeps the thread";
    EXPECT_EQ(kernel->buffersInUse(), 0U);
    // More of the same is refused, and others are served.
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const int calls = object->calls;
    binder_transaction_data again = callWith(pipeEnds());
    again.sender_pid = lastPid = lastPid - 1;
    kernel->deliver(Returns().add(BR_TRANSACTION, again));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 2));
    EXPECT_EQ(kernel->sent(BC_REPLY_SG)[1].word(), -22);
    EXPECT_EQ(object->calls, calls);
    kernel->deliver(Returns().add(BR_TRANSACTION, callWith(pipeEnds())));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 3));
    EXPECT_EQ(object->calls, calls + 1);
    (*file)->endWaiting();
    EXPECT_TRUE(awaitOpen(before)) << "all are closed once the file system is gone";
}

TEST_F(IncomingCalls, RefusesObjectsThatLieOutsideTheReceiveBuffer) {
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

TEST_F(IncomingCalls, ACallToAnObjectThatIsGoneGetsAStatus) {
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    int nowhere = 0;
    const auto* gone = reinterpret_cast<const LocalObject*>(&nowhere);
    EXPECT_EQ(callObject(gone, 5, 0).word(), -2147483647 - 1);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(IncomingCalls, RepliesClearTheirBufferIfTheCallDid) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    kernel->deliver(Returns().add(
            BR_TRANSACTION, kernel->callTo(object.get(), 1, 0, TF_ACCEPT_FDS | TF_CLEAR_BUF)));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 1));
    EXPECT_EQ(kernel->sent(BC_REPLY_SG)[0].as<binder_transaction_data>().flags,
              uint32_t{TF_CLEAR_BUF});
}

TEST_F(IncomingCalls, OnewayCallsGetNoReplyButFreeTheirBuffer) {
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

TEST_F(IncomingCalls, UnderstandsCallsWithASecurityContext) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    binder_transaction_data_secctx call = {};
    call.transaction_data = kernel->callTo(object.get(), 1, 0);
    kernel->deliver(Returns().add(BR_TRANSACTION_SEC_CTX, call));
    ASSERT_TRUE(kernel->waitForSent(BC_REPLY_SG, 1));
    EXPECT_EQ(object->calls, 1);
}

TEST_F(IncomingCalls, AFailedReplyEndsNeitherTheThreadNorAnotherCall) {
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

TEST_F(IncomingCalls, MalformedParcelsReachNoObjectAndDoNoHarm) {
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
    call(parcelWith(*kernel, flat(BINDER_TYPE_BINDER, 0x1000)));
    call(parcelWith(*kernel, flat(BINDER_TYPE_WEAK_HANDLE, 1)));
    EXPECT_EQ(codes, std::vector<StatusCode>(5, StatusCode::INVALID_ARGUMENT));

    binder_transaction_data outside = kernel->parcelOfWord(0);
    outside.data_size = 1 << 20;
    call(outside);
    EXPECT_EQ(codes.size(), 5u);
    EXPECT_EQ(kernel->sent(BC_REPLY_SG).back().word(), -2147483647 - 1);
    ASSERT_TRUE(kernel->waitUntilIdle());
    EXPECT_EQ(kernel->buffersInUse(), 0u);
}

TEST_F(IncomingCalls, ServesAsContextManagerUnderBothNames) {
    auto object = std::make_shared<ServedObject>();
    ASSERT_TRUE(mConnection.becomeContextManager(object).ok());
    EXPECT_EQ(kernel->contextManager, reinterpret_cast<uintptr_t>(object.get()));
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    callObject(object.get(), 1, 0);
    callObject(nullptr, 1, 0);
    EXPECT_EQ(object->calls, 2);
}

TEST_F(IncomingCalls, TellsTheKernelWhatTheContextManagerSaysOfItself) {
    static constexpr ObjectFlags kRefusing = {.takesDescriptors = false, .mostNice = 7};
    class Refusing final : public ServedObject {
      public:
        ObjectFlags flags() const override { return kRefusing; }
    };
    ASSERT_TRUE(mConnection.becomeContextManager(std::make_shared<ServedObject>()).ok());
    EXPECT_EQ(kernel->contextManagerFlags, ObjectFlags());
    ASSERT_TRUE(mConnection.becomeContextManager(std::make_shared<Refusing>()).ok());
    EXPECT_EQ(kernel->contextManagerFlags, kRefusing);
}

TEST_F(IncomingCalls, FreesWhatCameBeforeAReturnThatIsCutShort) {
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

}  // namespace
}  // namespace halyard::hal
