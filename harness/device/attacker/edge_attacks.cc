// SPDX-License-Identifier: Apache-2.0
//
// Attacks at the binder edge: descriptors that take no output, processes that take no calls,
// objects that are not what they should be.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/device/attacker/attack.h"
#include "harness/device/attacker/client.h"

namespace halyard::attacker {

namespace {

using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::base::v1_0::IBase;
using wire::IDevice;
using wire::IPreparedModel;
using Manager = hal::hidl::manager::v1_2::IServiceManager;

constexpr uint32_t kManager = 0;
constexpr std::string_view kManager10 = "android.hidl.manager@1.0::IServiceManager";
constexpr std::string_view kManager12 = "android.hidl.manager@1.2::IServiceManager";
constexpr milliseconds kLong{120000};

// A descriptor that is written to and takes no more, as `kind` says.
int fullDescriptor(const std::string& kind) {
    if (kind == "pipe") {
        std::array<int, 2> ends = {-1, -1};
        static_cast<void>(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK));
        const std::array<char, 4096> page = {};
        while (write(ends[1], page.data(), page.size()) > 0) {
        }
        fcntl(ends[1], F_SETFL, 0);
        return ends[1];
    }
    if (kind == "socket") {
        std::array<int, 2> ends = {-1, -1};
        static_cast<void>(
                socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()));
        const std::array<char, 4096> page = {};
        while (write(ends[0], page.data(), page.size()) > 0) {
        }
        fcntl(ends[0], F_SETFL, 0);
        return ends[0];
    }
    // An eventfd that says it can be written to, and then takes nothing that is eight bytes of
    // text.
    const int fd = eventfd(0, EFD_CLOEXEC);
    const uint64_t most = 0xfffffffffffffffdULL;
    static_cast<void>(write(fd, &most, sizeof(most)));
    return fd;
}

// debug() with such a descriptor, in as many threads as the settings say.
Status debugIntoNothing(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    const int fd = fullDescriptor(settings.against);
    const Clock::time_point end = Clock::now() + std::chrono::seconds(settings.seconds);
    std::vector<std::thread> threads;
    for (int i = 0; i < settings.clients; ++i) {
        threads.emplace_back([&] {
            while (Clock::now() < end && client->debug(fd, kLong).ok()) {
            }
        });
    }
    printf("%d threads ask for output into a full %s\n", settings.clients,
           settings.against.empty() ? "eventfd" : settings.against.c_str());
    for (std::thread& thread : threads) {
        thread.join();
    }
    return {};
}

// Freezes or thaws a process that has opened binder.
Status freeze(const Link& link, pid_t pid, bool frozen) {
    binder_freeze_info info = {};
    info.pid = static_cast<uint32_t>(pid);
    info.enable = frozen ? 1 : 0;
    info.timeout_ms = 1000;
    return ioctl(link.descriptor(), BINDER_FREEZE, &info) == 0
                   ? Status()
                   : internalError(std::string("BINDER_FREEZE: ") + strerror(errno));
}

