// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// InfiniteLoopTimeoutTest: a WHILE that never ends is given up when its time is over.
Checks infiniteLoopTimeoutTest();

}  // namespace halyard::vts
