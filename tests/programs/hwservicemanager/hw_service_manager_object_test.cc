// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/hw_service_manager_object.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hal/hidl/types.h"
#include "tests/hal/bystander.h"
#include "tests/hal/loopback.h"

namespace halyard::device {
namespace {

using hal::Caller;
using hal::LocalObject;
using hal::ObjectRef;
using hal::ParcelReader;
using hal::ParcelWriter;
using hal::Reply;
using hal::WireStatus;
using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::makeString;
using hal::hidl::makeVec;
using hal::hidl::readValue;
using hal::hidl::writeValue;
using hal::hidl::base::v1_0::IBase;
using hal::hidl::manager::v1_0::IServiceNotification;
using hal::hidl::manager::v1_2::IServiceManager;
using hal::testing::LoopbackProcess;

constexpr size_t kQuestions = 4;  // half of them for one user
constexpr uid_t kUser = 10001;

// A service with a chain of its own, which it may keep to itself until it is allowed to speak.
class SomeService : public LocalObject {
  public:
    explicit SomeService(bool mute = false) : mMute(mute) {}
    ~SomeService() override { speak(); }

    WireStatus onTransact(hal::IncomingCall& call) override {
        if (call.code() != IBase::interfaceChain ||
            !hal::hidl::readInterfaceToken(call.arguments()).ok()) {
            return WireStatus::UNKNOWN_TRANSACTION;
        }
        const Result<ParcelWriter*> writer = call.endArguments();
        if (!writer.ok()) {
            return WireStatus::BAD_VALUE;
        }
        ParcelWriter& reply = **writer;
        std::unique_lock lock(mMutex);
        mAsked = true;
        mChanged.notify_all();
        mChanged.wait_for(lock, std::chrono::seconds(30), [&] { return !mMute; });
        hal::hidl::writeReplyHead(reply);
        const std::vector<HidlString> chain = {makeString(reply, "a.b@1.0::IThing")};
        writeValue(reply, makeVec(reply, chain));
        return WireStatus::OK;
    }
    bool waitUntilAsked() {
        std::unique_lock lock(mMutex);
        return mChanged.wait_for(lock, std::chrono::seconds(30), [&] { return mAsked; });
    }
    bool asked() {
        std::lock_guard lock(mMutex);
        return mAsked;
    }
    void speak() {
        std::lock_guard lock(mMutex);
        mMute = false;
        mChanged.notify_all();
    }

  private:
    std::mutex mMutex;
    std::condition_variable mChanged;
    bool mMute;
    bool mAsked = false;
};

// Notes what it is told.
class Listener : public hal::hidl::HidlObject {
  public:
    Listener() : HidlObject(IServiceNotification::layout()) {}
    std::vector<std::string> told;

  protected:
    Status serve(uint32_t code, Call& call) override {
        EXPECT_EQ(code, IServiceNotification::onRegistration);
        HALYARD_ASSIGN_OR_RETURN(const auto* fqName, readValue<HidlString>(call.arguments));
        HALYARD_ASSIGN_OR_RETURN(const auto* name, readValue<HidlString>(call.arguments));
        HALYARD_ASSIGN_OR_RETURN(const int32_t preexisting, call.arguments.readInt32());
        told.push_back(std::string(fqName->view()) + "/" + std::string(name->view()) +
                       (preexisting != 0 ? " was there" : ""));
        return call.endArguments().status();
    }
};

ObjectRef reference(const std::shared_ptr<LocalObject>& object) {
    return object == nullptr ? ObjectRef() : ObjectRef(object);
}

// A client process. Calls of several may be under way, but are begun one after the other.
class Client {
  public:
    Client(std::shared_ptr<LoopbackProcess> process, std::shared_ptr<LocalObject> manager,
           pid_t pid, uid_t uid)
        : mProcess(std::move(process)), mManager(std::move(manager)), mPid(pid), mUid(uid) {}

