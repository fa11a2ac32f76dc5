// SPDX-License-Identifier: Apache-2.0
//
// The system calls that the service makes, and a seccomp filter for all others: an attacker that
// takes over the service through a client's data can make only the system calls that the service
// makes anyway. The list is in seccomp.cc, with a word why for each. A backend that loads a
// vendor's library is likely to need more, and says what (engine::ProcessNeeds).
//
// There are two filters. The first one lets the service start; the second one, of before the first
// client can call, takes what only starting needs: opening files and sockets above all.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/status.h"

namespace halyard::hal {

enum class SeccompMode : uint8_t {
    OFF,
    LOG,      // calls that are not on the list are made, and the kernel's log tells
    ENFORCE,  // the process names the call on stderr and aborts
};

// Filters the system calls of all threads of the process, those to come among them, for good. With
// ENFORCE the process's action for SIGSYS is taken too. Where it fails, no more has changed than
// that the process gains no privileges by execve() any more: UNSUPPORTED if the kernel has no such
// filters or the list none for this processor. `also`: the names of further calls, which may be
// made with any arguments; INVALID_ARGUMENT for one that there is not.
Status restrictSystemCalls(SeccompMode mode, std::span<const std::string> also = {});

// Whether the service opens files by their names for as long as it serves, as dumps do.
enum class ServingFiles : uint8_t { NONE, DUMPS };

// The second filter, after the first with the same mode, as a service begins to serve. What it will
// use has to be open by now: the binder device, and the log (openLog()). With ENFORCE, opening a
// file fails with EACCES instead of ending the process: C libraries look into files when they like,
// glibc for how to shrink a heap, and do without them. What is in `also`, as with the first filter,
// stays as it was.
Status restrictServing(SeccompMode mode, ServingFiles files,
                       std::span<const std::string> also = {});

}  // namespace halyard::hal
