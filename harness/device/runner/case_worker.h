// SPDX-License-Identifier: Apache-2.0
//
// The process that runs cases: it opens the target once and takes one case after the other.

#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"
#include "harness/device/runner/command_line.h"
#include "harness/device/runner/isolation.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// How every case of a bundle is run.
struct RunSetup {
    const CommandLine& line;
    pb::RunOptions options;
    std::optional<driver::HalVersion> version;  // nothing: the newest
};

// INVALID_ARGUMENT if the options name no version that there is.
Result<RunSetup> makeRunSetup(const CommandLine& line, pb::RunOptions options);

Result<Target> openTarget(const RunSetup& setup, std::chrono::milliseconds timeout);

// Runs the cases that the parent orders, by where they begin in the bundle, until it orders no
// more or one leaves a process that can't go on. For an isolated process.
void workOnCases(const RunSetup& setup, const ParentLink& parent);

// Whether the process that gave this result can go on with the next case.
bool canGoOn(const pb::CaseResult& result);

// Whether a case did not run because there was no target.
bool foundNoTarget(const pb::CaseResult& result);

// A result without an end, of a case of which nothing is known but that it was to run.
pb::CaseResult unfinishedResult(const RunSetup& setup, const pb::TestCase& testCase);

}  // namespace halyard::runner
