// SPDX-License-Identifier: Apache-2.0

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/device/binder_selftest/claims.h"
#include "tests/device/binder_selftest/client.h"

namespace halyard::hal::selftest {

void checkDyingClients(Client& client, const std::string& device) {
    Result<int32_t> before = client.number(COUNT_RELEASED);
    pid_t holder = fork();
    if (holder == 0) {
        Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
        Client other(*process);
        auto held = other.makeObject();
        auto alsoHeld = other.makeObject();
        _exit(held != nullptr && alsoHeld != nullptr ? 0 : 1);
    }
    int status = -1;
    waitpid(holder, &status, 0);
    claim(status == 0 && before.ok() &&
                  eventually([&] { return client.numberIs(*before + 2, COUNT_RELEASED); }),
          "a client's death lets go of all it held");

    pid_t caller = fork();
    if (caller == 0) {
        Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
        Client other(*process);
        // No thread joins it: it would stay inside until the server's patience ends.
        static_cast<void>(other.number(MEET, 1000));
        _exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(caller, SIGKILL);
    waitpid(caller, &status, 0);
    claim(client.numberIs(3, INCREMENT, 2),
          "a client killed inside a call leaves the server serving");
}

void checkDeath(Client& client, const std::string& device, pid_t server) {
    std::atomic<int> deaths = 0;
    std::shared_ptr<RemoteObject> made = client.makeObject();
    std::shared_ptr<RemoteObject> unlinked = client.makeObject();
    if (made == nullptr || unlinked == nullptr) {
        claim(false, "objects to link to");
        return;
    }
    std::atomic<int> ownerDeaths = 0;
    const Result<int32_t> unused = client.number(COUNT_UNUSED);
    std::shared_ptr<RemoteObject> watched = client.makeObject();
    Result<std::unique_ptr<OwnerWatch>> watch =
            watched == nullptr ? internalError("no object")
                               : watched->watchOwner([&] { ++ownerDeaths; });
    claim(watch.ok(), "an object's owner can be watched");
    // A server that hears of the reference and of its end at once hears of neither.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    watched = nullptr;
    claim(unused.ok() && eventually([&] { return client.numberIs(*unused + 1, COUNT_UNUSED); }),
          "an object whose owner is watched loses its last user");
    bool linked = client.hub->linkToDeath([&] { ++deaths; }).ok() &&
                  made->linkToDeath([&] { ++deaths; }).ok() &&
                  made->linkToDeath([&] { ++deaths; }).ok();
    Result<uint64_t> link = unlinked->linkToDeath([&] { deaths += 100; });
    if (link.ok()) {
        unlinked->unlinkToDeath(*link);
    }
    claim(linked && link.ok(), "deaths can be linked to");
    claim(client.send(DIE).ok(), "the server is told to die");
    int status = -1;
    waitpid(server, &status, 0);
    claim(eventually([&] { return deaths >= 3; }), "every link hears of the death");
    claim(eventually([&] { return ownerDeaths == 1; }), "and so does who watches the owner");
    claim(made->linkToDeath([] {}).status().code() == StatusCode::UNAVAILABLE,
          "no link to the dead is made");
    claim(callForNumber(*client.process, made, 1, ParcelWriter()).status().code() ==
                  StatusCode::UNAVAILABLE,
          "calls to the dead fail at once");
    made = nullptr;
    unlinked = nullptr;
    claim(deaths == 3, "each exactly once, and not those that unlinked");

    server = startServer(device);
    claim(eventually([&] { return client.numberIs(1, INCREMENT, 0); }),
          "a new server takes the place of the dead one");
    std::atomic<int> newDeaths = 0;
    claim(client.hub->linkToDeath([&] { ++newDeaths; }).ok(), "the new one can be linked to");
    claim(client.send(QUIT).ok(), "the new server is asked to stop");
    status = -1;
    bool ended = eventually([&] { return waitpid(server, &status, WNOHANG) == server; });
    claim(ended && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "stop() brings back threads that wait in the kernel");
    claim(eventually([&] { return newDeaths == 1; }) && deaths == 3,
          "the end of the new one is heard of too");
}

}  // namespace halyard::hal::selftest
