// SPDX-License-Identifier: Apache-2.0
//
// The driver's account of a call's caller.

#pragma once

#include <memory>

#include "driver/clients/client.h"
#include "driver/device/device.h"
#include "hal/binder/object.h"
#include "hal/service/process_watch.h"

namespace halyard::hal {

// The account of the caller's process, which ends with the process where `processes` can tell
// (null: it can't). RESOURCE_EXHAUSTED: its user, or all, have too many.
Result<std::shared_ptr<driver::Client>> accountOf(const driver::Device& device,
                                                  const Caller& caller, ProcessWatch* processes);

// Where nothing else tells of the client's death yet, ends the account when the owner of `object`
// dies. That is the client itself: a callback of its own comes with all that outlives a call. A
// client that hands in another process's harms only itself, and what it has asked for ends at the
// latest with the longest running time. The object itself is not kept: a client's callback may keep
// the model that the account is open for.
void endWithOwner(const std::shared_ptr<driver::Client>& client,
                  const std::shared_ptr<RemoteObject>& object);

}  // namespace halyard::hal
