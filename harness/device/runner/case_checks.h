// SPDX-License-Identifier: Apache-2.0
//
// Checks that a program can make of a case, beside running it.

#pragma once

#include <string>

#include "harness/device/cases/messages.h"
#include "harness/device/runner/isolation.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

struct CaseChecks {
    // Runs the checks that the case names, and adds a result for each. Before each it tells the
    // parent which one, in a result that holds it alone, and that its time begins. Ends early, with
    // STAGE_CRASH, where a check has brought the target down.
    void (*run)(const Target& target, const pb::TestCase& testCase, const ParentLink& parent,
                pb::CaseResult& result);
    // All that there are, as JSON.
    std::string (*list)();
};

}  // namespace halyard::runner
