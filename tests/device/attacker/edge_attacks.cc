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

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/prepared_client.h"

namespace halyard::attacker {

namespace {

using hal::hidl::base::v1_0::IBase;
using wire::IDevice;
using wire::IPreparedModel;

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
    printf("%d threads ask for output into a full %s\n", settings.clients,
           settings.against.empty() ? "eventfd" : settings.against.c_str());
    inThreads(settings, [&](Clock::time_point end) {
        int calls = 0;
        while (Clock::now() < end && client->debug(fd, kPatienceWithLongest).ok()) {
            ++calls;
        }
        return calls;
    });
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

// A child that has asked for executions, and takes no call of the service's.
struct SilentChild {
    pid_t pid = -1;
    bool ready = false;
};

// `loopTimeout`: nanoseconds that its executions take.
Result<SilentChild> startSilentChild(const Settings& settings, uint64_t loopTimeout) {
    std::array<int, 2> ready = {-1, -1};
    if (pipe2(ready.data(), O_CLOEXEC) != 0) {
        return internalError("pipe2");
    }
    SilentChild child = {.pid = fork()};
    if (child.pid == 0) {
        const Result<PreparedClient> endless = PreparedClient::connectEndless(settings);
        const Times times = {.deadline = {}, .loopTimeout = loopTimeout};
        for (int i = 0; endless.ok() && i < settings.clients; ++i) {
            static_cast<void>(endless->launch(times));
        }
        const char told = endless.ok() ? 'y' : 'n';
        static_cast<void>(write(ready[1], &told, 1));
        pause();
        _exit(0);
    }
    close(ready[1]);
    char told = 0;
    child.ready = read(ready[0], &told, 1) == 1 && told == 'y';
    close(ready[0]);
    return child;
}

void end(const SilentChild& child) {
    kill(child.pid, SIGKILL);
    waitpid(child.pid, nullptr, 0);
}

// A child that asks for executions, and is frozen before the service calls it back.
Status freezeCaller(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    Status frozen = internalError("no child was started");
    // The kernel freezes no process that a call waits for: on a busy device the first executions
    // are at their end before the last are asked for.
    for (const uint64_t seconds : {2, 4, 8, 15}) {
        HALYARD_ASSIGN_OR_RETURN(const SilentChild child,
                                 startSilentChild(settings, seconds * 1'000'000'000));
        frozen = child.ready ? freeze(*link, child.pid, true) : internalError("the child failed");
        printf("a process with %d executions: %s\n", settings.clients,
               frozen.ok() ? "frozen" : frozen.toString().c_str());
        if (frozen.ok()) {
            hold(*link, settings);
            if (settings.against == "thaw") {
                static_cast<void>(freeze(*link, child.pid, false));
            }
        }
        end(child);
        if (frozen.ok()) {
            break;
        }
    }
    return frozen;
}

// The objects that a client may not have meant: `against` is dead, own, foreign, null or stolen.
Status sendWrongCallbacks(const Settings& settings) {
    ModelBuilder builder;
    addModel(builder, 16);
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient prepared,
                             PreparedClient::connect(settings, builder, 64));
    Client* const client = prepared.client.get();
    // The kernel passes on only what one has a reference to.
    client->link().acquire(kManager);
    const auto send = [&](uint32_t target, uint32_t method, const std::string& kind) {
        RawParcel parcel;
        if (method == IDevice::prepareModel_1_3 && target == client->device()) {
            deviceToken(parcel, method);
            parcel.value(builder.finish());
            prepareArguments(parcel);
        } else {
            executeArguments(parcel, method, prepared.request(), {});
        }
        if (kind == "own") {
            parcel.othersObject(client->device());
        } else if (kind == "model") {
            parcel.othersObject(prepared.model);
        } else if (kind == "foreign") {
            parcel.othersObject(kManager);
        } else if (kind == "null") {
            parcel.nullObject();
        } else if (kind == "descriptor") {
            parcel.descriptor(prepared.pool.fd);
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
                   send(prepared.model, IPreparedModel::execute_1_3, kind);
        }
        printf("%s: %s\n", kind, said.c_str());
    }
    return client->getStatus();
}

// Oneway calls, each with as much behind it as the kernel lets pass.
Status floodOneway(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    printf("%d threads send oneway calls of 100 KiB\n", settings.clients);
    RawParcel parcel;
    deviceToken(parcel, IBase::notifySyspropsChanged);
    parcel.zeros(100 * 1024);
    inThreads(settings, [&](Clock::time_point end) {
        int calls = 0;
        for (; Clock::now() < end; ++calls) {
            static_cast<void>(client->link().callOneway(client->device(),
                                                        IBase::notifySyspropsChanged, parcel));
        }
        return calls;
    });
    return {};
}

constexpr std::array<NamedAttack, 4> kEdgeAttacks = {{
        {"oneway-flood", floodOneway, "large oneway calls in --clients threads"},
        {"debug", debugIntoNothing,
         "debug() in --clients threads into a full descriptor; --against eventfd, pipe, socket"},
        {"freeze", freezeCaller, "a client that is frozen with --clients executions"},
        {"callbacks", sendWrongCallbacks, "callbacks that are other objects, or none"},
}};

}  // namespace

std::span<const NamedAttack> edgeAttacks() {
    return kEdgeAttacks;
}

}  // namespace halyard::attacker