    using WriteArguments = std::function<void(ParcelWriter&)>;
    Result<std::unique_ptr<Reply>> call(uint32_t code, const WriteArguments& write) {
        ParcelWriter arguments;
        writeRequestHead(arguments, IServiceManager::layout(), code);
        write(arguments);
        mProcess->caller = {.pid = mPid, .euid = mUid};
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                                 mProcess->transact(mProcess->remote(mManager), code, arguments));
        HALYARD_RETURN_IF_ERROR(hal::hidl::readReplyHead(reply->reader()));
        return reply;
    }
    bool callForBool(uint32_t code, const WriteArguments& write) {
        Result<std::unique_ptr<Reply>> reply = call(code, write);
        if (!reply.ok()) {
            ADD_FAILURE() << reply.status().toString();
            return false;
        }
        Result<int32_t> value = (*reply)->reader().readInt32();
        return value.ok() && *value == 1;
    }

    bool add(const std::string& name, const std::shared_ptr<LocalObject>& service) {
        return callForBool(IServiceManager::add, [&](ParcelWriter& writer) {
            writeValue(writer, makeString(writer, name));
            writer.writeObject(reference(service));
        });
    }
    bool addWithChain(const std::string& name, const std::shared_ptr<LocalObject>& service) {
        return callForBool(IServiceManager::addWithChain, [&](ParcelWriter& writer) {
            writeValue(writer, makeString(writer, name));
            writer.writeObject(reference(service));
            const std::vector<HidlString> chain = {makeString(writer, "a.b@1.0::IThing")};
            writeValue(writer, makeVec(writer, chain));
        });
    }
    // The three that take two names and an object.
    bool about(uint32_t code, const std::string& name, const std::shared_ptr<LocalObject>& object) {
        return callForBool(code, [&](ParcelWriter& writer) {
            writeValue(writer, makeString(writer, "a.b@1.0::IThing"));
            writeValue(writer, makeString(writer, name));
            writer.writeObject(reference(object));
        });
    }
    std::vector<std::string> list() {
        Result<std::unique_ptr<Reply>> reply = call(IServiceManager::list, [](ParcelWriter&) {});
        EXPECT_TRUE(reply.ok());
        return readNames(**reply);
    }
    static std::vector<std::string> readNames(Reply& reply) {
        std::vector<std::string> names;
        Result<const HidlVec<HidlString>*> texts = readValue<HidlVec<HidlString>>(reply.reader());
        EXPECT_TRUE(texts.ok());
        for (const HidlString& text : (*texts)->view()) {
            names.emplace_back(text.view());
        }
        return names;
    }
    bool ping() {
        ParcelWriter arguments;
        writeRequestHead(arguments, IBase::layout(), IBase::ping);
        return mProcess->transact(mProcess->remote(mManager), IBase::ping, arguments).ok();
    }

  private:
    const std::shared_ptr<LoopbackProcess> mProcess;
    const std::shared_ptr<LocalObject> mManager;
    const pid_t mPid;
    const uid_t mUid;
};

// An add() that waits for its service.
struct PendingAdd {
    std::shared_ptr<SomeService> service;
    std::future<bool> added;
};

class HwServiceManagerObjectTest : public ::testing::Test {
  protected:
    // Other processes, only for their ids.
    pid_t someProcess() { return mProcesses.emplace_back().pid(); }
    ~HwServiceManagerObjectTest() override { mManager->shutDown(); }

    const std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    const std::shared_ptr<HwServiceManagerObject> mManager =
            std::make_shared<HwServiceManagerObject>(mProcess, Manifest(), kQuestions);
    Client client(pid_t pid = getpid(), uid_t uid = kUser) {
        return {mProcess, mManager, pid, uid};
    }
    // Comes back once the service has been asked.
    PendingAdd addMute(const std::string& name, pid_t pid, uid_t uid = kUser) {
        auto service = std::make_shared<SomeService>(true);
        auto added = std::async(std::launch::async, [this, name, service, pid, uid] {
            return client(pid, uid).add(name, service);
        });
        EXPECT_TRUE(service->waitUntilAsked());
        return {service, std::move(added)};
    }

