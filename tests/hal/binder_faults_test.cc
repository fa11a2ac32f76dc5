// SPDX-License-Identifier: Apache-2.0
//
// A conversation with the kernel in which any one exchange fails.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/log.h"
#include "hal/binder/connection.h"
#include "hal/binder/incoming_call.h"
#include "tests/hal/connection_fixture.h"
#include "tests/hal/fake_kernel.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {
namespace {

using testing::FakeKernel;
using testing::openDescriptors;
using testing::pairOf;
using testing::parcelWith;
using testing::Returns;
using testing::SentCommand;

// Takes a word and any descriptors, and calls the context manager before it answers.
class CallingObject : public LocalObject {
  public:
    explicit CallingObject(BinderConnection& connection) : mConnection(connection) {}
    WireStatus onTransact(IncomingCall& call) override {
        const Result<int32_t> word = call.arguments().readInt32();
        while (call.arguments().readDescriptor().ok()) {
        }
        Result<ParcelWriter*> reply = call.endArguments();
        if (!word.ok() || !reply.ok()) {
            return WireStatus::BAD_VALUE;
        }
        const Result<std::unique_ptr<Reply>> answer =
                mConnection.transact(mConnection.contextManager(), 2, ParcelWriter());
        (*reply)->writeInt32(answer.ok() ? *word : -1);
        return WireStatus::OK;
    }

  private:
    BinderConnection& mConnection;
};

class PlainObject : public LocalObject {
  public:
    WireStatus onTransact(IncomingCall& call) override {
        return call.arguments().readInt32().ok() ? WireStatus::OK : WireStatus::BAD_VALUE;
    }
};

// All that a service does with the kernel once: it takes the manager's place, serves, calls, hands
// out an object and lets go of it, holds somebody else's, hears of a death and stops.
class Conversation {
  public:
    explicit Conversation(std::shared_ptr<FakeKernel> kernel) : mKernel(std::move(kernel)) {}

    // Whether all went well.
    bool hold() {
        BinderConnection connection(mKernel);
        auto manager = std::make_shared<CallingObject>(connection);
        bool well = connection.becomeContextManager(manager).ok();
        well = connection.startThreads(1, 1).ok() && well;
        well = giveAndTakeBack(connection) && well;
        well = callOut(connection, manager) && well;
        well = beCalled(*manager) && well;
        well = beReferred(*manager) && well;
        mKernel->deliver(Returns().add(BR_SPAWN_LOOPER));
        settled = mKernel->waitUntilIdle() && settled;
        well = hearOfDeath(connection) && well;
        connection.stop();
        released = manager.use_count() == 1 && released;
        return well;
    }

    bool settled = true;       // all that the kernel had was fetched in time
    bool released = true;      // no object is held any longer
    bool acknowledged = true;  // the reference that the kernel asked for

  private:
    // An object goes out; the kernel takes references, and drops those that were acknowledged.
    bool giveAndTakeBack(BinderConnection& connection) {
        auto object = std::make_shared<PlainObject>();
        mKernel->onOneway = [pair = pairOf(object.get())](const SentCommand&) {
            return Returns()
                    .add(BR_INCREFS, pair)
                    .add(BR_ACQUIRE, pair)
                    .add(BR_TRANSACTION_COMPLETE);
        };
        bool well = true;
        {
            ParcelWriter arguments;
            arguments.writeObject(object);
            well = connection.transactOneway(connection.contextManager(), 1, arguments).ok();
        }
        mKernel->onOneway = nullptr;
        if (!mKernel->sent(BC_ACQUIRE_DONE).empty()) {
            mKernel->deliver(Returns().add(BR_RELEASE, pairOf(object.get())));
        }
        if (!mKernel->sent(BC_INCREFS_DONE).empty()) {
            mKernel->deliver(Returns().add(BR_DECREFS, pairOf(object.get())));
        }
        settled = mKernel->waitUntilIdle() && settled;
        released = object.use_count() == 1 && released;
        return well;
    }

    // A call that is answered with descriptors, after the other side has called back.
    bool callOut(BinderConnection& connection, const std::shared_ptr<LocalObject>& object) {
        mKernel->onCall = [&](const SentCommand& call) {
            return call.as<binder_transaction_data>().code == 2
                           ? Returns().add(BR_REPLY, mKernel->parcelOfDescriptors(0, 2))
                           : Returns()
                                     .add(BR_TRANSACTION_COMPLETE)
                                     .add(BR_TRANSACTION, mKernel->callTo(object.get(), 1, 21));
        };
        mKernel->onReply = [&, outer = std::this_thread::get_id()](const SentCommand& reply) {
            Returns returns = Returns().add(BR_TRANSACTION_COMPLETE);
            if (reply.thread == outer) {
                returns.add(BR_REPLY, mKernel->parcelOfDescriptors(reply.word(), 3));
            }
            return returns;
        };
        const Result<std::unique_ptr<Reply>> reply =
                connection.transact(connection.contextManager(), 1, ParcelWriter());
        mKernel->onReply = nullptr;
        return reply.ok() && (*reply)->reader().readInt32().ok() &&
               (*reply)->reader().readDescriptor().ok();
    }

    // Calls with descriptors, one to no object.
    bool beCalled(const LocalObject& object) {
        for (const void* target :
             {static_cast<const void*>(&object), static_cast<const void*>(this)}) {
            binder_transaction_data call = mKernel->parcelOfDescriptors(5, 4);
            call.target.ptr = reinterpret_cast<uintptr_t>(target);
            mKernel->deliver(Returns().add(BR_TRANSACTION, call));
        }
        settled = mKernel->waitUntilIdle() && settled;
        const std::vector<SentCommand> replies = mKernel->sent(BC_REPLY_SG);
        return replies.size() == 3 && replies[1].word() == 5;
    }

