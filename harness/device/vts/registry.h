// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// All that there are. An id may name several, of which no two are of the same version.
const Checks& allChecks();

// Null: none of that name belongs to the version.
const Check* findCheck(std::string_view id, driver::HalVersion version);

}  // namespace halyard::vts
