// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/service_manager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "tests/hal/loopback.h"

namespace halyard::hal {
namespace {

using hidl::HidlString;
using hidl::HidlVec;
using hidl::HwServiceManager;
using hidl::readValue;
using hidl::manager::v1_2::IServiceManager;

constexpr std::string_view kChain[] = {"a.b@1.1::IThing", "a.b@1.0::IThing",
                                       "android.hidl.base@1.0::IBase"};

class SomeService : public LocalObject {
  public:
    WireStatus onTransact(IncomingCall& /*call*/) override {
        return WireStatus::UNKNOWN_TRANSACTION;
    }
};

// Notes what it is asked, as a manager of the given age would understand it.
class Manager : public hidl::HidlObject {
  public:
    explicit Manager(bool knowsChains)
        : HidlObject(IServiceManager::layout()), mKnowsChains(knowsChains) {}

    std::vector<std::string> asked;
    std::shared_ptr<RemoteObject> service;
    bool accepts = true;

  protected:
    Status serve(uint32_t code, Call& call) override {
        switch (code) {
            case IServiceManager::addWithChain:
                if (!mKnowsChains) {
                    return unsupported("too old");
                }
                [[fallthrough]];
            case IServiceManager::add: {
                HALYARD_ASSIGN_OR_RETURN(const auto* name, readValue<HidlString>(call.arguments));
                HALYARD_ASSIGN_OR_RETURN(ObjectRef object, call.arguments.readObject());
                service = std::get<std::shared_ptr<RemoteObject>>(object);
                std::string text = "add " + std::string(name->view());
                if (code == IServiceManager::addWithChain) {
                    HALYARD_ASSIGN_OR_RETURN(const auto* chain,
                                             readValue<HidlVec<HidlString>>(call.arguments));
                    for (const HidlString& entry : chain->view()) {
                        text.append(" ").append(entry.view());
                    }
                }
                HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
                asked.push_back(text);
                reply->writeInt32(accepts ? 1 : 0);
                return {};
            }
            case IServiceManager::get: {
                HALYARD_ASSIGN_OR_RETURN(const auto* fqName, readValue<HidlString>(call.arguments));
                HALYARD_ASSIGN_OR_RETURN(const auto* name, readValue<HidlString>(call.arguments));
                asked.push_back("get " + std::string(fqName->view()) + "/" +
                                std::string(name->view()));
                HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
                reply->writeObject(service == nullptr ? ObjectRef() : ObjectRef(service));
                return {};
            }
            case IServiceManager::list: {
                HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
                hidl::writeStrings(*reply,
                                   std::vector<std::string_view>{"a.b@1.0::IThing/one", ""});
                return {};
            }
            default:
                return unsupported("not in this test");
        }
    }

  private:
    const bool mKnowsChains;
};

class ProcessWithManager : public testing::LoopbackProcess {
  public:
    std::shared_ptr<RemoteObject> contextManager() override { return manager; }
    std::shared_ptr<RemoteObject> manager;
};

struct World {
    explicit World(bool knowsChains = true) : manager(std::make_shared<Manager>(knowsChains)) {
        process->manager = process->remote(manager);
    }
    std::shared_ptr<Manager> manager;
    std::shared_ptr<ProcessWithManager> process = std::make_shared<ProcessWithManager>();
    HwServiceManager client{process};
};

TEST(HwServiceManager, RegistersWithTheWholeChain) {
    World world;
    Status added = world.client.add("one", std::make_shared<SomeService>(), kChain);
    EXPECT_TRUE(added.ok()) << added.toString();
    EXPECT_EQ(world.manager->asked,
              std::vector<std::string>{"add one a.b@1.1::IThing a.b@1.0::IThing "
                                       "android.hidl.base@1.0::IBase"});
}

TEST(HwServiceManager, RegistersWithAnOldManagerToo) {
    World world(false);
    Status added = world.client.add("one", std::make_shared<SomeService>(), kChain);
    EXPECT_TRUE(added.ok()) << added.toString();
    EXPECT_EQ(world.manager->asked, std::vector<std::string>{"add one"});
}

TEST(HwServiceManager, ARefusalIsAnErrorThatNamesTheService) {
    World world;
    world.manager->accepts = false;
    Status added = world.client.add("one", std::make_shared<SomeService>(), kChain);
    EXPECT_EQ(added.code(), StatusCode::INTERNAL);
    EXPECT_NE(added.message().find("one"), std::string_view::npos) << added.toString();
}

TEST(HwServiceManager, FindsWhatIsRegisteredAndOnlyThat) {
    World world;
    Result<ObjectRef> none = world.client.get("a.b@1.0::IThing", "one");
    ASSERT_TRUE(none.ok());
    EXPECT_TRUE(isNull(*none));
    auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(world.client.add("one", service, kChain).ok());
    Result<ObjectRef> found = world.client.get("a.b@1.0::IThing", "one");
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_FALSE(isNull(*found));
    EXPECT_EQ(world.manager->asked.back(), "get a.b@1.0::IThing/one");
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