    // The kernel takes a reference again, and drops it once that is acknowledged.
    bool beReferred(const LocalObject& object) {
        const size_t before = mKernel->sent(BC_ACQUIRE_DONE).size();
        mKernel->deliver(Returns().add(BR_ACQUIRE, pairOf(&object)));
        settled = mKernel->waitUntilIdle() && settled;
        acknowledged = mKernel->sent(BC_ACQUIRE_DONE).size() == before + 1;
        if (acknowledged) {
            mKernel->deliver(Returns().add(BR_RELEASE, pairOf(&object)));
        }
        return acknowledged;
    }

    // A handle comes, is linked to, and its owner dies.
    bool hearOfDeath(BinderConnection& connection) {
        mKernel->onCall = [&](const SentCommand&) {
            return Returns().add(BR_REPLY,
                                 parcelWith(*mKernel, testing::flat(BINDER_TYPE_HANDLE, 9)));
        };
        Result<std::unique_ptr<Reply>> reply =
                connection.transact(connection.contextManager(), 3, ParcelWriter());
        mKernel->onCall = nullptr;
        const Result<ObjectRef> received =
                reply.ok() ? (*reply)->reader().readObject() : reply.status();
        if (!received.ok()) {
            return false;
        }
        std::atomic<int> deaths = 0;
        const auto remote = std::get<std::shared_ptr<RemoteObject>>(*received);
        if (!remote->linkToDeath([&] { ++deaths; }).ok()) {
            return false;
        }
        const auto request =
                mKernel->sent(BC_REQUEST_DEATH_NOTIFICATION).at(0).as<binder_handle_cookie>();
        const binder_uintptr_t cookie = request.cookie;
        mKernel->deliver(Returns().add(BR_DEAD_BINDER, cookie));
        settled = mKernel->waitUntilIdle() && settled;
        // It is called no more when it goes out of scope.
        connection.stop();
        return deaths == 1;
    }

    const std::shared_ptr<FakeKernel> mKernel;
};

class BinderFaults : public ::testing::TestWithParam<FakeKernel::Fault> {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    struct Outcome {
        bool well = false;
        bool settled = false;
        bool released = false;
        bool acknowledged = false;
        size_t exchanges = 0;
        size_t buffers = 0;
        bool wrongFree = false;
    };
    // On a thread of its own, so that the state that the thread keeps ends with it. Ends the test
    // program if it hangs.
    static Outcome converse(size_t faultyExchange) {
        std::promise<Outcome> promise;
        std::future<Outcome> outcome = promise.get_future();
        std::thread speaker([&] {
            auto kernel = std::make_shared<FakeKernel>();
            if (faultyExchange != kNone) {
                kernel->failExchange(faultyExchange, GetParam());
            }
            Conversation conversation(kernel);
            Outcome result;
            result.well = conversation.hold();
            result.settled = conversation.settled;
            result.released = conversation.released;
            result.acknowledged = conversation.acknowledged;
            result.exchanges = kernel->exchanges();
            result.buffers = kernel->buffersInUse();
            result.wrongFree = kernel->wrongFree();
            promise.set_value(result);
        });
        if (outcome.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
            std::fprintf(stderr, "hangs after a fault in exchange %zu\n", faultyExchange);
            std::abort();
        }
        speaker.join();
        return outcome.get();
    }

    static constexpr size_t kNone = static_cast<size_t>(-1);
};

TEST_P(BinderFaults, EndNothingAndLeaveNothingBehind) {
    const size_t descriptors = openDescriptors();
    const Outcome whole = converse(kNone);
    ASSERT_TRUE(whole.well);
    ASSERT_GT(whole.exchanges, 20u);
    const bool lossless =
            GetParam() == FakeKernel::Fault::NOT_TAKEN || GetParam() == FakeKernel::Fault::TAKEN;
    size_t failed = 0;
    for (size_t n = 0; n < whole.exchanges; ++n) {
        SCOPED_TRACE("fault in exchange " + std::to_string(n));
        const Outcome outcome = converse(n);
        failed += outcome.well ? 0 : 1;
        EXPECT_TRUE(outcome.settled);
        EXPECT_FALSE(outcome.wrongFree);
        EXPECT_EQ(outcome.buffers, 0u);
        EXPECT_LE(openDescriptors(), descriptors);
        EXPECT_TRUE(outcome.released || !lossless);
        EXPECT_TRUE(outcome.acknowledged || !lossless);
    }
    // Some are made up for, others must be told.
    EXPECT_GT(failed, 3u);
    EXPECT_LT(failed, whole.exchanges);
}

INSTANTIATE_TEST_SUITE_P(OfOneExchange, BinderFaults,
                         ::testing::Values(FakeKernel::Fault::NOT_TAKEN, FakeKernel::Fault::TAKEN,
                                           FakeKernel::Fault::CUT_SHORT,
                                           FakeKernel::Fault::GARBLED));

TEST(BinderFault, OfTheOtherRequestsIsTold) {
    const Status refused = internalError("refused");
    auto kernel = std::make_shared<FakeKernel>();
    BinderConnection connection(kernel);
    auto object = std::make_shared<PlainObject>();
    kernel->contextManagerFailure = refused;
    EXPECT_EQ(connection.becomeContextManager(object).code(), StatusCode::INTERNAL);
    EXPECT_EQ(object.use_count(), 1) << "it will not be called";
    kernel->maxThreadsFailure = refused;
    EXPECT_EQ(connection.startThreads(1, 1).code(), StatusCode::INTERNAL);
}

}  // namespace
}  // namespace halyard::hal