// A child that asks for executions and models, and is frozen before the service calls it back.
Status freezeCaller(const Settings& settings) {
    std::array<int, 2> ready = {-1, -1};
    if (pipe2(ready.data(), O_CLOEXEC) != 0) {
        return internalError("pipe2");
    }
    const pid_t child = fork();
    if (child == 0) {
        const Result<std::unique_ptr<Client>> client = Client::connect(settings.instance);
        ModelBuilder endless;
        endlessModel(endless);
        const Result<uint32_t> model =
                client.ok() ? (*client)->prepare(endless.finish()) : client.status();
        Result<Pool> pool = Pool::make(4096);
        if (model.ok() && pool.ok()) {
            const RequestBuilder request(*pool, 4, 4);
            const Times times = {.deadline = {}, .loopTimeout = 2'000'000'000};
            for (int i = 0; i < settings.clients; ++i) {
                static_cast<void>((*client)->launch(*model, request.request(),
                                                    std::make_shared<Notified>(), times));
            }
        }
        const char told = model.ok() ? 'y' : 'n';
        static_cast<void>(write(ready[1], &told, 1));
        pause();
        _exit(0);
    }
    char told = 0;
    static_cast<void>(read(ready[0], &told, 1));
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    Status frozen = told == 'y' ? freeze(*link, child, true) : internalError("the child failed");
    printf("a process with %d executions: %s\n", settings.clients,
           frozen.ok() ? "frozen" : frozen.toString().c_str());
    if (frozen.ok()) {
        hold(*link, settings);
    }
    if (settings.against == "thaw") {
        static_cast<void>(freeze(*link, child, false));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return frozen;
}

// The objects that a client may not have meant: `against` is dead, own, foreign, null or stolen.
Status sendWrongCallbacks(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder builder;
    addModel(builder, 16);
    HALYARD_ASSIGN_OR_RETURN(const uint32_t model, client->prepare(builder.finish()));
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(4096));
    const RequestBuilder request(pool, 64, 64);
    // The kernel passes on only what one has a reference to.
    client->link().acquire(kManager);
    const auto send = [&](uint32_t target, uint32_t method, const std::string& kind) {
        RawParcel parcel;
        if (method == IDevice::prepareModel_1_3 && target == client->device()) {
            deviceToken(parcel, method);
            parcel.value(builder.finish());
            prepareArguments(parcel);
        } else {
            executeArguments(parcel, method, request.request(), {});
        }
        if (kind == "own") {
            parcel.othersObject(client->device());
        } else if (kind == "model") {
            parcel.othersObject(model);
        } else if (kind == "foreign") {
            parcel.othersObject(kManager);
        } else if (kind == "null") {
            parcel.nullObject();
        } else if (kind == "descriptor") {
            parcel.descriptor(pool.fd);
        }
        // A kind that is not known: no object at all.
        const Result<Received> reply = client->link().call(target, method, parcel);
        return reply.ok() ? "answer " + std::to_string(reply->int32At(4))
                          : reply.status().toString();
    };
    for (const char* kind : {"own", "model", "foreign", "null", "descriptor", "nothing"}) {
        std::string said;
        for (int i = 0; i < settings.clients; ++i) {
            said = send(client->device(), IDevice::prepareModel_1_3, kind) + "; " +
                   send(model, IPreparedModel::execute_1_3, kind);
        }
        printf("%s: %s\n", kind, said.c_str());
    }
    return client->getStatus();
}

// A prepared model that outlives its client in another process's hands: hwservicemanager's, and
// whoever asks that for it.
Status handModelOn(const Settings& settings) {
    constexpr std::string_view kChain[] = {"android.hardware.neuralnetworks@1.3::IPreparedModel",
                                           "android.hidl.base@1.0::IBase"};
    const pid_t child = fork();
    if (child == 0) {
        const Result<std::unique_ptr<Client>> client = Client::connect(settings.instance);
        ModelBuilder builder;
        endlessModel(builder);
        const Result<uint32_t> model =
                client.ok() ? (*client)->prepare(builder.finish()) : client.status();
        if (!model.ok()) {
            _exit(1);
        }
        RawParcel parcel;
        parcel.token(kManager12);
        parcel.string("handed-on");
        parcel.othersObject(*model);
        std::array<HidlString, 2> strings;
        for (size_t i = 0; i < strings.size(); ++i) {
            strings[i].address = reinterpret_cast<uintptr_t>(kChain[i].data());
            strings[i].length = static_cast<uint32_t>(kChain[i].size());
        }
        HidlVec<HidlString> chain;
        chain.address = reinterpret_cast<uintptr_t>(strings.data());
        chain.count = strings.size();
        parcel.value(chain);
        const Result<Received> added =
                (*client)->link().call(kManager, Manager::addWithChain, parcel);
        _exit(added.ok() && added->int32At(4) != 0 ? 0 : 2);
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
    const Times times = {.deadline = {}, .loopTimeout = 15'000'000'000};
    int launched = 0;
    std::string last;
    for (int i = 0; i < settings.clients; ++i) {
        const Result<ErrorStatus> answer =
                client->launch(model, request.request(), std::make_shared<Notified>(), times);
        launched += answer.ok() && *answer == ErrorStatus::NONE ? 1 : 0;
        last = answer.ok() ? std::to_string(static_cast<int>(*answer)) : answer.status().toString();
    }
    printf("%d executions of a model whose client is dead; the last answer: %s\n", launched,
           last.c_str());
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
            const uint64_t mute =
                    (*link)->addObject([](const Received& /*call*/, RawParcel& /*reply*/) {
                        pause();
                        return false;
                    });
            RawParcel parcel;
            parcel.token(kManager10);
            parcel.string("mute" + std::to_string(i));
            parcel.ownObject(mute);
            static_cast<void>((*link)->call(kManager, Manager::add, parcel, kLong));
            (*link)->serveUntil([] { return false; }, kLong);
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

// Oneway calls, each with as much behind it as the kernel lets pass.
Status floodOneway(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    const Clock::time_point end = Clock::now() + std::chrono::seconds(settings.seconds);
    std::vector<std::thread> threads;
    printf("%d threads send oneway calls of 100 KiB\n", settings.clients);
    for (int i = 0; i < settings.clients; ++i) {
        threads.emplace_back([&] {
            RawParcel parcel;
            deviceToken(parcel, IBase::notifySyspropsChanged);
            parcel.zeros(100 * 1024);
            while (Clock::now() < end) {
                static_cast<void>(client->link().callOneway(client->device(),
                                                            IBase::notifySyspropsChanged, parcel));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return {};
}

// A service that, asked for its chain, registers another, which is asked for its chain, and so on:
// --clients calls within calls.
Status nestRegistrations(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    int deepest = 0;
    std::function<void(int)> add = [&](int depth) {
        deepest = std::max(deepest, depth);
        if (depth >= settings.clients) {
            return;
        }
        const uint64_t object =
                link->addObject([&add, depth](const Received& /*call*/, RawParcel& reply) {
                    add(depth + 1);
                    reply.int32(0);
                    reply.value(HidlVec<HidlString>());
                    return true;
                });
        RawParcel parcel;
        parcel.token(kManager10);
        parcel.string("nested" + std::to_string(depth));
        parcel.ownObject(object);
        static_cast<void>(link->call(kManager, Manager::add, parcel, kLong));
    };
    add(0);
    link->serveUntil([] { return false; }, milliseconds(500));
    printf("%d calls within calls\n", deepest);
    return {};
}

// Thousands of names and listeners of one process.
Status floodNames(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    const uint64_t object =
            link->addObject([](const Received& /*call*/, RawParcel& /*reply*/) { return false; });
    const std::string interface = "flood@1.0::IFlood";
    int added = 0;
    const std::string filler(2000, 'n');
    for (int i = 0; i < settings.clients; ++i) {
        HidlString name;
        name.address = reinterpret_cast<uintptr_t>(interface.c_str());
        name.length = static_cast<uint32_t>(interface.size());
        HidlVec<HidlString> chain;
        chain.address = reinterpret_cast<uintptr_t>(&name);
        chain.count = 1;
        RawParcel parcel;
        parcel.token(kManager12);
        parcel.string(filler + std::to_string(i));
        parcel.ownObject(object);
        parcel.value(chain);
        const Result<Received> reply = link->call(kManager, Manager::addWithChain, parcel);
        added += reply.ok() && reply->int32At(4) != 0 ? 1 : 0;
        RawParcel listen;
        listen.token(kManager10);
        listen.string(interface);
        listen.string(filler + std::to_string(i));
        listen.ownObject(object);
        static_cast<void>(link->call(kManager, Manager::registerForNotifications, listen));
    }
    printf("%d names and as many listeners\n", added);
    hold(*link, settings);
    return {};
}

constexpr std::array<NamedAttack, 8> kAttacks = {{
        {"oneway-flood", floodOneway, "large oneway calls in --clients threads"},
        {"nested-adds", nestRegistrations,
         "--clients registrations at hwservicemanager, each within the one before"},
        {"name-flood", floodNames, "--clients names and listeners at hwservicemanager"},
        {"debug", debugIntoNothing,
         "debug() in --clients threads into a full descriptor; --against eventfd, pipe, socket"},
        {"freeze", freezeCaller, "a client that is frozen with --clients executions"},
        {"callbacks", sendWrongCallbacks, "callbacks that are other objects, or none"},
        {"hand-on", handModelOn, "a model in the hands of another process, after its client"},
        {"mute-services", registerMuteServices,
         "--clients services that never say their chain to hwservicemanager"},
}};

}  // namespace

std::span<const NamedAttack> edgeAttacks() {
    return kAttacks;
}

}  // namespace halyard::attacker
