// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// GeneratedTest: a case gives what is expected, however it is executed.
Checks generatedTest();

}  // namespace halyard::vts
