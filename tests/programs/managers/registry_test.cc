// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/hal/bystander.h"

namespace halyard::device {
namespace {

using hal::ObjectRef;
using hal::RemoteObject;
using hal::testing::Bystander;

// Another process's object, which dies when the test says so.
class FakeRemote : public RemoteObject {
  public:
    uint32_t handle() const override { return 1; }
    Result<uint64_t> linkToDeath(std::function<void()> onDeath) override {
        if (dead) {
            return Status(StatusCode::UNAVAILABLE, "dead");
        }
        links[++mLast] = std::move(onDeath);
        return mLast;
    }
    void unlinkToDeath(uint64_t id) override { links.erase(id); }
    Result<std::unique_ptr<hal::OwnerWatch>> watchOwner(
            std::function<void()> /*onDeath*/) override {
        return internalError("no watcher");
    }
    void die() {
        dead = true;
        for (const auto& [id, onDeath] : std::exchange(links, {})) {
            onDeath();
        }
    }

    bool dead = false;
    std::map<uint64_t, std::function<void()>> links;

  private:
    uint64_t mLast = 0;
};

constexpr uid_t kOwner = 10001;

Owner of(const Bystander& process, uid_t user = kOwner) {
    return {.pid = process.pid(), .uid = user};
}

const std::vector<std::string> kChain = {"a.b@1.1::IThing", "a.b@1.0::IThing"};

class RegistryTest : public ::testing::Test {
  protected:
    RegistryTest() { limit({}); }
    void limit(const RegistryLimits& limits) {
        mRegistry = std::make_shared<Registry>(
                [this](const std::shared_ptr<RemoteObject>& listener, const Instance& instance,
                       bool preexisting) {
                    told.push_back({listener, instance.fqName, instance.name, preexisting});
                    last = instance;
                },
                limits);
    }
    static std::shared_ptr<FakeRemote> remote() { return std::make_shared<FakeRemote>(); }

    struct Told {
        std::shared_ptr<RemoteObject> listener;
        std::string fqName;
        std::string name;
        bool preexisting;
        bool operator==(const Told&) const = default;
    };
    std::vector<Told> told;
    Instance last;  // that somebody was told of
    const Owner me = {.pid = getpid(), .uid = kOwner};
    std::shared_ptr<Registry> mRegistry;
};

// ---- Services ----------------------------------------------------------------------------------

TEST_F(RegistryTest, FindsAServiceUnderEveryInterfaceOfItsChain) {
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, me).ok());
    for (const std::string& fqName : kChain) {
        EXPECT_EQ(mRegistry->get(fqName, "x"), ObjectRef(service));
        EXPECT_TRUE(isNull(mRegistry->get(fqName, "y")));
    }
    EXPECT_EQ(mRegistry->list().size(), 2U);
    EXPECT_EQ(mRegistry->list()[0].pid, me.pid);
}

TEST_F(RegistryTest, KeepsWhatAWireSaysOfAService) {
    const auto service = remote();
    const ServiceNote note = {.stability = 63, .dumpPriority = 8};
    const std::vector<std::string> name = {"a.b.IThing/x"};
    ASSERT_TRUE(mRegistry->addListener(name[0], "", ObjectRef(remote()), me).ok());
    ASSERT_TRUE(mRegistry->add("", ObjectRef(service), name, me, Room::SHARED, note).ok());
    EXPECT_EQ(mRegistry->find(name[0], "").note, note);
    EXPECT_EQ(mRegistry->find(name[0], "").object, ObjectRef(service));
    ASSERT_EQ(mRegistry->list().size(), 1U);
    EXPECT_EQ(mRegistry->list()[0].note, note);
    EXPECT_EQ(last.note, note);
    EXPECT_EQ(last.object, ObjectRef(service));
    // It is that of the object: one that replaces it has its own.
    ASSERT_TRUE(mRegistry->add("", ObjectRef(remote()), name, me).ok());
    EXPECT_EQ(mRegistry->find(name[0], "").note, ServiceNote());
    EXPECT_EQ(last.note, ServiceNote());
    EXPECT_TRUE(isNull(mRegistry->find("a.b.IThing/y", "").object));
}

TEST_F(RegistryTest, RefusesWhatIsNoService) {
    EXPECT_EQ(mRegistry->add("x", ObjectRef(), kChain, me).code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mRegistry->add("x", ObjectRef(remote()), {}, me).code(),
              StatusCode::INVALID_ARGUMENT);
    const auto dead = remote();
    dead->dead = true;
    EXPECT_EQ(mRegistry->add("x", ObjectRef(dead), kChain, me).code(), StatusCode::UNAVAILABLE);
    EXPECT_TRUE(mRegistry->list().empty());
}

