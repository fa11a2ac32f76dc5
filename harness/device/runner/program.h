// SPDX-License-Identifier: Apache-2.0
//
// halyard-runner: runs test cases on a device, in this process or through a service.

#pragma once

#include "harness/device/runner/case_checks.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// The program; its exit status. `makeDevice` makes the device of an in-process target, for tests
// that bring backends of their own; null: as the options say. `checks`: what cases may have checked
// instead of being run; null: nothing.
int runProgram(int argc, char** argv, MakeDevice* makeDevice = nullptr,
               const CaseChecks* checks = nullptr);

}  // namespace halyard::runner
