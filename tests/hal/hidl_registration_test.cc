// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/registration.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "hal/binder/incoming_call.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "tests/hal/loopback.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal {
namespace {

using hidl::Registration;
using hidl::manager::v1_2::IServiceManager;

constexpr std::string_view kChain[] = {"a.b@1.0::IThing", "android.hidl.base@1.0::IBase"};
constexpr std::chrono::seconds kPatience{30};

class SomeService : public LocalObject {
  public:
    WireStatus onTransact(IncomingCall& /*call*/) override {
        return WireStatus::UNKNOWN_TRANSACTION;
    }
};

// Takes services, all of them alike.
class Manager : public hidl::HidlObject {
  public:
    // `forgotten`: so many that it takes first, it does not know afterwards.
    explicit Manager(int refusals = 0, int forgotten = 0)
        : HidlObject(IServiceManager::layout()), mRefusals(refusals), mForgotten(forgotten) {}

    bool waitForAdded(int count) {
        std::unique_lock lock(mMutex);
        return mChanged.wait_for(lock, kPatience, [&] { return mAdded >= count; });
    }
    int added() {
        std::lock_guard lock(mMutex);
        return mAdded;
    }

  protected:
    Status serve(uint32_t code, Call& call) override {
        if (code == IServiceManager::get) {
            HALYARD_RETURN_IF_ERROR(hidl::readValue<hidl::HidlString>(call.arguments).status());
            HALYARD_RETURN_IF_ERROR(hidl::readValue<hidl::HidlString>(call.arguments).status());
            HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
            std::lock_guard lock(mMutex);
            reply->writeObject(mService == nullptr ? ObjectRef() : ObjectRef(mService));
            return {};
        }
        HALYARD_RETURN_IF_ERROR(hidl::readValue<hidl::HidlString>(call.arguments).status());
        HALYARD_ASSIGN_OR_RETURN(const ObjectRef object, call.arguments.readObject());
        HALYARD_RETURN_IF_ERROR(hidl::readStrings(call.arguments).status());
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        std::lock_guard lock(mMutex);
        const bool taken = mRefusals-- <= 0;
        if (taken) {
            if (mForgotten-- <= 0) {
                mService = std::get<std::shared_ptr<RemoteObject>>(object);
            }
            ++mAdded;
            mChanged.notify_all();
        }
        reply->writeInt32(taken ? 1 : 0);
        return {};
    }

  private:
    std::mutex mMutex;
    std::condition_variable mChanged;
    int mRefusals;
    int mForgotten;
    int mAdded = 0;
    std::shared_ptr<RemoteObject> mService;
};

class Process : public testing::LoopbackProcess {
  public:
    std::shared_ptr<RemoteObject> contextManager() override {
        std::lock_guard lock(mMutex);
        return mManager;
    }
    void setManager(const std::shared_ptr<Manager>& manager) {
        const std::shared_ptr<RemoteObject> known = remote(manager);
        std::lock_guard lock(mMutex);
        mManager = known;
    }

  private:
    std::mutex mMutex;
    std::shared_ptr<RemoteObject> mManager;
};

class Registrations : public ::testing::Test {
  protected:
    void SetUp() override { mProcess->setManager(mFirst); }
    void TearDown() override { mProcess->stop(); }
    Result<std::unique_ptr<Registration>> start() {
        return Registration::start(mProcess, "one", mService, kChain);
    }

    const testing::TimeLimit mTimeLimit;
    std::shared_ptr<Process> mProcess = std::make_shared<Process>();
    std::shared_ptr<Manager> mFirst = std::make_shared<Manager>();
    std::shared_ptr<SomeService> mService = std::make_shared<SomeService>();
};

TEST_F(Registrations, AreMadeOnceWithAManagerThatLives) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok()) << registration.status().toString();
    registration->reset();
    EXPECT_EQ(mFirst->added(), 1);
}

TEST_F(Registrations, AreMadeAgainWithEachManagerThatComes) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok()) << registration.status().toString();
    std::shared_ptr<Manager> last = mFirst;
    for (int round = 0; round < 3; ++round) {
        mProcess->kill(last);
        last = std::make_shared<Manager>();
        mProcess->setManager(last);
        EXPECT_TRUE(last->waitForAdded(1));
    }
    registration->reset();
    EXPECT_EQ(mFirst->added(), 1);
    EXPECT_EQ(last->added(), 1);
}

TEST_F(Registrations, AreTriedAgainWithAManagerThatRefuses) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok());
    mProcess->kill(mFirst);
    const auto next = std::make_shared<Manager>(1);
    mProcess->setManager(next);
    EXPECT_TRUE(next->waitForAdded(1));
}

TEST_F(Registrations, AreMadeAgainWhereTheManagerIsNotTheOneThatTookThem) {
    // As if another had come before it was watched, at first and when it comes back.
    const auto first = std::make_shared<Manager>(0, 1);
    mProcess->setManager(first);
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok());
    EXPECT_TRUE(first->waitForAdded(2));
    mProcess->kill(first);
    const auto next = std::make_shared<Manager>(0, 1);
    mProcess->setManager(next);
    EXPECT_TRUE(next->waitForAdded(2));
}

TEST_F(Registrations, EndWhileNoManagerIsThere) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok());
    mProcess->kill(mFirst);
    registration->reset();
    EXPECT_EQ(mFirst->added(), 1);
}

TEST_F(Registrations, FailAtOnceWhereTheFirstManagerRefuses) {
    mProcess->setManager(std::make_shared<Manager>(1000));
    EXPECT_EQ(start().status().code(), StatusCode::INTERNAL);
    EXPECT_EQ(Registration::start(mProcess, "one", nullptr, kChain).status().code(),
              StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::hal
