// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/registration.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "hal/aidl/remote_interface.h"
#include "hal/aidl/types.h"
#include "tests/hal/fake_aidl_service_manager.h"
#include "tests/hal/fake_service_manager.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal {
namespace {

using testing::FakeAidlServiceManager;
using testing::ProcessWithAidlManager;
using testing::UncalledService;

class AidlRegistrations : public ::testing::Test {
  protected:
    void TearDown() override { mProcess->stop(); }
    Result<std::unique_ptr<Registration>> start(const char* name = "a.IThing/one") {
        return Registration::start(mProcess,
                                   aidl::serviceName(mProcess, name, mService, aidl::Release()),
                                   mService, std::chrono::hours(1));
    }

    const testing::TimeLimit mTimeLimit;
    const std::shared_ptr<ProcessWithAidlManager> mProcess =
            std::make_shared<ProcessWithAidlManager>();
    const std::shared_ptr<FakeAidlServiceManager> mFirst = mProcess->startManager();
    const std::shared_ptr<UncalledService> mService = std::make_shared<UncalledService>();
};

TEST_F(AidlRegistrations, AreMadeAgainWithEachManagerThatComes) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok()) << registration.status().toString();
    std::shared_ptr<FakeAidlServiceManager> last = mFirst;
    for (int round = 0; round < 3; ++round) {
        mProcess->kill(last);
        last = mProcess->startManager();
        EXPECT_TRUE(last->waitForAdded(1));
    }
    registration->reset();
    EXPECT_EQ(mFirst->added(), 1);
    EXPECT_EQ(last->added(), 1);
}

TEST_F(AidlRegistrations, TakeTheirNameBackWhenAnotherServiceHasIt) {
    Result<std::unique_ptr<Registration>> registration = start();
    ASSERT_TRUE(registration.ok()) << registration.status().toString();
    mFirst->replace("a.IThing/one", {});
    const aidl::RemoteInterface listener(mProcess, mFirst->listener(),
                                         aidl::os::IServiceCallback::info(), aidl::Release());
    EXPECT_TRUE(listener.callOneway<aidl::os::IServiceCallback::OnRegistration>(
                                {.name = "a.IThing/one", .binder = {}})
                        .ok());
    EXPECT_TRUE(mFirst->waitForAdded(2));
}

TEST_F(AidlRegistrations, FailAtOnceWhereTheManifestHasNoSuchName) {
    EXPECT_EQ(start("a.IThing/two").status().code(), StatusCode::INTERNAL);
    EXPECT_EQ(mFirst->added(), 0);
}

}  // namespace
}  // namespace halyard::hal
