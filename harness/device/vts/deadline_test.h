// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// DeadlineTest: priorities, and deadlines of preparing and executing.
Checks deadlineTest();

}  // namespace halyard::vts
