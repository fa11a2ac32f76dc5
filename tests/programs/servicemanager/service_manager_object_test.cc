// SPDX-License-Identifier: Apache-2.0

#include "harness/device/servicemanager/service_manager_object.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/hal/bystander.h"
#include "tests/hal/loopback.h"

namespace halyard::device {
namespace {

using hal::Caller;
using hal::LocalObject;
using hal::ObjectRef;
using hal::ParcelWriter;
using hal::Reply;
using hal::WireStatus;
using hal::aidl::AidlReader;
using hal::aidl::AidlWriter;
using hal::aidl::Exception;
using hal::aidl::Release;
using hal::aidl::os::IServiceCallback;
using Manager = hal::aidl::os::IServiceManager;
using hal::testing::LoopbackProcess;
using Names = std::vector<std::string>;

constexpr uint32_t kVendor = 3;
constexpr uint32_t kSystem = 12;
constexpr uint32_t kVintf = 63;
constexpr int32_t kDefaultPriority = 8;
constexpr uid_t kShellUser = 2000;  // who may register, and is not the device's own
constexpr uid_t kApp = 10001;
constexpr const char* kInterface = "android.hardware.neuralnetworks.IDevice";
constexpr const char* kDeclared = "android.hardware.neuralnetworks.IDevice/declared";

Manifest manifest() {
    Manifest manifest;
    manifest.addFragment(
            "<manifest version=\"1.0\" type=\"device\"><hal format=\"aidl\">"
            "<name>android.hardware.neuralnetworks</name><version>4</version>"
            "<fqname>IDevice/declared</fqname></hal></manifest>");
    return manifest;
}

class SomeService : public LocalObject {
  public:
    WireStatus onTransact(hal::IncomingCall& /*call*/) override {
        ADD_FAILURE() << "no client is asked anything";
        return WireStatus::UNKNOWN_TRANSACTION;
    }
};

// Notes what it is told.
class Listener : public hal::aidl::AidlObject {
  public:
    Listener() : AidlObject(IServiceCallback::info(), Release()) {}
    Names told;
    uint32_t lastStability = 0;

  protected:
    Status serve(uint32_t code, Call& call) override {
        EXPECT_EQ(code, IServiceCallback::OnRegistration::kCode);
        HALYARD_ASSIGN_OR_RETURN(const auto heard, call.read<IServiceCallback::OnRegistration>());
        told.push_back(heard.name);
        EXPECT_FALSE(isNull(heard.binder.object));
        lastStability = heard.binder.stability;
        return {};
    }
};

ObjectRef reference(const std::shared_ptr<LocalObject>& object) {
    return object == nullptr ? ObjectRef() : ObjectRef(object);
}

class ServiceManagerObjectTest : public ::testing::Test {
  protected:
    ~ServiceManagerObjectTest() override { mManager->shutDown(); }

    // Other processes, only for their ids.
    Owner someone(uid_t uid = kShellUser) {
        return {.pid = mProcesses.emplace_back().pid(), .uid = uid};
    }
    void as(const Owner& owner) { mProcess->caller = {.pid = owner.pid, .euid = owner.uid}; }

    // Its answer, or the exception that it threw, which is in `thrown` then.
    template <typename Method>
    std::optional<typename Method::Results> call(const typename Method::Arguments& arguments) {
        thrown = {};
        ParcelWriter parcel;
        AidlWriter writer(parcel, Release());
        writer.writeRequestHead(Manager::info().descriptor);
        writeFields(writer, arguments);
        const Result<std::unique_ptr<Reply>> reply =
                mProcess->transact(mProcess->remote(mManager), Method::kCode, parcel);
        if (!reply.ok()) {
            ADD_FAILURE() << reply.status().toString();
            return std::nullopt;
        }
        AidlReader reader((*reply)->reader());
        Result<std::optional<Exception>> exception = reader.readReplyHead();
        EXPECT_TRUE(exception.ok());
        if (exception->has_value()) {
            thrown = **exception;
            return std::nullopt;
        }
        typename Method::Results results;
        EXPECT_TRUE(readFields(reader, results).ok());
        EXPECT_TRUE((*reply)->reader().checkEnd().ok());
        return results;
    }
    bool add(const std::string& name, const std::shared_ptr<LocalObject>& service,
             uint32_t stability = kSystem, int32_t priority = kDefaultPriority) {
        return call<Manager::AddService>(
                       {.name = name,
                        .service = {.object = reference(service),
                                    .stability = service == nullptr ? 0 : stability},
                        .allowIsolated = false,
                        .dumpPriority = priority})
                .has_value();
    }
    hal::aidl::MarkedObject get(const std::string& name) {
        const auto got = call<Manager::GetService>({.name = name});
        const auto checked = call<Manager::CheckService>({.name = name});
        EXPECT_TRUE(got.has_value() && checked.has_value());
        EXPECT_EQ(got->result.object, checked->result.object);
        return got->result;
    }
    Names list(int32_t priorities = kDefaultPriority) {
        return call<Manager::ListServices>({.dumpPriority = priorities})->result;
    }
    bool listen(const std::string& name, const std::shared_ptr<LocalObject>& listener) {
        return call<Manager::RegisterForNotifications>(
                       {.name = name, .callback = reference(listener)})
                .has_value();
    }
    void expectThrown(int32_t code, const std::string& message) {
        EXPECT_EQ(thrown.code, code) << thrown.message;
        EXPECT_EQ(thrown.message, message);
    }

