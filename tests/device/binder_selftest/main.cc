// SPDX-License-Identifier: Apache-2.0
//
// The transport over a real binder driver: a serving process and clients of it, on a binder device
// that has no context manager (/dev/vndbinder; the service managers have the others).
//
// Usage: binder_selftest [DEVICE]. Prints "ok <claim>" or "FAILED <claim>" per claim; exit 0 if
// all hold.

#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/device/binder_selftest/claims.h"
#include "tests/device/binder_selftest/client.h"

namespace halyard::hal::selftest {

namespace {

int run(const std::string& device) {
    alarm(kTimeLimitSeconds);
    pid_t server = startServer(device);
    Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
    if (!claim(process.ok(), "the device opens")) {
        std::fprintf(stderr, "%s\n", process.status().toString().c_str());
        return 1;
    }
    Client client(*process);
    if (!claim((*process)->startThreads(1, 2).ok(), "the client's own threads start")) {
        return 1;
    }
    checkCalls(client);
    checkObjects(client);
    checkRelease(client);
    checkDescriptors(client);
    checkThreads(client);
    checkOwnedDescriptors(client);
    checkReceiveBuffer(client);
    checkDyingClients(client, device);
    checkDeath(client, device, server);
    (*process)->stop();
    claim(true, "the client stops");
    return allHold() ? 0 : 1;
}

}  // namespace

}  // namespace halyard::hal::selftest

int main(int argc, char** argv) {
    return halyard::hal::selftest::run(argc > 1 ? argv[1] : "/dev/vndbinder");
}