TEST_F(RegistryTest, ADeadServiceIsForgotten) {
    const auto first = remote();
    const auto second = remote();
    ASSERT_TRUE(mRegistry->add("first", ObjectRef(first), kChain, me).ok());
    ASSERT_TRUE(mRegistry->add("second", ObjectRef(second), kChain, me).ok());
    first->die();
    EXPECT_TRUE(isNull(mRegistry->get(kChain[0], "first")));
    EXPECT_TRUE(isNull(mRegistry->get(kChain[1], "first")));
    EXPECT_EQ(mRegistry->get(kChain[0], "second"), ObjectRef(second));
    EXPECT_EQ(first.use_count(), 1);
}

TEST_F(RegistryTest, AReplacedServiceIsLetGoOf) {
    const auto first = remote();
    const auto second = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(first), kChain, me).ok());
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(second), kChain, me).ok());
    EXPECT_EQ(first.use_count(), 1);
    EXPECT_TRUE(first->links.empty());
    first->die();
    EXPECT_EQ(mRegistry->get(kChain[0], "x"), ObjectRef(second));
}

TEST_F(RegistryTest, AServiceIsWatchedOnceHoweverOftenItIsRegistered) {
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, me).ok());
    ASSERT_TRUE(mRegistry->add("y", ObjectRef(service), kChain, me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(service), me).ok());
    EXPECT_EQ(service->links.size(), 1U);
    ASSERT_TRUE(mRegistry->remove(kChain[0], "x", ObjectRef(service), me).ok());
    ASSERT_TRUE(mRegistry->remove(kChain[0], "y", ObjectRef(service), me).ok());
    EXPECT_EQ(service->links.size(), 1U);
    ASSERT_TRUE(mRegistry->removeListener("", "", ObjectRef(service), me).ok());
    EXPECT_TRUE(service->links.empty());
}

TEST_F(RegistryTest, TakesAServiceOutOfItsWholeChain) {
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, me).ok());
    ASSERT_TRUE(mRegistry->add("y", ObjectRef(service), kChain, me).ok());
    ASSERT_TRUE(mRegistry->remove(kChain[1], "x", ObjectRef(service), me).ok());
    EXPECT_TRUE(isNull(mRegistry->get(kChain[0], "x")));
    EXPECT_EQ(mRegistry->get(kChain[0], "y"), ObjectRef(service));
    EXPECT_FALSE(mRegistry->remove(kChain[1], "x", ObjectRef(service), me).ok());
}

TEST_F(RegistryTest, AStrangerCannotTakeOutAnothersService) {
    const Bystander stranger;
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, me).ok());
    // By its name alone, and with the object, which everybody can get.
    EXPECT_FALSE(mRegistry->remove(kChain[0], "x", ObjectRef(remote()), me).ok());
    EXPECT_FALSE(mRegistry->remove(kChain[0], "x", ObjectRef(), me).ok());
    EXPECT_FALSE(mRegistry->remove(kChain[0], "x", ObjectRef(service), of(stranger)).ok());
    EXPECT_EQ(mRegistry->get(kChain[0], "x"), ObjectRef(service));
}

TEST_F(RegistryTest, ANameIsItsOwnersWhileThatLives) {
    std::optional<Bystander> first(std::in_place);
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, of(*first)).ok());
    const Bystander second;
    const std::vector<std::string> base = {kChain[1]};
    for (const Owner& other : {of(second), of(second, 0), of(*first, 0)}) {
        EXPECT_EQ(mRegistry->add("x", ObjectRef(remote()), kChain, other).code(),
                  StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(mRegistry->add("x", ObjectRef(remote()), base, other).code(),
                  StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_EQ(mRegistry->get(kChain[0], "x"), ObjectRef(service));
    EXPECT_EQ(mRegistry->get(kChain[1], "x"), ObjectRef(service));
    EXPECT_TRUE(told.empty());
    first->end();
    EXPECT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, of(second)).ok());
}

