// SPDX-License-Identifier: Apache-2.0
//
// The backends that there are, by name.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/compile/backend_choice.h"
#include "engine/plan/assignment.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// In order of preference. They outlive the programs that are compiled with them.
using OwnedBackends = std::vector<std::unique_ptr<const Backend>>;

// The same, in the same order, as analyses and programs take them.
BackendList listOf(const OwnedBackends& backends);
BackendList listOf(OwnedBackends&& backends) = delete;  // they would have no owner

// Every name that may be chosen, whether or not this machine has the backend; without libraries.
std::vector<std::string_view> knownBackends();

// Actions on the process that backends are allowed.
struct ProcessRights {
    bool asksForTiles = true;     // of Linux, for the whole process (cpu/vectors/instruction_set.h)
    bool startsProcesses = true;  // by fork(), to compile in
};

// The backends that are chosen, in that order, with CpuRef at the end unless it is among them.
// `directory`: a folder of libraries, which can be chosen as well; empty: none. INVALID_ARGUMENT
// on a name that is neither known nor a library's (the message lists those there are), on one that
// is chosen twice with different options, where the folder can't be used, and for an option or a
// value that the backend does not take, this processor does not have or the rights rule out. A
// known backend that this build or machine lacks, and a library that is no backend, is logged as a
// warning and left out.
Result<OwnedBackends> openBackends(std::span<const BackendChoice> choices,
                                   const std::string& directory = {},
                                   const ProcessRights& rights = {});

}  // namespace halyard::engine
