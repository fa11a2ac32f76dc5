// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// ValidationTest: each golden model and request, changed in one thing after the other so that it is
// invalid; a row for each kind of change.
Checks validationTest();

}  // namespace halyard::vts
