// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/registration.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include "tests/hal/fake_service_manager.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal {
namespace {

using testing::FakeServiceManager;
using testing::ProcessWithManager;
using testing::UncalledService;

constexpr std::string_view kThingChain[] = {"a.b@1.0::IThing", "android.hidl.base@1.0::IBase"};

class Registrations : public ::testing::Test {
  protected:
    void TearDown() override { mProcess->stop(); }
    Result<std::unique_ptr<Registration>> start(
            std::chrono::milliseconds lookEvery = std::chrono::hours(1)) {
        return Registration::start(mProcess,
                                   hidl::serviceName(mProcess, "one", mService, kThingChain),
                                   mService, lookEvery);
    }

    const testing::TimeLimit mTimeLimit;
    std::shared_ptr<ProcessWithManager> mProcess = std::make_shared<ProcessWithManager>();
    std::shared_ptr<FakeServiceManager> mFirst = mProcess->startManager();
    std::shared_ptr<UncalledService> mService = std::make_shared<UncalledService>();
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
    std::shared_ptr<FakeServiceManager> last = mFirst;
    for (int round = 0; round < 3; ++round) {
        mProcess->kill(last);
        last = mProcess->startManager();
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
    const auto next = mProcess->startManager({.refusals = 1});
    EXPECT_TRUE(next->waitForAdded(1));
}

TEST_F(Registrations, AreMadeAgainWhereTheManagerIsNotTheOneThatTookThem) {
    // As if another had come before it was watched, at first and when it comes back.
    const auto first = mProcess->startManager({.forgotten = 1});
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok());
    EXPECT_TRUE(first->waitForAdded(2));
    mProcess->kill(first);
    const auto next = mProcess->startManager({.forgotten = 1});
    EXPECT_TRUE(next->waitForAdded(2));
}

TEST_F(Registrations, AreMadeAgainWhenAnotherServiceTakesTheName) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok());
    const auto another = std::make_shared<UncalledService>();
    mFirst->replace(mProcess->remote(another));
    mProcess->tellListener(*mFirst);
    EXPECT_TRUE(mFirst->waitForAdded(2));
}

TEST_F(Registrations, AreMadeAgainWhenTheNameIsGoneWithoutANotice) {
    const auto mute = mProcess->startManager({.notifies = false});
    Result<std::unique_ptr<Registration>> registration = start(std::chrono::milliseconds(10));
    ASSERT_TRUE(registration.ok());
    mute->replace(nullptr);
    EXPECT_TRUE(mute->waitForAdded(2));
}

TEST_F(Registrations, AreLeftAloneWhileTheyStand) {
    Result<std::unique_ptr<Registration>> registration = start(std::chrono::milliseconds(1));
    ASSERT_TRUE(registration.ok());
    for (int i = 0; i < 100; ++i) {
        mProcess->tellListener(*mFirst);
    }
    // Some looks later.
    while (mFirst->asked().size() < 20) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    registration->reset();
    EXPECT_EQ(mFirst->added(), 1);
}

TEST_F(Registrations, EndWhileNoManagerIsThere) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok());
    mProcess->kill(mFirst);
    registration->reset();
    EXPECT_EQ(mFirst->added(), 1);
}

TEST_F(Registrations, FailAtOnceWhereTheFirstManagerRefuses) {
    mProcess->startManager({.refusals = 1000});
    EXPECT_EQ(start().status().code(), StatusCode::INTERNAL);
    EXPECT_EQ(Registration::start(mProcess, nullptr, mService).status().code(),
              StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::hal
