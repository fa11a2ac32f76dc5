// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// MemoryDomainTest: a case gives what is expected with its inputs and outputs in memory of another
// kind: buffers of the device's, or hardware buffers of bytes.
Checks memoryDomainTest();

}  // namespace halyard::vts
