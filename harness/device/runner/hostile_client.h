// SPDX-License-Identifier: Apache-2.0
//
// A client that breaks the rules, for tests that a service lives on.

#pragma once

#include "engine/base/status.h"
#include "harness/device/runner/command_line.h"

namespace halyard::runner {

// CommandLine::hostileMode says how:
//   truncated-parcel    calls each method of IDevice with its arguments cut off at every place
//   garbage-parcel      calls methods with random items in the place of arguments
//   cut-memory          prepares the first case in --bundle with its constants in a file, cuts the
//                       file to nothing, and executes; fails unless that goes well, because the
//                       constants are packed, or GENERAL_FAILURE is the answer
//   die-during-execute  starts many executions of the first case in --bundle, and dies at once
// OK if the service still answers afterwards; UNAVAILABLE if it does not, or was never there.
Status runHostileClient(const CommandLine& line);

}  // namespace halyard::runner
