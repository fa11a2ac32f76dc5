// SPDX-License-Identifier: Apache-2.0
//
// One case from model to results: supported operations, prepare, placement, executions.

#pragma once

#include <functional>

#include "harness/device/runner/messages.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// Told how far the case got, before each step that may crash or hang: `result` so far, with a
// message that names the step ("preparing").
using Progress = std::function<void(const pb::CaseResult& result)>;

// Fills in what does not depend on how the case ends.
pb::CaseResult beginResult(const pb::TestCase& testCase, const std::string& targetName,
                           driver::HalVersion version);

// Runs the case as far as it goes; never fails other than in its result.
void runCase(Target& target, const pb::TestCase& testCase, const pb::RunOptions& options,
             const Progress& progress, pb::CaseResult& result);

}  // namespace halyard::runner
