// SPDX-License-Identifier: Apache-2.0
//
// The client's side of the hub, and all that is claimed of the two.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tests/device/binder_selftest/hub.h"

namespace halyard::hal::selftest {

class Client {
  public:
    explicit Client(std::shared_ptr<BinderProcess> connection)
        : process(std::move(connection)), hub(process->contextManager()) {}

    Result<int32_t> number(uint32_t code, const ParcelWriter& arguments) {
        return callForNumber(*process, hub, code, arguments);
    }
    Result<int32_t> number(uint32_t code, int32_t argument = 0) {
        ParcelWriter arguments;
        arguments.writeInt32(argument);
        return number(code, arguments);
    }
    bool numberIs(int32_t expected, uint32_t code, int32_t argument = 0) {
        Result<int32_t> answer = number(code, argument);
        return answer.ok() && *answer == expected;
    }
    std::shared_ptr<RemoteObject> makeObject() {
        Result<std::unique_ptr<Reply>> reply = process->transact(hub, MAKE_OBJECT, ParcelWriter());
        return reply.ok() ? asRemote((*reply)->reader().readObject()) : nullptr;
    }
    Status send(uint32_t code, int32_t argument = 0) {
        ParcelWriter arguments;
        arguments.writeInt32(argument);
        return process->transactOneway(hub, code, arguments);
    }

    std::shared_ptr<BinderProcess> process;
    std::shared_ptr<RemoteObject> hub;
};

// Each prints its claims. Calls, their parcels and the threads that serve them:
void checkCalls(Client& client);
void checkReceiveBuffer(Client& client);
void checkThreads(Client& client);
// Objects that go there and back, and when they are let go. checkRelease() comes after
// checkObjects(), before any other object is made.
void checkObjects(Client& client);
void checkRelease(Client& client);
// Whose descriptors they are.
void checkDescriptors(Client& client);
void checkOwnedDescriptors(Client& client);
// Processes that end. checkDeath() ends `server`, and one more in its place.
void checkDyingClients(Client& client, const std::string& device);
void checkDeath(Client& client, const std::string& device, pid_t server);

}  // namespace halyard::hal::selftest
