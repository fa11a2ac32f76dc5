// SPDX-License-Identifier: Apache-2.0
//
// A process with several binder devices: each connection has its own threads, objects and handles,
// also on a thread that is inside calls of both.

#include <gtest/gtest.h>
#include <linux/android/binder.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/hal/connection_fixture.h"

namespace halyard::hal::testing {
namespace {

class BinderDevices : public ConnectionFixture {
  protected:
    ~BinderDevices() override {
        mOther.stop();
        EXPECT_FALSE(otherKernel->wrongFree());
    }

    const std::shared_ptr<FakeKernel> otherKernel = std::make_shared<FakeKernel>();
    BinderConnection mOther{otherKernel};
};

TEST_F(BinderDevices, AreCalledFromInsideTheCallsOfOneAnother) {
    otherKernel->onCall = [&](const SentCommand& call) {
        return Returns()
                .add(BR_TRANSACTION_COMPLETE)
                .add(BR_REPLY, otherKernel->parcelOfWord(call.word() + 1));
    };
    const auto object = std::make_shared<ServedObject>(serveWord([&](int32_t word) {
        ParcelWriter arguments;
        arguments.writeInt32(word * 2);
        Result<std::unique_ptr<Reply>> reply =
                mOther.transact(mOther.contextManager(), 5, arguments);
        EXPECT_TRUE(reply.ok()) << reply.status().toString();
        return reply.ok() ? (*reply)->reader().readInt32().value() : -1;
    }));
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    ASSERT_TRUE(mOther.startThreads(1, 0).ok());
    const SentCommand reply = callObject(object.get(), 3, 20);
    EXPECT_EQ(reply.word(), 41);

    const std::vector<SentCommand> calls = otherKernel->sent(BC_TRANSACTION_SG);
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].thread, reply.thread)
            << "what one device serves, the other one is called by";
    EXPECT_EQ(kernel->sent(BC_TRANSACTION_SG).size(), 1U) << "nothing but what send() sent";
    EXPECT_TRUE(otherKernel->sent(BC_REPLY_SG).empty());
}

TEST_F(BinderDevices, KnowTheirOwnObjectsAlone) {
    const auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    ASSERT_TRUE(mOther.startThreads(1, 0).ok());
    otherKernel->deliver(Returns().add(BR_TRANSACTION, otherKernel->callTo(object.get(), 1, 7)));
    EXPECT_TRUE(otherKernel->waitForSent(BC_REPLY_SG, 1));
    EXPECT_EQ(object->calls, 0) << "it was never sent there";
    static_cast<void>(callObject(object.get(), 1, 7));
    EXPECT_EQ(object->calls, 1);
}

TEST_F(BinderDevices, EndOnTheirOwn) {
    const auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.startThreads(1, 0).ok());
    ASSERT_TRUE(mOther.startThreads(1, 0).ok());
    mOther.stop();
    static_cast<void>(callObject(object.get(), 1, 7));
    EXPECT_EQ(object->calls, 1);
}

}  // namespace
}  // namespace halyard::hal::testing