TEST_F(RegistryTest, TheInterfaceThatAllHaveHasNoOwner) {
    const std::string root = "android.hidl.base@1.0::IBase";
    const Bystander other;
    const auto first = remote();
    const auto second = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(first), std::vector{kChain[0], root}, me).ok());
    ASSERT_TRUE(
            mRegistry->add("x", ObjectRef(second), std::vector{kChain[1], root}, of(other)).ok());
    EXPECT_EQ(mRegistry->get(kChain[0], "x"), ObjectRef(first));
    EXPECT_EQ(mRegistry->get(root, "x"), ObjectRef(second));
    second->die();
    EXPECT_EQ(mRegistry->list().size(), 1U);
    // Its owner's account is right: it is gone with what is taken out.
    ASSERT_TRUE(mRegistry->remove(kChain[0], "x", ObjectRef(first), me).ok());
    EXPECT_TRUE(first->links.empty());
}

// ---- Listeners ---------------------------------------------------------------------------------

TEST_F(RegistryTest, ListenersAreToldOfNewServices) {
    const auto anyName = remote();
    const auto oneName = remote();
    const auto otherInterface = remote();
    ASSERT_TRUE(mRegistry->addListener(kChain[1], "", ObjectRef(anyName), me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[1], "x", ObjectRef(oneName), me).ok());
    ASSERT_TRUE(mRegistry->addListener("a.b@1.0::IOther", "", ObjectRef(otherInterface), me).ok());
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    EXPECT_EQ(told, (std::vector<Told>{{anyName, kChain[1], "x", false},
                                       {oneName, kChain[1], "x", false}}));
    told.clear();
    ASSERT_TRUE(mRegistry->add("y", ObjectRef(remote()), kChain, me).ok());
    EXPECT_EQ(told, (std::vector<Told>{{anyName, kChain[1], "y", false}}));
}

TEST_F(RegistryTest, ListenersAreToldOfWhatIsThereAlready) {
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    ASSERT_TRUE(mRegistry->add("y", ObjectRef(remote()), kChain, me).ok());
    const auto anyName = remote();
    const auto oneName = remote();
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(anyName), me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "y", ObjectRef(oneName), me).ok());
    EXPECT_EQ(told, (std::vector<Told>{{anyName, kChain[0], "x", true},
                                       {anyName, kChain[0], "y", true},
                                       {oneName, kChain[0], "y", true}}));
}

TEST_F(RegistryTest, NoListenerIsToldOfARefusal) {
    limit({.registrations = 1});
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(remote()), me).ok());
    EXPECT_FALSE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    EXPECT_TRUE(told.empty());
}

TEST_F(RegistryTest, ADeadListenerIsForgotten) {
    const auto listener = remote();
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(listener), me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[1], "x", ObjectRef(listener), me).ok());
    listener->die();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    EXPECT_TRUE(told.empty());
    EXPECT_EQ(listener.use_count(), 1);
    EXPECT_EQ(mRegistry->addListener(kChain[0], "", ObjectRef(listener), me).code(),
              StatusCode::UNAVAILABLE);
}

TEST_F(RegistryTest, AListenerThatIsRegisteredTwiceIsToldOnce) {
    const auto listener = remote();
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(listener), me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(listener), me).ok());
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    EXPECT_EQ(told.size(), 1U);
}

TEST_F(RegistryTest, ListenersAreTakenOutByWhatMatches) {
    const auto listener = remote();
    const auto add = [&](const std::string& fqName, const std::string& name) {
        ASSERT_TRUE(mRegistry->addListener(fqName, name, ObjectRef(listener), me).ok());
    };
    add(kChain[0], "x");
    add(kChain[0], "y");
    add(kChain[1], "x");
    ASSERT_TRUE(mRegistry->removeListener(kChain[0], "x", ObjectRef(listener), me).ok());
    EXPECT_FALSE(mRegistry->removeListener(kChain[0], "x", ObjectRef(listener), me).ok());
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].fqName, kChain[1]);
    ASSERT_TRUE(mRegistry->removeListener(kChain[0], "", ObjectRef(listener), me).ok());
    ASSERT_TRUE(mRegistry->removeListener("", "x", ObjectRef(listener), me).ok());
    EXPECT_TRUE(listener->links.empty());
}

TEST_F(RegistryTest, AStrangerCannotTakeOutAnothersListener) {
    const Bystander stranger;
    const auto listener = remote();
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(listener), me).ok());
    EXPECT_FALSE(mRegistry->removeListener(kChain[0], "", ObjectRef(remote()), me).ok());
    EXPECT_FALSE(mRegistry->removeListener("", "", ObjectRef(), me).ok());
    EXPECT_FALSE(mRegistry->removeListener(kChain[0], "", ObjectRef(listener), of(stranger)).ok());
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(remote()), kChain, me).ok());
    EXPECT_EQ(told.size(), 1U);
}

