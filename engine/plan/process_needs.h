// SPDX-License-Identifier: Apache-2.0
//
// System calls and helpers that a backend needs of its process, told before a service installs its
// seccomp filter (hal/seccomp.h).

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine {

struct ProcessNeeds {
    // System calls by name ("ioctl"), with any arguments and for as long as the process lives. Each
    // is open to an attacker inside the process, too: as few as possible.
    std::vector<std::string> systemCalls = {};
    // Starts what does the rest in a process of its own, which has no filter; the backend keeps it
    // and ends it. Called once, while the process may still start others. Empty: there is none.
    std::function<Status()> startHelper = {};
};

}  // namespace halyard::engine
