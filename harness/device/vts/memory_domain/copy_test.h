// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// MemoryDomainCopyTest: what may be copied to and from a buffer.
Checks memoryDomainCopyTest();

}  // namespace halyard::vts
