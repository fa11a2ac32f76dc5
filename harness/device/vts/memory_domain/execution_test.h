// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// MemoryDomainExecutionTest: what requests may make of buffers.
Checks memoryDomainExecutionTest();

}  // namespace halyard::vts
