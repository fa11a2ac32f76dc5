// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client_account.h"

namespace halyard::hal::hidl {

std::shared_ptr<driver::Client> accountOf(const driver::Device& device, const Caller& caller) {
    return device.client({.pid = caller.pid, .uid = caller.euid});
}

void endWithOwner(const std::shared_ptr<driver::Client>& client,
                  const std::shared_ptr<RemoteObject>& object) {
    if (client->hasWitness()) {
        return;
    }
    Result<std::unique_ptr<OwnerWatch>> watch = object->watchOwner([weak = std::weak_ptr(client)] {
        if (const std::shared_ptr<driver::Client> open = weak.lock()) {
            open->end();
        }
    });
    if (!watch.ok()) {
        client->end();
        return;
    }
    client->keepWitness(std::shared_ptr<OwnerWatch>(std::move(*watch)));
}

}  // namespace halyard::hal::hidl