  private:
    std::deque<hal::testing::Bystander> mProcesses;
};

// ---- Questions ---------------------------------------------------------------------------------

TEST_F(HwServiceManagerObjectTest, AsksAServiceForItsChain) {
    const auto service = std::make_shared<SomeService>();
    EXPECT_TRUE(client().add("x", service));
    EXPECT_EQ(client().list(), std::vector<std::string>{"a.b@1.0::IThing/x"});
}

TEST_F(HwServiceManagerObjectTest, MuteServicesDoNotStopTheOthers) {
    std::vector<PendingAdd> mute;
    for (size_t i = 0; i < kQuestions; ++i) {
        mute.push_back(
                addMute("mute" + std::to_string(i), someProcess(), i % 2 == 0 ? kUser : kUser + 1));
    }
    Client honest = client();
    EXPECT_TRUE(honest.ping());
    EXPECT_TRUE(honest.addWithChain("x", std::make_shared<SomeService>()));
    EXPECT_EQ(honest.list(), std::vector<std::string>{"a.b@1.0::IThing/x"});
    // One more is refused before it is asked.
    const auto oneMore = std::make_shared<SomeService>();
    EXPECT_FALSE(honest.add("y", oneMore));
    EXPECT_FALSE(oneMore->asked());
    for (PendingAdd& one : mute) {
        one.service->speak();
        EXPECT_TRUE(one.added.get());
    }
    EXPECT_TRUE(honest.add("y", oneMore));
}

TEST_F(HwServiceManagerObjectTest, AProcessHasOneQuestionAtATime) {
    const pid_t first = someProcess();
    PendingAdd mute = addMute("mute", first);
    const auto another = std::make_shared<SomeService>();
    EXPECT_FALSE(client(first).add("x", another));
    EXPECT_FALSE(another->asked());
    EXPECT_TRUE(client(someProcess()).add("x", another));
    mute.service->speak();
    EXPECT_TRUE(mute.added.get());
    EXPECT_TRUE(client(first).add("y", another));
}

TEST_F(HwServiceManagerObjectTest, AServiceThatIsDeadFreesItsPlace) {
    const auto dead = std::make_shared<SomeService>();
    mProcess->kill(dead);
    for (size_t i = 0; i < 2 * kQuestions; ++i) {
        EXPECT_FALSE(client().add("dead", dead));
    }
    EXPECT_TRUE(client().add("x", std::make_shared<SomeService>()));
}

TEST_F(HwServiceManagerObjectTest, ADifferentProcessIsRefusedWhatOneHas) {
    const pid_t stranger = someProcess();
    const auto service = std::make_shared<SomeService>();
    const auto listener = std::make_shared<Listener>();
    ASSERT_TRUE(client().addWithChain("x", service));
    ASSERT_TRUE(client().about(IServiceManager::registerForNotifications, "", listener));
    EXPECT_FALSE(client(stranger).about(IServiceManager::tryUnregister, "x", service));
    EXPECT_FALSE(client(stranger).about(IServiceManager::unregisterForNotifications, "", listener));
    EXPECT_EQ(client().list().size(), 1U);
    EXPECT_TRUE(client().about(IServiceManager::tryUnregister, "x", service));
    EXPECT_TRUE(client().about(IServiceManager::unregisterForNotifications, "", listener));
    EXPECT_TRUE(client().list().empty());
}

// ---- Listeners ---------------------------------------------------------------------------------

TEST_F(HwServiceManagerObjectTest, TellsListenersOverTheWire) {
    const auto listener = std::make_shared<Listener>();
    ASSERT_TRUE(client().addWithChain("x", std::make_shared<SomeService>()));
    ASSERT_TRUE(client().about(IServiceManager::registerForNotifications, "", listener));
    EXPECT_EQ(listener->told, std::vector<std::string>{"a.b@1.0::IThing/x was there"});
    ASSERT_TRUE(client().addWithChain("y", std::make_shared<SomeService>()));
    ASSERT_EQ(listener->told.size(), 2U);
    EXPECT_EQ(listener->told[1], "a.b@1.0::IThing/y");
    mProcess->kill(listener);
    ASSERT_TRUE(client().addWithChain("z", std::make_shared<SomeService>()));
    EXPECT_EQ(listener->told.size(), 2U);
}

// ---- Arguments ---------------------------------------------------------------------------------

TEST_F(HwServiceManagerObjectTest, FindsWhatWasRegisteredAndItself) {
    mManager->registerItself();
    const auto service = std::make_shared<SomeService>();
    ASSERT_TRUE(client().addWithChain("x", service));
    const auto get = [&](const std::string& fqName, const std::string& name) {
        Result<std::unique_ptr<Reply>> reply =
                client().call(IServiceManager::get, [&](ParcelWriter& writer) {
                    writeValue(writer, makeString(writer, fqName));
                    writeValue(writer, makeString(writer, name));
                });
        EXPECT_TRUE(reply.ok());
        return (*reply)->reader().readObject().value();
    };
    EXPECT_FALSE(isNull(get("a.b@1.0::IThing", "x")));
    EXPECT_TRUE(isNull(get("a.b@1.0::IThing", "y")));
    EXPECT_TRUE(isNull(get("a.b@1.0::IOther", "x")));
    EXPECT_FALSE(isNull(get("android.hidl.manager@1.0::IServiceManager", "default")));
}

TEST_F(HwServiceManagerObjectTest, WhatIsRegisteredOrDeclaredHasATransport) {
    Manifest manifest;
    manifest.addFragment(
            "<manifest version=\"1.0\" type=\"device\"><hal format=\"hidl\"><name>a.b</name>"
            "<transport>hwbinder</transport><version>1.0</version><interface><name>IThing</name>"
            "<instance>declared</instance></interface></hal></manifest>");
    const auto manager =
            std::make_shared<HwServiceManagerObject>(mProcess, std::move(manifest), kQuestions);
    Client some(mProcess, manager, getpid(), kUser);
    ASSERT_TRUE(some.addWithChain("registered", std::make_shared<SomeService>()));
    const auto transport = [&](const std::string& name) {
        Result<std::unique_ptr<Reply>> reply =
                some.call(IServiceManager::getTransport, [&](ParcelWriter& writer) {
                    writeValue(writer, makeString(writer, "a.b@1.0::IThing"));
                    writeValue(writer, makeString(writer, name));
                });
        EXPECT_TRUE(reply.ok());
        return (*reply)->reader().readInt32().value();
    };
    EXPECT_EQ(transport("declared"), 1);
    EXPECT_EQ(transport("registered"), 1);
    EXPECT_EQ(transport("neither"), 0);
    manager->shutDown();
}

TEST_F(HwServiceManagerObjectTest, WhatIsDeclaredIsForRootAndSystem) {
    Manifest manifest;
    manifest.addFragment(
            "<manifest version=\"1.0\" type=\"device\"><hal format=\"hidl\"><name>a.b</name>"
            "<transport>hwbinder</transport><fqname>@1.0::IThing/declared</fqname></hal>"
            "</manifest>");
    const auto manager =
            std::make_shared<HwServiceManagerObject>(mProcess, std::move(manifest), kQuestions);
    const auto add = [&](const std::string& name, uid_t uid) {
        Client some(mProcess, manager, someProcess(), uid);
        return some.addWithChain(name, std::make_shared<SomeService>());
    };
    EXPECT_FALSE(add("declared", kUser));
    EXPECT_TRUE(add("other", kUser));
    EXPECT_TRUE(add("declared", 1000));
    // It is taken now.
    EXPECT_FALSE(add("declared", 0));
    manager->shutDown();
}

TEST_F(HwServiceManagerObjectTest, ListsTheInstancesOfOneInterface) {
    mManager->registerItself();
    ASSERT_TRUE(client().addWithChain("x", std::make_shared<SomeService>()));
    ASSERT_TRUE(client().addWithChain("y", std::make_shared<SomeService>()));
    Result<std::unique_ptr<Reply>> reply =
            client().call(IServiceManager::listByInterface, [&](ParcelWriter& writer) {
                writeValue(writer, makeString(writer, "a.b@1.0::IThing"));
            });
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(Client::readNames(**reply), (std::vector<std::string>{"x", "y"}));
}

TEST_F(HwServiceManagerObjectTest, RefusesNullAndNamesTooLong) {
    EXPECT_FALSE(client().add("x", nullptr));
    EXPECT_FALSE(client().addWithChain(std::string(100'000, 'x'), std::make_shared<SomeService>()));
    EXPECT_FALSE(client().about(IServiceManager::registerForNotifications, "", nullptr));
    EXPECT_TRUE(client().list().empty());
}

}  // namespace
}  // namespace halyard::device
