// SPDX-License-Identifier: Apache-2.0
//
// Needs of backends that the service meets before its system calls are filtered.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::hal {

// Starts the backends' helpers, one after the other, and adds the names of the system calls that
// they ask for. Fails as the first helper does, with its backend's name. To be called before the
// filters (seccomp.h), which no process can be started behind.
Status meetNeeds(std::span<const std::unique_ptr<const engine::Backend>> backends,
                 std::vector<std::string>& systemCalls);

}  // namespace halyard::hal
