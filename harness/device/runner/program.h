// SPDX-License-Identifier: Apache-2.0
//
// halyard-runner: runs test cases on a device, in this process or through a service.

#pragma once

#include "harness/device/runner/target.h"

namespace halyard::runner {

// The program; its exit status. `makeDevice` makes the device of an in-process target, for tests
// that bring backends of their own; null: as the options say.
int runProgram(int argc, char** argv, MakeDevice* makeDevice = nullptr);

}  // namespace halyard::runner
