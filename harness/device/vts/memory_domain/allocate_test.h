// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// MemoryDomainAllocateTest: buffers that must not be given.
Checks memoryDomainAllocateTest();

}  // namespace halyard::vts