    Exception thrown;
    const std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<ServiceManagerObject> mManager =
            std::make_shared<ServiceManagerObject>(mProcess, manifest(), Release());
    const Owner me = {.pid = getpid(), .uid = kShellUser};

    void SetUp() override { as(me); }

  private:
    std::deque<hal::testing::Bystander> mProcesses;
};

// ---- Registration ------------------------------------------------------------------------------

TEST_F(ServiceManagerObjectTest, FindsWhatWasRegisteredWithTheStabilityItHad) {
    const auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(add("some.name", service, kVendor));
    EXPECT_EQ(get("some.name").object, reference(service));
    EXPECT_EQ(get("some.name").stability, kVendor);
    EXPECT_TRUE(isNull(get("another").object));
    EXPECT_EQ(get("another").stability, 0U);
}

TEST_F(ServiceManagerObjectTest, ADeadServiceIsGone) {
    const auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(add("x", service));
    mProcess->kill(service);
    EXPECT_TRUE(isNull(get("x").object));
    EXPECT_TRUE(list().empty());
    EXPECT_FALSE(add("y", service));
    EXPECT_EQ(thrown.code, Exception::kIllegalState);
}

TEST_F(ServiceManagerObjectTest, WhatIsRegisteredAgainReplaces) {
    const auto first = std::make_shared<SomeService>();
    const auto second = std::make_shared<SomeService>();
    ASSERT_TRUE(add("x", first));
    ASSERT_TRUE(add("x", second));
    EXPECT_EQ(get("x").object, reference(second));
    mProcess->kill(first);
    EXPECT_EQ(get("x").object, reference(second));
}

TEST_F(ServiceManagerObjectTest, ANameIsItsOwnersWhileThatLives) {
    const auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(add("x", service));
    for (const Owner& other : {someone(), someone(0)}) {
        as(other);
        EXPECT_FALSE(add("x", std::make_shared<SomeService>()));
        EXPECT_EQ(thrown.code, Exception::kSecurity);
    }
    EXPECT_EQ(get("x").object, reference(service));
    mProcess->kill(service);
    EXPECT_TRUE(add("x", std::make_shared<SomeService>()));
}

TEST_F(ServiceManagerObjectTest, ThrowsWhatAndroidsThrows) {
    const auto service = std::make_shared<SomeService>();
    EXPECT_FALSE(add("x", nullptr));
    expectThrown(Exception::kNullPointer, "Null binder.");
    for (const std::string& name :
         {std::string(), std::string(128, 'x'), std::string("a b"), std::string("a@1.0::IX"),
          std::string("\xc3\xa4"), std::string("a\0b", 3)}) {
        EXPECT_FALSE(add(name, service)) << name;
        expectThrown(Exception::kIllegalArgument, "Invalid service name.");
        EXPECT_FALSE(listen(name, std::make_shared<Listener>())) << name;
        expectThrown(Exception::kIllegalArgument, "Invalid service name.");
    }
    EXPECT_FALSE(listen("x", nullptr));
    expectThrown(Exception::kNullPointer, "Null callback.");
    as(someone(kApp));
    EXPECT_FALSE(add("x", service));
    expectThrown(Exception::kSecurity, "App UIDs cannot add services.");
    EXPECT_TRUE(list().empty());
    as(me);
    EXPECT_TRUE(add(std::string(127, 'x'), service));
    EXPECT_TRUE(add("a-b_c.d/E9", service));
}

TEST_F(ServiceManagerObjectTest, ItsInterfaceIsThatOfEveryBinderObject) {
    const auto ask = [&](hal::aidl::MetaCode code) {
        return mProcess->transact(mProcess->remote(mManager), static_cast<uint32_t>(code),
                                  ParcelWriter());
    };
    EXPECT_TRUE(ask(hal::aidl::MetaCode::PING).ok());
    const Result<std::unique_ptr<Reply>> named = ask(hal::aidl::MetaCode::INTERFACE);
    ASSERT_TRUE(named.ok());
    EXPECT_EQ(AidlReader((*named)->reader()).readString().value(), "android.os.IServiceManager");
    ParcelWriter parcel;
    AidlWriter(parcel, Release()).writeRequestHead(Manager::info().descriptor);
    EXPECT_EQ(mProcess->transact(mProcess->remote(mManager), 15, parcel).status().code(),
              StatusCode::UNSUPPORTED);
}

TEST_F(ServiceManagerObjectTest, IsRegisteredItself) {
    mManager->registerItself();
    EXPECT_FALSE(isNull(get("manager").object));
    EXPECT_FALSE(add("manager", std::make_shared<SomeService>()));
}

TEST_F(ServiceManagerObjectTest, TakesOutWhatItsOwnerAsksFor) {
    const auto service = std::make_shared<SomeService>();
    const auto tryUnregister = [&](const std::string& name, const ObjectRef& object) {
        return call<Manager::TryUnregisterService>({.name = name, .service = object}).has_value();
    };
    ASSERT_TRUE(add("x", service));
    as(someone());
    EXPECT_FALSE(tryUnregister("x", reference(service)));
    as(me);
    EXPECT_FALSE(tryUnregister("x", {}));
    EXPECT_EQ(thrown.code, Exception::kNullPointer);
    EXPECT_FALSE(tryUnregister("y", reference(service)));
    EXPECT_EQ(thrown.code, Exception::kIllegalState);
    EXPECT_TRUE(tryUnregister("x", reference(service)));
    EXPECT_TRUE(list().empty());
}

// ---- The manifest ------------------------------------------------------------------------------

TEST_F(ServiceManagerObjectTest, WhatIsOfTheVintfIsDeclared) {
    const auto service = std::make_shared<SomeService>();
    const std::string undeclared = std::string(kInterface) + "/undeclared";
    as(someone(0));
    EXPECT_FALSE(add(undeclared, service, kVintf));
    expectThrown(Exception::kIllegalArgument, "VINTF declaration error.");
    EXPECT_FALSE(add("plain", service, kVintf));
    expectThrown(Exception::kIllegalArgument, "VINTF declaration error.");
    EXPECT_TRUE(add(undeclared, service, kVendor));
    EXPECT_TRUE(add(kDeclared, service, kVintf));
    EXPECT_EQ(get(kDeclared).stability, kVintf);
}

TEST_F(ServiceManagerObjectTest, WhatIsDeclaredIsForRootAndSystem) {
    const auto service = std::make_shared<SomeService>();
    for (const uint32_t stability : {kVintf, kVendor}) {
        EXPECT_FALSE(add(kDeclared, service, stability));
        EXPECT_EQ(thrown.code, Exception::kSecurity);
    }
    as(someone(1000));
    EXPECT_TRUE(add(kDeclared, service, kVintf));
}

TEST_F(ServiceManagerObjectTest, TellsWhatIsDeclared) {
    const auto isDeclared = [&](const std::string& name) {
        return call<Manager::IsDeclared>({.name = name})->result;
    };
    const auto instances = [&](const std::string& interface) {
        return call<Manager::GetDeclaredInstances>({.iface = interface})->result;
    };
    EXPECT_TRUE(isDeclared(kDeclared));
    for (const std::string& other :
         {std::string(kInterface), std::string(kInterface) + "/other", std::string("declared"),
          std::string("/declared"), std::string(kDeclared) + "/declared"}) {
        EXPECT_FALSE(isDeclared(other)) << other;
    }
    EXPECT_EQ(instances(kInterface), Names{"declared"});
    EXPECT_TRUE(instances("android.hardware.neuralnetworks.IBurst").empty());
}

TEST_F(ServiceManagerObjectTest, NothingComesInAnApexOrFromAnotherMachine) {
    EXPECT_FALSE(call<Manager::UpdatableViaApex>({.name = kDeclared})->result.has_value());
    EXPECT_TRUE(call<Manager::GetUpdatableNames>({.apexName = "x"})->result.empty());
    EXPECT_FALSE(call<Manager::GetConnectionInfo>({.name = kDeclared})->result.has_value());
}

// ---- Lists -------------------------------------------------------------------------------------

TEST_F(ServiceManagerObjectTest, ListsByDumpPriority) {
    const auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(add("critical", service, kSystem, 1));
    ASSERT_TRUE(add("both", service, kSystem, 1 | 8));
    ASSERT_TRUE(add("plain", service, kSystem, 8));
    EXPECT_EQ(list(1), (Names{"both", "critical"}));
    EXPECT_EQ(list(8), (Names{"both", "plain"}));
    EXPECT_EQ(list(15), (Names{"both", "critical", "plain"}));
    EXPECT_TRUE(list(0).empty());
}

TEST_F(ServiceManagerObjectTest, TellsWhoseTheServicesAre) {
    ASSERT_TRUE(add("x", std::make_shared<SomeService>()));
    const auto infos = call<Manager::GetServiceDebugInfo>({});
    ASSERT_EQ(infos->result.size(), 1U);
    EXPECT_EQ(infos->result[0].name, "x");
    EXPECT_EQ(infos->result[0].debugPid, me.pid);
}

// ---- Notifications -----------------------------------------------------------------------------

TEST_F(ServiceManagerObjectTest, TellsListenersOfWhatIsThereAndOfWhatComes) {
    const auto listener = std::make_shared<Listener>();
    ASSERT_TRUE(add("x", std::make_shared<SomeService>(), kVendor));
    ASSERT_TRUE(listen("x", listener));
    EXPECT_EQ(listener->told, Names{"x"});
    EXPECT_EQ(listener->lastStability, kVendor);
    ASSERT_TRUE(listen("y", listener));
    ASSERT_TRUE(add("y", std::make_shared<SomeService>()));
    ASSERT_TRUE(add("z", std::make_shared<SomeService>()));
    EXPECT_EQ(listener->told, (Names{"x", "y"}));
    mProcess->kill(listener);
    ASSERT_TRUE(add("y", std::make_shared<SomeService>()));
    EXPECT_EQ(listener->told.size(), 2U);
}

TEST_F(ServiceManagerObjectTest, AnAppMayListenToOthers) {
    as(someone(kApp));
    EXPECT_TRUE(listen("x", std::make_shared<Listener>()));
}

TEST_F(ServiceManagerObjectTest, AListenerIsItsOwnersToTakeOut) {
    const auto listener = std::make_shared<Listener>();
    const auto unlisten = [&](const std::string& name) {
        return call<Manager::UnregisterForNotifications>(
                       {.name = name, .callback = reference(listener)})
                .has_value();
    };
    ASSERT_TRUE(listen("x", listener));
    as(someone());
    EXPECT_FALSE(unlisten("x"));
    expectThrown(Exception::kIllegalState, "Nothing to unregister.");
    as(me);
    EXPECT_FALSE(unlisten("y"));
    EXPECT_TRUE(unlisten("x"));
    ASSERT_TRUE(add("x", std::make_shared<SomeService>()));
    EXPECT_TRUE(listener->told.empty());
}

TEST_F(ServiceManagerObjectTest, ClientsAreNotCounted) {
    const auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(add("x", service));
    EXPECT_FALSE(call<Manager::RegisterClientCallback>(
                         {.name = "x", .service = reference(service), .callback = {}})
                         .has_value());
    EXPECT_EQ(thrown.code, Exception::kUnsupportedOperation);
}

// ---- Room and other releases -------------------------------------------------------------------

TEST_F(ServiceManagerObjectTest, WhatAProcessAndAUserMayKeepIsBounded) {
    mManager = std::make_shared<ServiceManagerObject>(
            mProcess, manifest(), Release(),
            RegistryLimits{.registrations = 3, .listeners = 2, .processes = 4});
    const auto service = std::make_shared<SomeService>();
    for (const char* name : {"a", "b", "c"}) {
        EXPECT_TRUE(add(name, service));
    }
    EXPECT_FALSE(add("d", service));
    EXPECT_EQ(thrown.code, Exception::kIllegalState);
    EXPECT_TRUE(listen("a", std::make_shared<Listener>()));
    EXPECT_TRUE(listen("b", std::make_shared<Listener>()));
    EXPECT_FALSE(listen("c", std::make_shared<Listener>()));
    // Half of the places are one user's.
    as(someone());
    EXPECT_TRUE(add("e", std::make_shared<SomeService>()));
    as(someone());
    EXPECT_FALSE(add("f", std::make_shared<SomeService>()));
    as(someone(kShellUser + 1));
    EXPECT_TRUE(add("f", std::make_shared<SomeService>()));
}

TEST_F(ServiceManagerObjectTest, SpeaksTheCodesOfItsRelease) {
    constexpr int32_t kAndroid15 = 35;
    constexpr uint32_t kAddOf15 = 4;
    const Release release(kAndroid15);
    mManager = std::make_shared<ServiceManagerObject>(mProcess, manifest(), release);
    ParcelWriter parcel;
    AidlWriter writer(parcel, release);
    writer.writeRequestHead(Manager::info().descriptor);
    writeFields(writer, Manager::AddService::Arguments{
                                .name = "x",
                                .service = {.object = reference(std::make_shared<SomeService>()),
                                            .stability = kSystem},
                                .allowIsolated = false,
                                .dumpPriority = kDefaultPriority});
    EXPECT_TRUE(mProcess->transact(mProcess->remote(mManager), kAddOf15, parcel).ok());
    // A look-up, which has the same code in every release.
    const auto found = call<Manager::GetService>({.name = "x"});
    ASSERT_TRUE(found.has_value());
    EXPECT_FALSE(isNull(found->result.object));
}

}  // namespace
}  // namespace halyard::device
