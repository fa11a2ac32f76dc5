// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/runner/case_checks.h"

namespace halyard::vts {

// The checks of the registry, as a program offers them.
const runner::CaseChecks& caseChecks();

}  // namespace halyard::vts