TEST_F(RegistryTest, OnlyAnotherProcesssObjectMayListen) {
    EXPECT_FALSE(mRegistry->addListener(kChain[0], "", ObjectRef(), me).ok());
    EXPECT_FALSE(mRegistry->addListener("", "", ObjectRef(remote()), me).ok());
}

// ---- Limits ------------------------------------------------------------------------------------

TEST_F(RegistryTest, RegistrationsOfAProcessAreLimited) {
    limit({.registrations = 5});
    const Bystander other;
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("1", ObjectRef(service), kChain, me).ok());
    ASSERT_TRUE(mRegistry->add("2", ObjectRef(service), kChain, me).ok());
    EXPECT_EQ(mRegistry->add("3", ObjectRef(service), kChain, me).code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(isNull(mRegistry->get(kChain[0], "3")));
    // Its own services may be registered anew, others are not concerned, and there is room again
    // when something was taken out.
    EXPECT_TRUE(mRegistry->add("2", ObjectRef(remote()), kChain, me).ok());
    EXPECT_TRUE(mRegistry->add("3", ObjectRef(remote()), kChain, of(other)).ok());
    ASSERT_TRUE(mRegistry->remove(kChain[0], "1", ObjectRef(service), me).ok());
    EXPECT_TRUE(mRegistry->add("4", ObjectRef(service), kChain, me).ok());
    const std::vector<std::string> longChain(6, "a.b@1.0::ISame");
    EXPECT_EQ(mRegistry->add("5", ObjectRef(remote()), longChain, me).code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(RegistryTest, RegistrationsOfDeadServicesDoNotCount) {
    limit({.registrations = 2});
    for (int i = 0; i < 10; ++i) {
        const auto service = remote();
        ASSERT_TRUE(mRegistry->add(std::to_string(i), ObjectRef(service), kChain, me).ok());
        service->die();
    }
    EXPECT_TRUE(mRegistry->list().empty());
}

TEST_F(RegistryTest, ListenersOfAProcessAreLimited) {
    limit({.listeners = 2});
    const Bystander other;
    const auto listener = remote();
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "x", ObjectRef(listener), me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "y", ObjectRef(remote()), me).ok());
    EXPECT_EQ(mRegistry->addListener(kChain[0], "z", ObjectRef(listener), me).code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(mRegistry->addListener(kChain[0], "z", ObjectRef(remote()), of(other)).ok());
    listener->die();
    EXPECT_TRUE(mRegistry->addListener(kChain[0], "z", ObjectRef(remote()), me).ok());
}

TEST_F(RegistryTest, NamesHaveALongestLength) {
    limit({.nameLength = 20});
    const std::string longest(20, 'x');
    const std::vector<std::string> chain = {longest};
    const std::vector<std::string> tooLong = {longest + "x"};
    EXPECT_TRUE(mRegistry->add(longest, ObjectRef(remote()), chain, me).ok());
    EXPECT_TRUE(mRegistry->addListener(longest, longest, ObjectRef(remote()), me).ok());
    for (const Status& refused : {
                 mRegistry->add(longest + "x", ObjectRef(remote()), chain, me),
                 mRegistry->add(longest, ObjectRef(remote()), tooLong, me),
                 mRegistry->addListener(longest + "x", "", ObjectRef(remote()), me),
                 mRegistry->addListener(longest, longest + "x", ObjectRef(remote()), me),
         }) {
        EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT);
    }
}

TEST_F(RegistryTest, ProcessesThatKeepSomethingAreLimited) {
    limit({.processes = 4});  // half of which one user may have
    const Bystander second;
    const Bystander third;
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("1", ObjectRef(service), kChain, me).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(remote()), of(second)).ok());
    EXPECT_EQ(mRegistry->add("3", ObjectRef(remote()), kChain, of(third)).code(),
              StatusCode::RESOURCE_EXHAUSTED);
    service->die();
    EXPECT_TRUE(mRegistry->add("3", ObjectRef(remote()), kChain, of(third)).ok());
}

