// SPDX-License-Identifier: Apache-2.0

#include "hal/service/client_account.h"

#include <functional>
#include <string>
#include <utility>

#include "engine/base/log.h"

namespace halyard::hal {

namespace {

std::function<void()> ending(const std::shared_ptr<driver::Client>& client) {
    return [weak = std::weak_ptr(client)] {
        if (const std::shared_ptr<driver::Client> open = weak.lock()) {
            open->end();
        }
    };
}

// Keeps the watch, or ends the account where the owner is dead already. Where the owner can't be
// watched, the account goes on until one of its objects comes that can be.
void keep(const std::shared_ptr<driver::Client>& client,
          Result<std::unique_ptr<OwnerWatch>> watch) {
    if (watch.ok()) {
        client->keepWitness(std::shared_ptr<OwnerWatch>(std::move(*watch)));
    } else if (watch.status().code() == StatusCode::UNAVAILABLE) {
        client->end();
    } else {
        log(LogLevel::VERBOSE, "the death of process " + std::to_string(client->process().pid) +
                                       " is not told: " + watch.status().toString());
    }
}

}  // namespace

Result<std::shared_ptr<driver::Client>> accountOf(const driver::Device& device,
                                                  const Caller& caller, ProcessWatch* processes) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::Client> client,
                             device.client({.pid = caller.pid, .uid = caller.euid}));
    // The kernel has no number for callers of another name space.
    if (processes != nullptr && caller.pid > 0 && !client->hasWitness()) {
        keep(client, processes->watch(caller.pid, ending(client)));
    }
    return client;
}

void endWithOwner(const std::shared_ptr<driver::Client>& client,
                  const std::shared_ptr<RemoteObject>& object) {
    if (!client->hasWitness()) {
        keep(client, object->watchOwner(ending(client)));
    }
}

}  // namespace halyard::hal
