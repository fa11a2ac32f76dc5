// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/service_manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hal/fake_service_manager.h"

namespace halyard::hal {
namespace {

using hidl::HwServiceManager;
using testing::FakeServiceManager;
using testing::ProcessWithManager;
using testing::UncalledService;

constexpr std::string_view kChain[] = {"a.b@1.1::IThing", "a.b@1.0::IThing",
                                       "android.hidl.base@1.0::IBase"};

struct World {
    explicit World(const FakeServiceManager::Behaviour& behaviour = {})
        : manager(process->startManager(behaviour)) {}

    std::shared_ptr<ProcessWithManager> process = std::make_shared<ProcessWithManager>();
    std::shared_ptr<FakeServiceManager> manager;
    HwServiceManager client{process};
};

TEST(HwServiceManager, RegistersWithTheWholeChain) {
    World world;
    Status added = world.client.add("one", std::make_shared<UncalledService>(), kChain);
    EXPECT_TRUE(added.ok()) << added.toString();
    EXPECT_EQ(world.manager->asked(),
              std::vector<std::string>{"add one a.b@1.1::IThing a.b@1.0::IThing "
                                       "android.hidl.base@1.0::IBase"});
}

TEST(HwServiceManager, RegistersWithAnOldManagerToo) {
    World world({.knowsChains = false});
    Status added = world.client.add("one", std::make_shared<UncalledService>(), kChain);
    EXPECT_TRUE(added.ok()) << added.toString();
    EXPECT_EQ(world.manager->asked(), std::vector<std::string>{"add one"});
}

TEST(HwServiceManager, ARefusalIsAnErrorThatNamesTheService) {
    World world({.refusals = 1});
    Status added = world.client.add("one", std::make_shared<UncalledService>(), kChain);
    EXPECT_EQ(added.code(), StatusCode::INTERNAL);
    EXPECT_NE(added.message().find("one"), std::string_view::npos) << added.toString();
}

TEST(HwServiceManager, FindsWhatIsRegisteredAndOnlyThat) {
    World world;
    Result<ObjectRef> none = world.client.get("a.b@1.0::IThing", "one");
    ASSERT_TRUE(none.ok());
    EXPECT_TRUE(isNull(*none));
    auto service = std::make_shared<UncalledService>();
    ASSERT_TRUE(world.client.add("one", service, kChain).ok());
    Result<ObjectRef> found = world.client.get("a.b@1.0::IThing", "one");
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_FALSE(isNull(*found));
    EXPECT_EQ(world.manager->asked().back(), "get a.b@1.0::IThing/one");
}

TEST(HwServiceManager, KnowsWhatTheManifestHas) {
    World world;
    EXPECT_TRUE(world.client.isDeclared("a.b@1.1::IThing", "one").value());
    EXPECT_FALSE(world.client.isDeclared("a.b@1.1::IThing", "two").value());
    EXPECT_FALSE(world.client.isDeclared("a.b@1.2::IThing", "one").value());
}

TEST(HwServiceManager, ListsNames) {
    World world;
    Result<std::vector<std::string>> names = world.client.list();
    ASSERT_TRUE(names.ok()) << names.status().toString();
    EXPECT_EQ(*names, (std::vector<std::string>{"a.b@1.0::IThing/one", ""}));
}

TEST(HwServiceManager, WaitsOnlySoLongForTheManager) {
    World world;
    EXPECT_TRUE(world.client.waitUntilReady(std::chrono::milliseconds(0)).ok());
    world.process->kill(world.manager);
    EXPECT_EQ(world.client.waitUntilReady(std::chrono::milliseconds(20)).code(),
              StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace halyard::hal
