// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// FencedComputeTest: executions that wait for fences and give one.
Checks fencedComputeTest();

}  // namespace halyard::vts
