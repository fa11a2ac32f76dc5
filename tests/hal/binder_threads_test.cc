// SPDX-License-Identifier: Apache-2.0
//
// The threads that serve: how they start, stop, and keep apart.

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tests/hal/connection_fixture.h"

namespace halyard::hal {
namespace {

using testing::FakeKernel;
using testing::Returns;
using testing::SentCommand;
using testing::ServedObject;
using testing::serveWord;

class ServingThreads : public testing::ConnectionFixture {};

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

TEST_F(ServingThreads, StartsTheThreadsThatTheKernelAsksFor) {
    ASSERT_TRUE(mConnection.startThreads(2, 3).ok());
    ASSERT_TRUE(kernel->waitForSent(BC_ENTER_LOOPER, 2));
    kernel->deliver(Returns().add(BR_NOOP).add(BR_SPAWN_LOOPER));
    ASSERT_TRUE(kernel->waitForSent(BC_REGISTER_LOOPER, 1));
    EXPECT_EQ(kernel->sent(BC_ENTER_LOOPER).size(), 2u);
    mConnection.stop();
    EXPECT_EQ(kernel->sent(BC_EXIT_LOOPER).size(), 3u);
    EXPECT_EQ(kernel->exitedThreads(), 3u);
}

TEST_F(ServingThreads, StartsLaterTheThreadThatCouldNotBeStarted) {
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

TEST_F(ServingThreads, StopLetsACallInProgressFinish) {
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

TEST_F(ServingThreads, StopLetsGoOfTheObjects) {
    auto object = std::make_shared<ServedObject>();
    send(object);
    ASSERT_TRUE(mConnection.becomeContextManager(object).ok());
    mConnection.stop();
    EXPECT_EQ(object.use_count(), 1);
}

TEST_F(ServingThreads, ADeviceThatFailsEndsCallsAndThreads) {
    ASSERT_TRUE(mConnection.startThreads(2, 0).ok());
    kernel->fail(Status(StatusCode::UNAVAILABLE, "gone"));
    EXPECT_EQ(mConnection.transact(mConnection.contextManager(), 1, ParcelWriter()).status().code(),
              StatusCode::UNAVAILABLE);
    mConnection.stop();
}

TEST_F(ServingThreads, CallsOfManyThreadsDoNotMix) {
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

TEST_F(ServingThreads, FailuresThatItGotOverEndNoThread) {
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

}  // namespace
}  // namespace halyard::hal