TEST_F(RegistryTest, NoUserTakesThePlacesOfAllProcesses) {
    limit({.processes = 8});
    std::deque<Bystander> attackers;
    const auto addAll = [&](uid_t user) {
        size_t taken = 0;
        for (int i = 0; i < 8; ++i) {
            const Owner owner = of(attackers.emplace_back(), user);
            const std::string name = std::to_string(attackers.size());
            taken += mRegistry->add(name, ObjectRef(remote()), kChain, owner).ok() ? 1 : 0;
        }
        return taken;
    };
    EXPECT_EQ(addAll(kOwner + 1), 4U);
    EXPECT_EQ(addAll(kOwner + 2), 2U);
    EXPECT_EQ(addAll(kOwner + 3), 1U);
    // Declared services have room in any case.
    const Bystander declared;
    EXPECT_EQ(mRegistry->add("declared", ObjectRef(remote()), kChain, of(declared, kOwner + 1))
                      .code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(mRegistry
                        ->add("declared", ObjectRef(remote()), kChain, of(declared, kOwner + 1),
                              Room::RESERVED)
                        .ok());
}

TEST_F(RegistryTest, NoUserTakesTheRoomOfAllNames) {
    limit({.registrations = 100, .own = 2, .shared = 8});
    const Bystander second;
    const auto fill = [&](const Owner& owner) {
        size_t taken = 0;
        const std::vector<std::string> chain = {kChain[0]};
        while (taken < 100 && mRegistry
                                      ->add(std::to_string(owner.pid) + "-" + std::to_string(taken),
                                            ObjectRef(remote()), chain, owner)
                                      .ok()) {
            ++taken;
        }
        return taken;
    };
    EXPECT_EQ(fill(me), 2U + 4U);
    // The room of each process, whatever its user's others took; and another user's share.
    EXPECT_EQ(fill(of(second)), 2U);
    const Bystander third;
    EXPECT_EQ(fill(of(third, kOwner + 1)), 2U + 2U);
}

TEST_F(RegistryTest, SharesComeBackWithWhatIsTakenOut) {
    limit({.own = 0, .shared = 8, .processes = 2});
    for (int i = 0; i < 20; ++i) {
        const Bystander process;
        const auto service = remote();
        const auto listener = remote();
        ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, of(process)).ok());
        ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(listener), of(process)).ok());
        ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, of(process)).ok());
        if (i % 2 == 0) {
            service->die();
            listener->die();
        } else {
            ASSERT_TRUE(mRegistry->remove(kChain[0], "x", ObjectRef(service), of(process)).ok());
            ASSERT_TRUE(mRegistry->removeListener("", "", ObjectRef(listener), of(process)).ok());
        }
    }
}

TEST_F(RegistryTest, AProcesssDeathFreesWhatItRegisteredForOthers) {
    limit({.processes = 4});         // half of which one user may have
    const auto borrowed = remote();  // lives in a process that lives on
    std::optional<Bystander> client(std::in_place);
    ASSERT_TRUE(mRegistry->add("1", ObjectRef(borrowed), kChain, of(*client)).ok());
    ASSERT_TRUE(mRegistry->addListener(kChain[0], "", ObjectRef(borrowed), of(*client)).ok());
    client->end();
    told.clear();
    last = {};
    const Bystander second;
    const Bystander third;
    EXPECT_TRUE(mRegistry->add("2", ObjectRef(remote()), kChain, of(second)).ok());
    EXPECT_TRUE(told.empty());
    EXPECT_TRUE(isNull(mRegistry->get(kChain[0], "1")));
    EXPECT_TRUE(borrowed->links.empty());
    EXPECT_EQ(borrowed.use_count(), 1);
    EXPECT_TRUE(mRegistry->add("3", ObjectRef(remote()), kChain, of(third)).ok());
}

TEST_F(RegistryTest, NothingIsKeptForAProcessThatIsGone) {
    Bystander client;
    client.end();
    EXPECT_EQ(mRegistry->add("1", ObjectRef(remote()), kChain, of(client)).code(),
              StatusCode::UNAVAILABLE);
    EXPECT_EQ(mRegistry->addListener(kChain[0], "", ObjectRef(remote()), of(client)).code(),
              StatusCode::UNAVAILABLE);
    EXPECT_TRUE(mRegistry->list().empty());
}

TEST_F(RegistryTest, CallersWithoutAProcessIdAreServed) {
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, {.pid = 0, .uid = kOwner}).ok());
    ASSERT_TRUE(mRegistry->add("y", ObjectRef(remote()), kChain, me).ok());
    EXPECT_EQ(mRegistry->get(kChain[0], "x"), ObjectRef(service));
}

TEST_F(RegistryTest, ForgetsEverythingAtTheEnd) {
    const auto service = remote();
    ASSERT_TRUE(mRegistry->add("x", ObjectRef(service), kChain, me).ok());
    mRegistry->clear();
    EXPECT_TRUE(mRegistry->list().empty());
    EXPECT_EQ(service.use_count(), 1);
    service->die();
}

}  // namespace
}  // namespace halyard::device
