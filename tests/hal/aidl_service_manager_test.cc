// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/service_manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "hal/aidl/types.h"
#include "tests/hal/fake_aidl_service_manager.h"
#include "tests/hal/fake_service_manager.h"

namespace halyard::hal::aidl {
namespace {

using testing::ProcessWithAidlManager;
using testing::UncalledService;

class AidlServiceManagers : public ::testing::TestWithParam<int32_t> {
  protected:
    void TearDown() override { mProcess->stop(); }

    const Release mRelease{GetParam()};
    const std::shared_ptr<ProcessWithAidlManager> mProcess =
            std::make_shared<ProcessWithAidlManager>();
    const std::shared_ptr<testing::FakeAidlServiceManager> mFake = mProcess->startManager(mRelease);
    ServiceManager mManager{mProcess, mRelease};
    const std::shared_ptr<UncalledService> mService = std::make_shared<UncalledService>();
};

TEST_P(AidlServiceManagers, KnowWhatWasRegistered) {
    ASSERT_TRUE(mManager.waitUntilReady(std::chrono::seconds(1)).ok());
    EXPECT_TRUE(isNull(*mManager.get("a.IThing/one")));
    const Status added = mManager.add("a.IThing/one", mService);
    ASSERT_TRUE(added.ok()) << added.toString();
    EXPECT_EQ(*mManager.get("a.IThing/one"), ObjectRef(mService));
    EXPECT_EQ(*mManager.list(), std::vector<std::string>{"a.IThing/one"});
}

TEST_P(AidlServiceManagers, RefuseWhatIsNotDeclared) {
    EXPECT_TRUE(*mManager.isDeclared("a.IThing/one"));
    EXPECT_FALSE(*mManager.isDeclared("a.IThing/two"));
    const Status added = mManager.add("a.IThing/two", mService);
    EXPECT_EQ(added.code(), StatusCode::INTERNAL);
    EXPECT_NE(added.message().find("VINTF declaration error."), std::string::npos);
    const auto instances = mManager.declaredInstances("a.IThing");
    if (GetParam() < 31) {
        EXPECT_EQ(instances.status().code(), StatusCode::UNSUPPORTED);
    } else {
        EXPECT_EQ(*instances, std::vector<std::string>{"one"});
    }
}

TEST_P(AidlServiceManagers, TakeListeners) {
    const auto listener = std::make_shared<UncalledService>();
    EXPECT_TRUE(mManager.listen("a.IThing/one", listener).ok());
    EXPECT_NE(mFake->listener(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Releases, AidlServiceManagers, ::testing::Values(30, 31, 34, 35, 36));

}  // namespace
}  // namespace halyard::hal::aidl
